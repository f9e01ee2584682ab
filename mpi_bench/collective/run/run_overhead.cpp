// What our timing loop costs: its calls against a bare loop of the same calls, in turns, so that drift of the machine falls on both.
#include <algorithm>
#include <cstdio>

#include "mpi_bench/collective/run/measure.hpp"
#include "mpi_bench/collective/run/run.hpp"
#include "mpi_bench/collective/verify.hpp"
#include "mpi_bench/common/stats.hpp"

namespace distsim::bench {
namespace {

constexpr int kBlocks = 9, kTurns = 41;  // turns of a block
constexpr double kTurnSeconds = 0.002;
constexpr double kQuiet = 0.10;          // of a block the 10th percentile counts: turns that nothing else interrupted

template <class T>
T must(const Ranks& ranks, Result<T> result) {
  if (!result.ok()) ranks.abort(result.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

/// Ratio of the two loops less one, of the slowest rank: the median over blocks, and the standard error of that median.
struct Overhead {
  double call_us = 0, share = 0, error = 0;
  int calls_each = 1;
};

struct Turns {
  std::vector<double> ours, bare;
};

/// One block of turns, alternately ours and bare first.
Turns block_of(const RunContext& c, Backend& backend, const Call& call, const LoopShape& loop) {
  Turns turns;
  for (int turn = 0; turn < kTurns; ++turn) {
    double ours = 0, bare = 0;
    for (const bool our_turn : {turn % 2 == 0, turn % 2 != 0}) {
      c.ranks.barrier();
      if (our_turn) ours = must(c.ranks, backend.time(call, loop)).mean_s * loop.calls();
      else bare = must(c.ranks, backend.time_bare(call, loop.calls()));
    }
    const std::vector<double> slowest = c.ranks.max({ours, bare});
    turns.ours.push_back(slowest[0]);
    turns.bare.push_back(slowest[1]);
  }
  std::sort(turns.ours.begin(), turns.ours.end());
  std::sort(turns.bare.begin(), turns.bare.end());
  return turns;
}

Overhead overhead_of(const RunContext& c, Backend& backend, const Call& call) {
  (void)must(c.ranks, backend.time_bare(call, 20));
  const double call_s = std::max(1e-9, c.ranks.max({must(c.ranks, backend.time_bare(call, 20)) / 20}).front());
  Overhead result{.calls_each = std::stoi(c.ranks.from_root(std::to_string(calls_each_for(call_s))))};
  const LoopShape loop{static_cast<int>(std::max(1.0, kTurnSeconds / call_s / result.calls_each)), result.calls_each};
  std::vector<double> ratios, bare_us;
  for (int block = 0; block < kBlocks; ++block) {
    const Turns turns = block_of(c, backend, call, loop);
    ratios.push_back(percentile(turns.ours, kQuiet) / percentile(turns.bare, kQuiet));
    bare_us.push_back(percentile(turns.bare, kQuiet) / loop.calls() * 1e6);
  }
  const Summary s = summarize(ratios);
  result.call_us = summarize(bare_us).median;
  result.share = s.median - 1;
  result.error = relative_error_of_median(s);
  return result;
}

}  // namespace

Result<Outcome> run_overhead(const RunContext& c) {
  TRY_ASSIGN(const Grouping everybody, groups_of({}, c.ranks.node_of()));
  const Team team = team_of(everybody, c.ranks);
  auto made = make_backend(c.chosen, c.options, c.ranks, team);
  TRY(c.ranks.agree(made.ok() ? Result<void>() : Result<void>(made.error())));
  Backend& backend = **made;
  if (c.ranks.rank() == 0) std::printf("# overhead of the timing loop against a bare loop, %d blocks of %d turns\n# %-14s %10s %12s %12s %10s %8s\n", kBlocks, kTurns, "collective", "size", "call (us)", "calls each", "overhead", "+-");
  for (const CollectiveCase* what : c.options.collectives) {
    TRY(backend.supports(*what, c.options.types.front(), c.options.ops.front()));
    for (const std::uint64_t bytes : sweep_sizes(c.options)) {
      if (c.ranks.any(c.interrupted())) return Outcome::interrupted;
      const Shape shape{.ranks = team.ranks, .rank = team.index, .root = c.options.root, .imbalance = c.options.imbalance};
      const std::size_t e = info_of(c.options.types.front()).size;
      const Layout layout = layout_of(*what, bytes, e, shape);
      const Call call{.what = what, .type = c.options.types.front(), .op = c.options.ops.front(), .shape = shape, .layout = &layout};
      c.watchdog.doing("overhead of " + std::string(what->name) + " of " + std::to_string(bytes) + " bytes");
      TRY(c.ranks.agree(backend.fits(call)));
      TRY(c.ranks.agree(backend.allocate(layout.send_count * e, layout.recv_count * e)));
      must(c.ranks, fill_buffers(backend, call));
      const Overhead o = overhead_of(c, backend, call);
      if (c.ranks.rank() != 0) continue;
      std::printf("  %-14s %10llu %12.3f %12d %9.2f%% %7.2f%%\n", std::string(what->name).c_str(), static_cast<unsigned long long>(bytes), o.call_us, o.calls_each,
                  100 * o.share, 100 * o.error);
      std::fflush(stdout);
    }
  }
  return Outcome::finished;
}

}  // namespace distsim::bench
