// What our timing loop costs: its calls against a bare loop of the same calls, in turns, so that drift of the machine
// falls on both.
#include <algorithm>
#include <cstdio>

#include "mpi_bench/collective/run/measure/measure.hpp"
#include "mpi_bench/collective/run/measure/must.hpp"
#include "mpi_bench/collective/run/measure/run.hpp"
#include "mpi_bench/collective/verify/verify.hpp"
#include "mpi_bench/common/paired.hpp"

namespace distsim::bench {
namespace {

constexpr int kTurns = 64;  // of a block: each a timed loop and a bare one, in alternating order
constexpr int kLeastBlocks = 18;
constexpr double kTurnSeconds = 0.0005;  // short, so that most turns fall between two interruptions of the machine
constexpr double kWantedError = 0.0025;  // a quarter of the 1 % that is to be told

/// What our loop takes more, of the slowest rank (see paired_ratio).
struct Overhead {
  double call_us = 0, share = 0, error = 0;
  int calls_each = 1, blocks = 0;
};

/// One block of turns, as the slowest rank had them. The ranks talk before and after it, not between its turns.
PairedBlock block_of(const RunContext& c, Backend& backend, const Call& call, const LoopShape& loop) {
  std::vector<double> mine;
  c.ranks.barrier();
  for (int turn = 0; turn < kTurns; ++turn) {
    double ours = 0, bare = 0;
    for (const bool our_turn : {turn % 2 == 0, turn % 2 != 0}) {
      if (our_turn)
        ours = must(c.ranks, backend.time(call, loop)).mean_s * loop.calls();
      else
        bare = must(c.ranks, backend.time_bare(call, loop.calls()));
    }
    mine.push_back(ours);
    mine.push_back(bare);
  }
  PairedBlock block;
  const std::vector<double> slowest = c.ranks.max(mine);
  for (std::size_t i = 0; i < slowest.size(); i += 2) {
    block.first.push_back(slowest[i]);
    block.second.push_back(slowest[i + 1]);
  }
  return block;
}

Overhead overhead_of(const RunContext& c, Backend& backend, const Call& call) {
  (void)must(c.ranks, backend.time_bare(call, 20));
  const double call_s = std::max(1e-9, c.ranks.max({must(c.ranks, call_estimate(backend, call)).quickest_s}).front());
  Overhead result{.calls_each = std::stoi(c.ranks.from_root(std::to_string(calls_each_for(call_s))))};
  const LoopShape loop{static_cast<int>(std::max(1.0, kTurnSeconds / call_s / result.calls_each)), result.calls_each};
  std::vector<PairedBlock> blocks;
  PairedRatio found;
  const double start = steady_seconds();
  bool more = true;
  while (more) {
    blocks.push_back(block_of(c, backend, call, loop));
    found = paired_ratio(blocks);
    const bool known = static_cast<int>(blocks.size()) >= kLeastBlocks && found.error <= kWantedError;
    more = c.ranks.from_root(!known && steady_seconds() - start < c.options.timing.max_seconds && !c.interrupted()
                                 ? "more"
                                 : "") == "more";
  }
  result.blocks = static_cast<int>(blocks.size());
  result.call_us = found.second / loop.calls() * 1e6;
  result.share = found.ratio - 1;
  result.error = found.error;
  return result;
}

}  // namespace

Result<Outcome> run_overhead(const RunContext& c) {
  TRY_ASSIGN(const Grouping everybody, groups_of({}, c.ranks.node_of()));
  const Team team = team_of(everybody, c.ranks);
  auto made = make_backend(c.chosen, c.options, c.ranks, team);
  TRY(c.ranks.agree(made.ok() ? Result<void>() : Result<void>(made.error())));
  Backend& backend = **made;
  if (c.ranks.rank() == 0)
    std::printf(
        "# overhead of the timing loop against a plain loop, blocks of %d iterations each\n# %-14s %10s %12s %12s %8s %10s %8s\n",
        kTurns, "collective", "size", "call (us)", "calls each", "blocks", "overhead", "+-");
  for (const CollectiveCase* what : c.options.selected.collectives) {
    TRY(backend.supports(*what, c.options.selected.types.front(), c.options.selected.ops.front()));
    for (const std::uint64_t bytes : sweep_sizes(c.options.sizes)) {
      if (c.ranks.any(c.interrupted())) return Outcome::interrupted;
      const Shape shape{.ranks = team.ranks,
                        .rank = team.index,
                        .root = c.options.selected.root,
                        .imbalance = c.options.selected.imbalance};
      const std::size_t e = info_of(c.options.selected.types.front()).size;
      const Layout layout = layout_of(*what, bytes, e, shape);
      const Call call{.what = what,
                      .type = c.options.selected.types.front(),
                      .op = c.options.selected.ops.front(),
                      .shape = shape,
                      .layout = &layout};
      c.watchdog.doing("overhead of " + std::string(what->name) + " of " + std::to_string(bytes) + " bytes");
      TRY(c.ranks.agree(backend.fits(call)));
      TRY(c.ranks.agree(backend.allocate(layout.send_count * e, layout.recv_count * e)));
      must(c.ranks, fill_buffers(backend, call));
      const Overhead o = overhead_of(c, backend, call);
      if (c.ranks.rank() != 0) continue;
      std::printf("  %-14s %10llu %12.3f %12d %8d %9.2f%% %7.2f%%\n", std::string(what->name).c_str(),
                  static_cast<unsigned long long>(bytes), o.call_us, o.calls_each, o.blocks, 100 * o.share,
                  100 * o.error);
      std::fflush(stdout);
    }
  }
  return Outcome::finished;
}

}  // namespace distsim::bench
