// "did you mean": the nearest valid spelling of a word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace distsim {

/// The candidate with the least Damerau-Levenshtein distance, if that is at most a third of the word's length (at least 2);
/// ties go to the first. Empty string when none is near.
std::string nearest_spelling(std::string_view word, const std::vector<std::string>& candidates);

/// "did you mean 'x'?", or "one of a, b, c" (at most 12, then "..."), or "" when there are no candidates.
std::string spelling_hint(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace distsim
