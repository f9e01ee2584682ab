// A decimal number at the start of a text, taken apart exactly and without the locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distsim {

/// [+-] digits [. digits] [e [+-] digits]; single `_` may stand between digits.
struct NumberText {
  std::string digits;         ///< sign, digits and point without `_` and exponent: "-12.5"
  bool has_fraction = false;  ///< a point was written
  int exponent = 0;           ///< written exponent, clamped to +-9999
  std::string_view rest;      ///< what follows, with blanks around it removed
};

/// nullopt where `text` (after blanks) does not start with a number.
std::optional<NumberText> split_number(std::string_view text);

/// The double nearest to digits x 10^(exponent + shift); nullopt where it over- or underflows.
std::optional<double> to_double(const NumberText& number, int shift);

/// The whole number of 64 bits that the text is, and nothing else.
std::optional<std::int64_t> exact_integer(std::string_view text);

/// A real that is a whole number below 2^63.
std::optional<std::int64_t> exact_integer(double value);

/// What a flag takes.
enum class FlagNumber : std::uint8_t { natural, whole, real };

/// For CLI11's check(): what is wrong with a number on a command line, empty where nothing is. CLI11 itself reads 010 as
/// 8, 0x10 as 16, and of 2^64 and more the largest number that there is.
std::string refuse_odd_number(const std::string& text, FlagNumber kind);

}  // namespace distsim
