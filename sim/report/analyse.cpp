// analyse: Played -> Report. The page that says in which order a prediction is read.
#include <algorithm>
#include <cmath>

#include "sim/report/critical_path.hpp"
#include "sim/report/rank_sweep.hpp"
#include "sim/report/report.hpp"
#include "sim/report/steady_state.hpp"
#include "sim/report/work_tables.hpp"

namespace distsim::report {
namespace {

std::vector<RankTime> sweep_classes(RankSweep& sweep, const RankClasses& classes) {
  std::vector<RankTime> of_class;
  of_class.reserve(classes.size());
  for (std::size_t c = 0; c < classes.size(); ++c) of_class.push_back(sweep.sweep(classes.first[c], classes.count[c]));
  return of_class;
}

/// Means that keep their sum: rounds the running sums down, so that the parts add up to the iteration exactly and none
/// is negative.
void fill_means(Report& report, const std::vector<RankTime>& times, const RankClasses& classes) {
  const std::uint32_t n = report.rank_count;
  WideTime compute = 0, exposed = 0, waiting = 0, host = 0, hidden = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const RankTime& t = times[c];
    compute += WideTime(t.compute.ps()) * classes.count[c];
    exposed += WideTime(t.exposed_comm.ps()) * classes.count[c];
    waiting += WideTime(t.waiting.ps()) * classes.count[c];
    host += WideTime(t.host_bound.ps()) * classes.count[c];
    hidden += WideTime(t.hidden_comm.ps()) * classes.count[c];
  }
  const auto floor_mean = [n](WideTime sum) { return Duration::picoseconds(static_cast<std::int64_t>(sum / n)); };
  report.compute = floor_mean(compute);
  report.exposed_comm = floor_mean(compute + exposed) - report.compute;
  report.waiting = floor_mean(compute + exposed + waiting) - report.compute - report.exposed_comm;
  report.host_bound =
      floor_mean(compute + exposed + waiting + host) - report.compute - report.exposed_comm - report.waiting;
  report.idle = report.iteration - report.compute - report.exposed_comm - report.waiting - report.host_bound;
  report.hidden_comm = mean_of(hidden, n);
  report.comm = report.exposed_comm + report.hidden_comm;
}

void fill_ranks(Report& report, const std::vector<RankTime>& times, const RankClasses& classes) {
  const auto by_compute = [](const RankTime& a, const RankTime& b) { return a.compute < b.compute; };
  report.slowest_rank =
      classes.first[static_cast<std::size_t>(std::max_element(times.begin(), times.end(), by_compute) - times.begin())];
  report.fastest_rank =
      classes.first[static_cast<std::size_t>(std::min_element(times.begin(), times.end(), by_compute) - times.begin())];
  if (std::all_of(times.begin(), times.end(), [&](const RankTime& t) { return t == times.front(); })) {
    report.ranks = {times.front()};
    return;
  }
  report.ranks.reserve(report.rank_count);
  for (std::uint32_t r = 0; r < report.rank_count; ++r) report.ranks.push_back(times[classes.of(r)]);
}

void fill_rates(Report& report) {
  const double seconds = report.iteration.seconds();
  if (seconds <= 0) return;
  const ReportContext& c = report.context;
  report.samples_per_second = c.samples / seconds;
  report.achieved_flops_per_gpu = c.model_flops / seconds / report.rank_count;
  report.mfu = c.peak_flops > 0 ? report.achieved_flops_per_gpu / c.peak_flops : 0;
}

void fill_path(Report& report, const Played& played, const SteadyState& state) {
  const std::vector<PathStep> path = critical_path(played, state);
  report.critical_path = describe_path(played, state, path);
  report.bases = bases_of_path(played, path);
  report.terms = terms_of_path(played, path);
  const HalfWidths spread = half_widths_of(report.terms);
  const double own = report.context.uncertainty * static_cast<double>(state.period());
  const auto with_own = [own](std::int64_t width) { return std::llround(std::hypot(own, static_cast<double>(width))); };
  report.low = Duration::picoseconds(std::max<std::int64_t>(0, state.period() - with_own(spread.below)));
  report.high = report.iteration + Duration::picoseconds(with_own(spread.above));
}

}  // namespace

Report analyse(const Played& played, ReportContext context) {
  const SteadyState state = steady_state(played);
  const RankClasses classes = rank_classes(state, played.program->ranks);
  RankSweep sweep(state);
  const std::vector<RankTime> times = sweep_classes(sweep, classes);

  Report report;
  report.context = std::move(context);
  report.rank_count = played.program->ranks;
  report.iteration = Duration::picoseconds(state.period());
  report.digest = played.timeline->digest;
  fill_rates(report);
  fill_means(report, times, classes);
  fill_ranks(report, times, classes);
  report.ops = op_table(played, state, sweep.sums());
  report.collectives = collective_table(played, state, sweep.sums());
  fill_path(report, played, state);
  return report;
}

}  // namespace distsim::report
