// Passes: runs the passes of a prediction. Each one is timed, logged (-v), checked by its invariants (a broken one is a
// CHECK), and dumped if asked for.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "sim/pipeline/passes/dump.hpp"
#include "sim/pipeline/passes/pass_list.hpp"
#include "sim/pipeline/passes/verify.hpp"

namespace distsim::pipeline {

class Passes {
 public:
  /// `dump_after`: a name of dumpable_passes(), or empty.
  explicit Passes(std::string dump_after = "") : dump_after_(std::move(dump_after)) {}

  /// Calls `pass(args...)`, which returns a Result. Its value is checked by verify(value), or by verify(value, args...)
  /// where the invariant needs the inputs; those must be passed as const references.
  template <class Pass, class... Args>
  auto run(PassName name, Pass&& pass, Args&&... args) {
    const Clock::time_point begin = Clock::now();
    auto result = std::invoke(std::forward<Pass>(pass), std::forward<Args>(args)...);
    if constexpr (!std::is_same_v<decltype(result), Result<void>>) {
      if (result.ok()) check_and_dump(name, *result, args...);
    }
    record(name, begin, Clock::now());
    return result;
  }

  /// A pass runs twice where micro-steps are folded.
  struct Time {
    std::string name;
    double ms = 0;
    std::uint32_t runs = 0;
  };
  /// Of the passes that ran, in their order.
  const std::vector<Time>& times() const { return times_; }

  /// From the beginning of the first pass to the end of the last. The times of the passes sum to a little less.
  double total_ms() const { return Milliseconds(end_ - begin_).count(); }

  /// A line per pass, one for what is between them, and the total.
  std::string timings_text() const;

  /// Result of the pass that was asked for, of its last run; empty if it did not run.
  const std::string& dumped() const { return dumped_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::duration<double, std::milli>;

  template <class Value, class... Args>
  void check_and_dump(PassName name, const Value& value, const Args&... args) {
    if constexpr (requires { verify(value, args...); }) {
      require(name, verify(value, args...));
    } else {
      require(name, verify(value));
    }
    if (is_logged(LogLevel::debug)) log_size(name, size_text(value));
    if (name.text() == dump_after_) dumped_ = dump(value);
  }
  static void require(PassName name, const Result<void>& invariants);
  static void log_size(PassName name, const std::string& size);
  void record(PassName name, Clock::time_point begin, Clock::time_point end);

  std::string dump_after_, dumped_;
  std::vector<Time> times_;
  Clock::time_point begin_, end_;
};

}  // namespace distsim::pipeline
