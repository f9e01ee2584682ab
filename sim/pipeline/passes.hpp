// Passes: names and times the steps of the pipeline, and prints the value of one of them when asked (--dump-after).
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace distsim::pipeline {

/// Logs how long a pass took (-v).
void log_time(std::string_view pass, double ms);

class Passes {
 public:
  using Sink = std::function<void(const std::string&)>;

  Passes() = default;
  Passes(std::string dump_after, Sink sink) : dump_after_(std::move(dump_after)), sink_(std::move(sink)) {}

  /// Runs one step, which returns a Result; on success its value is dumped if it is the one that was asked for.
  template <class Step, class Dump>
  auto run(std::string_view name, Step&& step, Dump&& dump) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = step();
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
    times_.push_back({std::string(name), spent.count()});
    log_time(name, spent.count());
    if (result.ok() && sink_ && name == dump_after_) sink_(dump(*result));
    return result;
  }

  struct Time {
    std::string name;
    double ms;
  };
  const std::vector<Time>& times() const { return times_; }

 private:
  std::string dump_after_;
  Sink sink_;
  std::vector<Time> times_;
};

}  // namespace distsim::pipeline
