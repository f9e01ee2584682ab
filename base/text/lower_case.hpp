// ASCII letters and digits, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace distsim {

/// A to Z as a to z; all other bytes stay.
inline char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower_case(c);
  return out;
}

}  // namespace distsim
