// A decimal number at the start of a text, taken apart exactly and without the locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distsim {

/// [+-] digits [. digits] [e [+-] digits], a number of YAML 1.2's core schema, but for zeros in front: 010 is 8 to some readers
/// and 10 to others. Files, --set, flags and cells of tables all take numbers by this rule.
struct NumberText {
  std::string digits;         ///< sign, digits and point without the exponent: "-12.5"
  bool has_fraction = false;  ///< a point was written
  int exponent = 0;           ///< written exponent, clamped to +-9999
  std::string_view rest;      ///< what follows, with blanks around it removed
};

/// nullopt where `text` (after blanks) does not start with a number.
std::optional<NumberText> split_number(std::string_view text);

/// The double or the whole number of 64 bits that all of `text` is, with blanks around it; 4e9 is whole, 1.0 is not.
std::optional<double> plain_number(std::string_view text);
std::optional<std::int64_t> plain_integer(std::string_view text);

/// For messages on a text that was refused: how the number is written where only `_` between digits or zeros in front of it
/// are at fault. Empty: something else is.
std::string number_hint(std::string_view text);

/// The double nearest to digits x 10^(exponent + shift); nullopt where it over- or underflows.
std::optional<double> to_double(const NumberText& number, int shift);

/// The whole number of 64 bits that the text is, and nothing else: of files that other programs write.
std::optional<std::int64_t> exact_integer(std::string_view text);

/// A real that is a whole number below 2^63.
std::optional<std::int64_t> exact_integer(double value);

/// What a flag takes.
enum class FlagNumber : std::uint8_t { natural, whole, real };

/// For CLI11's transform() and check(), of a number on a command line: the first puts it as CLI11 reads it and says what is
/// wrong where number_hint knows; the other says what is wrong with any text that is none. Empty: nothing is. CLI11 itself
/// reads 010 as 8, 0x10 as 16, of 2^64 and more the largest number that there is, and no 1e3.
std::string plain_flag_number(std::string& text, FlagNumber kind);
std::string refuse_odd_number(const std::string& text, FlagNumber kind);

/// With `decimals` decimals; a smaller number that is no whole one with as many as show three of its digits, at most 15: 0.00478, not 0.005.
std::string fixed_or_digits(double value, int decimals);

}  // namespace distsim
