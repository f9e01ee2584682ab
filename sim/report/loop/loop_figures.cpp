#include "sim/report/loop/loop_figures.hpp"

#include <algorithm>
#include <array>

#include "sim/report/critical_path.hpp"
#include "sim/report/limits.hpp"
#include "sim/report/parts.hpp"
#include "sim/report/rank_sweep.hpp"

namespace distsim::report {
namespace {

const graph::Task& task_of(const LoopPlay& p, StepId step) { return p.costed->graph.tasks[(*p.origins)[step].task]; }

bool is_device(const LoopPlay& p, StepId step) { return (*p.origins)[step].role == StepRole::device; }

/// Of each stream that has any, the last of the steps that are `wanted`, in their order.
template <class Wanted>
std::vector<StepId> last_steps(const LoopPlay& p, Wanted wanted) {
  std::array<StepId, graph::kStreamCount> last{};
  const auto& steps = p.player->loop().steps;
  for (StepId s(0); s < steps.end_id(); s = StepId(s.value() + 1))
    if (wanted(s)) last[steps[s].stream.value()] = s;
  std::vector<StepId> out;
  std::ranges::copy_if(last, std::back_inserter(out), [](StepId s) { return s.valid(); });
  std::ranges::sort(out);
  return out;
}

/// The same step of another round, counted from the last.
StepId in_round(const LoopPlay& p, StepId step, std::uint32_t before_last) {
  return StepId((p.player->rounds() - 1 - before_last) * p.player->steps_of_round() + step.value());
}

Window window_of(const LoopPlay& p, const std::vector<StepId>& last) {
  Window out;
  for (const StepId s : last) {
    out.last.push_back(in_round(p, s, 0));
    out.begin = std::max(out.begin, p.player->last_end(in_round(p, s, 1)));
    out.end = std::max(out.end, p.player->last_end(out.last.back()));
  }
  return out;
}

enum class Collectives : std::uint8_t { all, where_ranks_wait };

/// What ranks do and wait for; collectives in which no rank waits for another may be left out.
SteadyState waits_and_work(const LoopPlay& p, const Window& window, Collectives wanted) {
  SteadyState out;
  out.begin = window.begin;
  out.end = window.end;
  out.repeats = true;
  const engine::LoopPlayer& player = *p.player;
  for (StepId s(0); s < p.origins->end_id(); s = StepId(s.value() + 1)) {
    if (!is_device(p, s)) continue;
    const graph::Task& task = task_of(p, s);
    DeviceStep d;
    d.collective = task.partition.valid();
    const bool waited_in = !task.between_stages && player.meets(s);
    if (d.collective && wanted == Collectives::where_ranks_wait && !waited_in) continue;
    d.step = s;
    d.task = (*p.origins)[s].task;
    d.prepares = prepares(*p.costed, task);
    d.ready = RowView(player.last_ready_row(s));
    d.start = RowView(player.last_start_row(s));
    d.end = RowView(player.last_end_row(s));
    d.first_launch = static_cast<std::uint32_t>(out.launch_ends.size());
    for (const StepId w : player.loop().waits_of(s))
      if (!is_device(p, w)) out.launch_ends.emplace_back(player.last_end_row(w));
    d.launches = static_cast<std::uint32_t>(out.launch_ends.size()) - d.first_launch;
    out.steps.push_back(d);
  }
  return out;
}

/// Collectives take no time in the next play. What they took is given back where that made the iteration longer: it has
/// not settled, and nothing is exposed.
Window play_silent(const LoopPlay& p, const std::vector<StepId>& last, std::int64_t iteration, Limits& limits) {
  std::vector<std::pair<StepId, const std::int64_t*>> taken;
  for (StepId s(0); s < p.origins->end_id(); s = StepId(s.value() + 1)) {
    if (!is_device(p, s) || !task_of(p, s).partition.valid()) continue;
    taken.emplace_back(s, p.player->duration_row(s));
    p.player->set_nothing(s);
  }
  CHECK(p.player->play()) << "a program that was played has become too long";
  Window window = window_of(p, last);
  limits[Resource::network].without = Duration::picoseconds(std::clamp<std::int64_t>(window.period(), 0, iteration));
  if (window.period() <= iteration) return window;
  for (const auto& [step, duration] : taken) p.player->set_duration_row(step, duration);
  CHECK(p.player->play()) << "a program that was played has become too long";
  return window_of(p, last);
}

Limits limits_on(const LoopPlay& p, const Chain& chain) {
  const Played played{p.costed, nullptr, p.origins, nullptr, 1};
  const std::uint32_t count = p.player->steps_of_round();
  const auto resource = [&](StepId step, std::uint32_t role) {
    return resource_of(played, StepId(step.value() % count), p.roles->first[role]);
  };
  const auto mean = [&](StepId step) -> std::optional<std::int64_t> {
    const std::int64_t* const row = p.player->duration_row(StepId(step.value() % count));
    if (std::all_of(row, row + p.roles->size(), [&](std::int64_t t) { return t == row[0]; })) return std::nullopt;
    return mean_where_present([&](std::uint32_t role) { return row[role]; }, *p.roles);
  };
  return limits_of_chain(chain, *p.roles, resource, mean);
}

void fill_terms(Report& report, const LoopPlay& p, const Chain& chain) {
  std::vector<PathStep> path = chain.steps;
  for (PathStep& s : path) {
    s.rank = p.roles->first[s.rank];
    s.step = StepId(s.step.value() % p.player->steps_of_round());
  }
  report.cycle_closed = chain.closed;
  report.terms = terms_of_path({p.costed, nullptr, p.origins, nullptr, 1}, path);
  fill_range(report);
}

/// Times of transfers by role, of the play with communication.
std::vector<RankTime> loop_transfers(const LoopPlay& p, const Window& window) {
  const SteadyState state = waits_and_work(p, window, Collectives::all);
  RankSweep sweep(state);
  std::vector<RankTime> of_role(p.roles->size());
  for (std::uint32_t role = 0; role < of_role.size(); ++role)
    sweep.transfers(role, p.roles->count[role], of_role[role]);
  return of_role;
}

/// Of the play without communication.
void fill_split(Report& report, const LoopPlay& p, const Window& silent, std::vector<RankTime> of_role) {
  const SteadyState state = waits_and_work(p, silent, Collectives::where_ranks_wait);
  RankSweep sweep(state);
  for (std::uint32_t role = 0; role < of_role.size(); ++role) {
    of_role[role].exposed_comm = report.iteration - Duration::picoseconds(silent.period());
    sweep.split(role, p.roles->count[role], of_role[role]);
  }
  fill_means(report, of_role, *p.roles);
  fill_ranks(report, of_role, *p.roles);
}

/// Before collectives are made to take no time.
Busy busy_of_round(const LoopPlay& p) {
  const auto& steps = p.player->loop().steps;
  return busy_of(
      p.player->steps_of_round(), *p.roles, [&](StepId s) { return steps[s].stream.value(); },
      [&](StepId s, std::uint32_t role) { return p.player->duration_row(s)[role]; });
}

}  // namespace

bool is_settled(const LoopPlay& p) {
  constexpr double kSlack = 1.001;  // as settled() in steady_state.cpp
  const std::int64_t period = window_of(p, last_steps(p, [&](StepId s) { return is_device(p, s); })).period();
  const auto most = static_cast<std::int64_t>(static_cast<double>(period) * kSlack);
  return std::ranges::none_of(last_steps(p, [](StepId) { return true; }), [&](StepId s) {
    for (std::uint32_t rank = 0; rank < p.player->ranks(); ++rank)
      if (p.player->end(in_round(p, s, 0), rank) - p.player->end(in_round(p, s, 1), rank) > most) return true;
    return false;
  });
}

Brief brief_of(const LoopPlay& p) {
  const Window window = window_of(p, last_steps(p, [&](StepId s) { return is_device(p, s); }));
  const Duration iteration = Duration::picoseconds(window.period());
  Brief out{iteration, limits_on(p, critical_chain(*p.player, window)), busy_of_round(p)};
  decide(out.limits, iteration);
  return out;
}

Report figures_of(const LoopPlay& p, ReportContext context, Transfers transfers) {
  const std::vector<StepId> last = last_steps(p, [&](StepId s) { return is_device(p, s); });
  const Window window = window_of(p, last);
  const Chain chain = critical_chain(*p.player, window);
  Report report;
  report.context = std::move(context);
  report.rank_count = p.costed->graph.ranks;
  report.iteration = Duration::picoseconds(window.period());
  fill_rates(report, report.rank_count);
  fill_terms(report, p, chain);
  report.limits = limits_on(p, chain);
  report.busy = busy_of_round(p);
  for (ResourceTime& of : report.limits.of_resource) of.without = report.iteration;
  auto of_role = transfers == Transfers::summed ? loop_transfers(p, window) : std::vector<RankTime>(p.roles->size());
  const Window silent = play_silent(p, last, report.iteration.ps(), report.limits);
  decide(report.limits, report.iteration);
  fill_split(report, p, silent, std::move(of_role));
  return report;
}

}  // namespace distsim::report
