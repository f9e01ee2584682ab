// Result<T>: bad input is a value, never an exception that escapes a folder. A broken invariant of ours is a CHECK
// (base/check.hpp), which stays on in release builds.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.hpp"

namespace distsim {

/// What went wrong with the user's input. Printed as one line: `where: what; hint`. The parts may hold foreign text as it
/// is; text() is the door (base/text/printable.hpp).
struct Error {
  std::string what;   ///< "key: found X, expected Y"
  std::string where;  ///< "file:line:col", "--set model.global_batch", or empty
  std::string hint;   ///< nearest spelling, next step; may be empty
  std::string text() const;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    CHECK(ok()) << error().text();
    return std::get<0>(state_);
  }
  T& value() & {
    CHECK(ok()) << error().text();
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(ok()) << error().text();
    return std::get<0>(std::move(state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// A Result with nothing in it but success.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

#define DISTSIM_CONCAT_INNER(a, b) a##b
#define DISTSIM_CONCAT(a, b) DISTSIM_CONCAT_INNER(a, b)

/// TRY(expr): return the error of a Result<void> to the caller.
#define TRY(expr)                                    \
  do {                                               \
    auto try_result = (expr);                        \
    if (!try_result.ok()) return try_result.error(); \
  } while (false)

/// TRY_ASSIGN(auto x, expr): return the error to the caller, or move the value into x.
#define TRY_ASSIGN(declaration, expr) TRY_ASSIGN_IMPL(DISTSIM_CONCAT(try_value_, __LINE__), declaration, expr)
#define TRY_ASSIGN_IMPL(tmp, declaration, expr) \
  auto tmp = (expr);                            \
  if (!tmp.ok()) return tmp.error();            \
  declaration = std::move(tmp).value()

}  // namespace distsim
