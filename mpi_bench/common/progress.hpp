// A progress line on a terminal, with the remaining time. Nothing is written where stderr is not
// a terminal.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace distsim::bench {

/// " 42%  0:31 left  all_reduce 1 MiB". `fraction` in [0, 1]; the time left is what the elapsed time says in
/// proportion, and is left out below 2 %.
std::string progress_text(double fraction, double elapsed_s, std::string_view what);

class Progress {
 public:
  /// Shows nothing unless `wanted` and stderr is a terminal.
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(double fraction, std::string_view what);
  void clear();  ///< takes the line away, so that something else can be printed

 private:
  const bool on_;
  bool shown_ = false;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace distsim::bench
