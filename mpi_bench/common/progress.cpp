#include "mpi_bench/common/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace distsim::bench {
namespace {

constexpr double kTooEarlyToTell = 0.02;

std::string clock_text(double seconds) {
  const auto s = static_cast<long long>(seconds + 0.5);
  char text[48];
  if (s >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld left", s / 3600, s / 60 % 60, s % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld left", s / 60, s % 60);
  return text;
}

}  // namespace

std::string progress_text(double fraction, double elapsed_s, std::string_view what) {
  const double f = std::clamp(fraction, 0.0, 1.0);
  char percent[16];
  std::snprintf(percent, sizeof percent, "%3d%%  ", static_cast<int>(f * 100));
  const std::string left = f < kTooEarlyToTell ? "" : clock_text(elapsed_s * (1 - f) / f) + "  ";
  return percent + left + std::string(what);
}

Progress::Progress(bool wanted) : on_(wanted && ::isatty(STDERR_FILENO) == 1) {}

void Progress::show(double fraction, std::string_view what) {
  if (!on_) return;
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::fprintf(stderr, "\r\033[K%s", progress_text(fraction, elapsed, what).c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace distsim::bench
