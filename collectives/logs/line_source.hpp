// LineSource: a text file line by line, in bounded memory however large the file or a line is.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace distsim::collectives {

class LineSource {
 public:
  static constexpr std::size_t kLongest = 4096;  ///< of a line; the rest of a longer one is dropped

  /// `name` appears in messages. The stream outlives the source.
  LineSource(std::istream& in, std::string name) : in_(&in), name_(std::move(name)) {}

  /// The next line without its line feed and carriage return, or false at the end. Errors: UTF-16 or binary text (a NUL
  /// among the first 64 KiB), a stream that breaks. A byte-order mark of UTF-8 is dropped. The view lives until the
  /// next call.
  Result<bool> next(std::string_view& line);
  /// Calls `take(line)`, which returns Result<void>, for every line that is left.
  template <class Take>
  Result<void> each(const Take& take) {
    std::string_view line;
    for (;;) {
      TRY_ASSIGN(const bool any, next(line));
      if (!any) return {};
      TRY(take(line));
    }
  }
  std::size_t number() const { return number_; }   ///< of the last line, from 1
  bool unfinished() const { return unfinished_; }  ///< it was the last one and had no line feed
  std::string position() const { return name_ + ":" + std::to_string(number_); }
  const std::string& name() const { return name_; }

 private:
  Result<void> check_text(std::string_view read);
  std::istream* in_;
  std::string name_, line_, buffer_;
  std::size_t at_ = 0, number_ = 0, checked_ = 0;
  bool unfinished_ = false;
};

}  // namespace distsim::collectives
