// NamePattern: a regular expression (RE2 syntax: Perl's without back references) looked for in names of traces, in time
// linear in the name.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.hpp"

namespace distsim {

class NamePattern {
 public:
  static constexpr std::size_t kLongestText = 1024;  ///< bytes of an expression
  static constexpr std::size_t kLongestName = 512;   ///< bytes of a name that are looked at

  /// Errors: not a regular expression, or a longer one than kLongestText.
  static Result<NamePattern> compile(std::string_view text);

  /// Whether the expression matches somewhere in the name's first kLongestName bytes.
  bool found_in(std::string_view name) const;

 private:
  struct Expression;
  explicit NamePattern(std::shared_ptr<const Expression> expression) : expression_(std::move(expression)) {}
  std::shared_ptr<const Expression> expression_;
};

}  // namespace distsim
