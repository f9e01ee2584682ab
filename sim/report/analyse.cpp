// analyse: Played -> Report. The page that says in which order a prediction is read.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/report/critical_path.hpp"
#include "sim/report/limits.hpp"
#include "sim/report/parts.hpp"
#include "sim/report/rank_sweep.hpp"
#include "sim/report/report.hpp"
#include "sim/report/steady_state.hpp"
#include "sim/report/work_tables.hpp"

namespace distsim::report {
namespace {

/// Where the time of each role goes, and of each collective.
struct Sweeps {
  std::vector<RankTime> of_role;
  std::vector<StepSums> of_step;  ///< as SteadyState::steps
};

/// Transfers, of the program as played.
Sweeps transfers_of(const Replays& replays, const SteadyState& state) {
  RankSweep sweep(state);
  Sweeps out{std::vector<RankTime>(replays.roles().size()), {}};
  for (std::uint32_t role = 0; role < out.of_role.size(); ++role)
    sweep.transfers(role, replays.roles().count[role], out.of_role[role]);
  out.of_step = sweep.sums();
  return out;
}

/// Adds what else the ranks do, from the silent replay, which was just played.
void add_split(Replays& replays, Duration iteration, Sweeps& sweeps) {
  if (replays.period() > iteration.ps()) replays.restore();  // it has not settled: nothing is exposed
  const Duration exposed = iteration - Duration::picoseconds(replays.period());
  const SteadyState state = replays.state();
  RankSweep sweep(state);
  for (std::uint32_t role = 0; role < sweeps.of_role.size(); ++role) {
    sweeps.of_role[role].exposed_comm = exposed;
    sweep.split(role, replays.roles().count[role], sweeps.of_role[role]);
  }
  for (std::size_t i = 0; i < sweeps.of_step.size(); ++i) sweeps.of_step[i].waiting = sweep.sums()[i].waiting;
}

void fill_path(Report& report, const Replays& replays, const Chain& chain, const SteadyState& state) {
  std::vector<PathStep> path = chain.steps;
  for (PathStep& s : path) s.rank = replays.roles().first[s.rank];
  const Played& played = replays.played();
  report.critical_path = describe_path(played, path);
  report.cycle_closed = chain.closed;
  const std::int64_t late = path.empty() ? 0 : (path.front().begin - state.begin) % state.period();
  report.cycle_start = Duration::picoseconds(late < 0 ? late + state.period() : late);
  report.bases = bases_of_path(played, path);
  report.terms = terms_of_path(played, path);
  fill_range(report);
}

/// Steps of the iteration that are on the chain.
std::vector<bool> steps_on(const Replays& replays, const Chain& chain) {
  std::vector<bool> out(replays.steps(), false);
  for (const PathStep& s : chain.steps) out[replays.in_first(s.step).value()] = true;
  return out;
}

/// What each row exposes, if `detail` asks for it. What is not on a critical cycle exposes nothing: the cycle is as long without it.
void fill_collectives(Report& report, Replays& replays, const Chain& chain, std::vector<CollectiveRow> rows,
                      Detail detail) {
  const std::vector<bool> critical = steps_on(replays, chain);
  for (CollectiveRow& row : rows) {
    const bool may_matter = !chain.closed || std::ranges::any_of(row.steps, [&](StepId s) {
      return critical[replays.in_first(s).value()];
    });
    if (may_matter && detail != Detail::figures)
      row.time.exposed = rows.size() == 1 ? report.exposed_comm  // the silent replay
                                          : saved_without(replays, row.steps, report.iteration.ps());
    report.collectives.push_back(std::move(row.time));
  }
}

}  // namespace

void fill_range(Report& report) {
  constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();  // ends of ranges may lie beyond it
  const HalfWidths spread = half_widths_of(report.terms);
  const std::int64_t iteration = report.iteration.ps();
  const double own = report.context.uncertainty * static_cast<double>(iteration);
  const auto with_own = [own](std::int64_t width) {
    const double both = std::hypot(own, static_cast<double>(width));
    return both < static_cast<double>(kLatest) ? static_cast<std::int64_t>(std::llround(both)) : kLatest;
  };
  report.low = Duration::picoseconds(std::max<std::int64_t>(0, iteration - with_own(spread.below)));
  report.high = Duration::picoseconds(iteration + std::min(kLatest - iteration, with_own(spread.above)));
}

void fill_means(Report& report, const std::vector<RankTime>& times, const engine::Roles& roles) {
  const std::uint32_t n = report.rank_count;
  WideTime compute = 0, waiting = 0, host = 0, comm = 0, hidden = 0;
  for (std::size_t c = 0; c < roles.size(); ++c) {
    const RankTime& t = times[c];
    compute += WideTime(t.compute.ps()) * roles.count[c];
    waiting += WideTime(t.waiting.ps()) * roles.count[c];
    host += WideTime(t.host_bound.ps()) * roles.count[c];
    comm += WideTime(t.comm.ps()) * roles.count[c];
    hidden += WideTime(t.hidden_comm.ps()) * roles.count[c];
  }
  const auto floor_mean = [n](WideTime sum) { return Duration::picoseconds(static_cast<std::int64_t>(sum / n)); };
  report.exposed_comm = times.front().exposed_comm;  // of all ranks
  report.compute = floor_mean(compute);
  report.waiting = floor_mean(compute + waiting) - report.compute;
  report.host_bound = floor_mean(compute + waiting + host) - report.compute - report.waiting;
  report.idle = report.iteration - report.exposed_comm - report.compute - report.waiting - report.host_bound;
  report.comm = mean_of(comm, n);
  report.hidden_comm = mean_of(hidden, n);
}

void fill_ranks(Report& report, const std::vector<RankTime>& times, const engine::Roles& roles) {
  const auto by_compute = [](const RankTime& a, const RankTime& b) { return a.compute < b.compute; };
  report.slowest_rank =
      roles.first[static_cast<std::size_t>(std::max_element(times.begin(), times.end(), by_compute) - times.begin())];
  report.fastest_rank =
      roles.first[static_cast<std::size_t>(std::min_element(times.begin(), times.end(), by_compute) - times.begin())];
  if (std::all_of(times.begin(), times.end(), [&](const RankTime& t) { return t == times.front(); })) {
    report.ranks = {times.front()};
    return;
  }
  report.ranks.reserve(report.rank_count);
  for (std::uint32_t r = 0; r < report.rank_count; ++r) report.ranks.push_back(times[roles.of(r)]);
}

void fill_rates(Report& report, double gpus) {
  const double seconds = report.iteration.seconds();
  if (seconds <= 0) return;
  const ReportContext& c = report.context;
  report.samples_per_second = c.samples / seconds;
  report.achieved_flops_per_gpu = c.model_flops / seconds / gpus;
  report.hardware_flops_per_gpu = (c.model_flops + c.repeated_flops) / seconds / gpus;
  report.mfu = c.peak_flops > 0 ? report.achieved_flops_per_gpu / c.peak_flops : 0;
  report.hfu = c.peak_flops > 0 ? report.hardware_flops_per_gpu / c.peak_flops : 0;
}

Report analyse(const Played& played, ReportContext context, Detail detail) {
  Replays replays(played);
  const SteadyState state = replays.state();  // its times hold until the first replay
  const Chain chain = replays.chain();

  Report report;
  report.context = std::move(context);
  report.rank_count = played.program->ranks;
  report.iteration = Duration::picoseconds(state.period());
  report.digest = played.timeline->digest;
  report.busy = replays.busy();
  fill_rates(report, report.rank_count);
  fill_path(report, replays, chain, state);

  Sweeps sweeps = transfers_of(replays, state);
  LimitFinder finder(replays);
  report.limits = finder.on(chain);
  finder.play_silent(report.limits);
  add_split(replays, report.iteration, sweeps);
  finder.finish(report.limits, report.iteration, detail);
  fill_means(report, sweeps.of_role, replays.roles());
  fill_ranks(report, sweeps.of_role, replays.roles());
  report.ops = op_table(played, state, sweeps.of_step);
  fill_collectives(report, replays, chain, collective_rows(played, state, sweeps.of_step), detail);
  return report;
}

}  // namespace distsim::report
