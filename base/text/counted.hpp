// A count with its noun, so that every text agrees in number: "1 rank", "2 ranks".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace distsim {

/// "0 ranks", "1 rank", "2 ranks". `plural` is for nouns that do more than take an s: counted(n, "copy", "copies").
std::string counted(std::uint64_t n, std::string_view singular, std::string_view plural = "");

/// The noun alone, or a verb that agrees: n == 1 ? singular : plural.
std::string_view agreeing(std::uint64_t n, std::string_view singular, std::string_view plural);

}  // namespace distsim
