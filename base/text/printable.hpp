// The door that untrusted text leaves by: in messages one line, no control characters, bounded; in reports no control
// characters that a terminal acts on. Names, paths, cells and flag values may hold anything.
//   Error::text() and remark() (base/output.hpp) pass message_line, print() passes console_text, csv_field and in_markup
//   have rules of their own; tests/foreign_text_test.py holds every reader to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace distsim {

/// `text` fit for a message: control characters and invalid UTF-8 become \xNN, and what is longer than max_bytes ends
/// in "...".
std::string printable(std::string_view text, std::size_t max_bytes = 60);

/// printable(text) in single quotes.
std::string in_quotes(std::string_view text, std::size_t max_bytes = 60);

/// A whole message as one line: control characters and invalid UTF-8 become \xNN, numbers of more than 40 digits and
/// words of more than 400 bytes are shortened in their middle, and the line ends after 4000 bytes.
std::string message_line(std::string_view text);

/// A report for a terminal: as it is, but for control characters other than line feed and tab, which become \xNN.
std::string console_text(std::string_view text);

/// Length in bytes of the UTF-8 character that `text` starts with; 0 where it is not valid UTF-8 (overlong, surrogate,
/// cut) or empty.
std::size_t utf8_character_length(std::string_view text);

/// The first byte that text meant for people must not hold, and why.
struct BadByte {
  std::size_t offset = 0;
  std::string what;  ///< "a NUL byte", "the byte 0xff (not UTF-8)", "the control character 0x07"
};

/// Control characters other than tab, line feed and CR LF, and anything that is not UTF-8.
std::optional<BadByte> find_bad_byte(std::string_view text);

}  // namespace distsim
