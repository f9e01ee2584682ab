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

#define CHECK(condition) \
  (condition)            \
      ? (void)0          \
      : ::distsim::detail::Voidify() & ::distsim::detail::CheckFailure(__FILE__, __LINE__, #condition).stream()
