// Counts as text: with their nouns, so that every text agrees in number ("1 rank", "2 ranks"), and in groups of digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace distsim {

/// "0 ranks", "1 rank", "2 ranks". `plural` is for nouns that do more than take an s: counted(n, "copy", "copies").
std::string counted(std::uint64_t n, std::string_view singular, std::string_view plural = "");

/// The noun alone, or a verb that agrees: n == 1 ? singular : plural.
std::string_view agreeing(std::uint64_t n, std::string_view singular, std::string_view plural);

/// "12,345,678". Precondition: a whole number, 0 or more; to the digit up to 2^53.
std::string grouped(double whole);
inline std::string grouped(std::uint64_t whole) { return grouped(static_cast<double>(whole)); }

}  // namespace distsim
