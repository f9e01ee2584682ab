// "did you mean": the nearest valid spelling of a word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace distsim {

/// The candidate with the least Damerau-Levenshtein distance, upper and lower case being the same, if that is at most a
/// third of the word's length (at least 2, and less than the whole word); ties go to the first. Failing that, the first
/// candidate that goes on where a word of three letters or more stops ("dgx_a10" -> "dgx_a100_40gb"). Empty string when
/// none is near.
std::string nearest_spelling(std::string_view word, const std::vector<std::string>& candidates);

/// "did you mean 'x'?", or "" where nothing is near. Of names that end in units (latency_us, latency_ms) in which one
/// number is two amounts: that a new name alone would be wrong.
std::string did_you_mean(std::string_view word, const std::string& nearest);

/// "did you mean 'x'?" as above, or "one of a, b, c" (at most 12, then "..."), or "" when there are no candidates.
std::string spelling_hint(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace distsim
