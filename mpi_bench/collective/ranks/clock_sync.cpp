#include "mpi_bench/collective/ranks/clock_sync.hpp"

#include <chrono>
#include <cstring>
#include <limits>

namespace distsim::bench {
namespace {

std::string time_text(double seconds) { return {reinterpret_cast<const char*>(&seconds), sizeof seconds}; }

double time_of(const std::string& text) {
  double seconds = 0;
  if (text.size() == sizeof seconds) std::memcpy(&seconds, text.data(), sizeof seconds);
  return seconds;
}

/// A round trip is two swaps: the rank asks, rank 0 answers with its time.
void answer(const ProcessRanks& ranks, int peer, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    (void)ranks.swap_with_root(peer, "");
    (void)ranks.swap_with_root(peer, time_text(steady_seconds()));
  }
}

ClockOffset ask(const ProcessRanks& ranks, int rounds) {
  ClockOffset best{.uncertainty_s = std::numeric_limits<double>::infinity()};
  for (int i = 0; i < rounds; ++i) {
    const double sent = steady_seconds();
    (void)ranks.swap_with_root(ranks.rank(), "");
    const double root = time_of(ranks.swap_with_root(ranks.rank(), ""));
    const double received = steady_seconds();
    const double half = (received - sent) / 2;
    if (half < best.uncertainty_s) best = {.ahead_s = (sent + received) / 2 - root, .uncertainty_s = half};
  }
  return best;
}

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ClockOffset synchronise_clock(const ProcessRanks& ranks, int rounds) {
  ClockOffset mine;
  for (int peer = 1; peer < ranks.size(); ++peer) {
    if (ranks.rank() == 0) answer(ranks, peer, rounds);
    if (ranks.rank() == peer) mine = ask(ranks, rounds);
  }
  return mine;
}

}  // namespace distsim::bench
