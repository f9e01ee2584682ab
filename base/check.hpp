// CHECK(condition) << "detail": a broken invariant of ours. On in every build; prints file:line and aborts.
#pragma once

#include <sstream>

namespace distsim::detail {

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return out_; }

 private:
  std::ostringstream out_;
};

/// Turns the stream expression into void, so that CHECK can be used in a ternary.
struct Voidify {
  void operator&(std::ostream&) const {}
};

}  // namespace distsim::detail

namespace distsim {

/// What an assertion of nlohmann::json that does not hold ends in (base/json/json.hpp): out of memory, since that alone makes
/// such values.
[[noreturn]] void json_is_broken();

}  // namespace distsim

#define CHECK(condition) \
  (condition)            \
      ? (void)0          \
      : ::distsim::detail::Voidify() & ::distsim::detail::CheckFailure(__FILE__, __LINE__, #condition).stream()
