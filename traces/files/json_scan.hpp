// Finds where a JSON value ends, over text that comes in pieces: brackets are counted, strings skipped. Nothing is
// validated, nothing grows with depth.
#pragma once

#include <cstddef>
#include <cstdint>

namespace distsim::traces {

class JsonScan {
 public:
  /// Goes on from where the last call stopped. Returns the position after the value's last byte, or nullptr when the
  /// text ends first. A scalar ends before the `,`, bracket or blank that follows it.
  const char* advance(const char* p, const char* end);
  void reset() { *this = JsonScan(); }

 private:
  enum class State : std::uint8_t { start, inside, string, top_string, scalar };
  const char* string_end(const char* p, const char* end);
  State state_ = State::start;
  bool escaped_ = false;  // the last byte seen in a string was a backslash that escapes the next
  std::uint64_t depth_ = 0;
};

}  // namespace distsim::traces
