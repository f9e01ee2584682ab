#include "sim/report/limits.hpp"

#include <algorithm>

namespace distsim::report {
namespace {

constexpr std::array<std::string_view, kResources> kResourceNames{"host loop", "network", "compute",
                                                                  "memory",    "input",   "waiting for a rank"};

engine::Row evened_out(const engine::Row& row, const engine::Roles& roles) {
  const std::int64_t mean = mean_where_present([&](std::uint32_t role) { return row.at(role); }, roles);
  std::vector<std::int64_t> values(roles.size());
  for (std::uint32_t role = 0; role < values.size(); ++role) values[role] = row.at(role) > 0 ? mean : 0;
  return engine::Row(std::move(values));
}

/// A rank whose kernels are waited for long enough; else the resource with most time on the cycle, ties to the first.
std::optional<Limiter> limiter_of(const Limits& limits, Duration iteration) {
  const double longer = limits[Resource::waiting_for_rank].on_cycle.seconds();
  if (longer > 0 && longer >= kStragglerShare * iteration.seconds())
    return Limiter{Resource::waiting_for_rank, limits.waiting_rank};
  std::size_t most = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(Resource::waiting_for_rank); ++r)
    if (limits.of_resource[r].on_cycle > limits.of_resource[most].on_cycle) most = r;
  if (limits.of_resource[most].on_cycle <= Duration()) return std::nullopt;
  return Limiter{static_cast<Resource>(most), 0};
}

}  // namespace

std::string_view name_of(Resource resource) { return kResourceNames[static_cast<std::size_t>(resource)]; }

std::string text_of(const Limiter& limiter) {
  if (limiter.resource == Resource::waiting_for_rank) return "waiting for rank " + std::to_string(limiter.rank);
  return std::string(name_of(limiter.resource));
}

std::string text_of(const std::optional<Limiter>& limiter) { return limiter ? text_of(*limiter) : ""; }

void decide(Limits& limits, Duration iteration) {
  limits.limited_by = limiter_of(limits, iteration);
  limits.runner_up.reset();
  limits.slack = Duration();
  if (!limits.limited_by) return;
  const ResourceTime& limiting = limits[limits.limited_by->resource];
  limits.runner_up = limiting.next;
  limits.slack = std::max(Duration(), iteration - limiting.without);
}

Resource resource_of(const Played& p, StepId step, std::uint32_t rank) {
  const StepOrigin& o = (*p.origins)[step];
  if (o.role == StepRole::host_dispatch || o.role == StepRole::step_overhead) return Resource::host_loop;
  const graph::TaskGraph& graph = p.costed->graph;
  const graph::Task& task = graph.tasks[o.task];
  if (task.partition.valid()) return Resource::network;
  const OpId id(task.first_op.value() + graph.variant_of(o.task, rank));
  const graph::Work work = graph::work_of(graph.ops[id]);
  const bool loads = work == graph::Work::host || work == graph::Work::copy;
  if (task.phase == graph::Phase::input && loads) return Resource::input;
  if (work == graph::Work::host) return Resource::host_loop;
  const bool moves = work == graph::Work::copy || p.costed->costs[id].bound == graph::Bound::memory;
  return moves ? Resource::memory : Resource::compute;
}

LimitFinder::LimitFinder(Replays& replays) : r_(replays), of_step_(replays.steps()) {
  for (std::uint32_t s = 0; s < of_step_.size(); ++s) of_step_[s] = of_all_ranks(StepId(s));
}

std::optional<Resource> LimitFinder::of_all_ranks(StepId s) const {
  const Played& p = r_.played();
  const StepOrigin& o = (*p.origins)[s];
  const Resource first = resource_of(p, s, 0);
  if (o.role != StepRole::device || first == Resource::network || r_.roles().size() == 1) return first;
  const graph::Task& task = p.costed->graph.tasks[o.task];
  for (std::uint32_t v = 1; v < task.variants; ++v) {
    const OpId op(task.first_op.value() + v);
    const bool alike = p.costed->graph.ops[op].index() == p.costed->graph.ops[task.first_op].index() &&
                       p.costed->costs[op].bound == p.costed->costs[task.first_op].bound;
    if (!alike) return std::nullopt;
  }
  return first;
}

Resource LimitFinder::of(StepId step, std::uint32_t role) const {
  const std::optional<Resource>& known = of_step_[r_.in_first(step).value()];
  return known ? *known : resource_of(r_.played(), step, r_.roles().first[role]);
}

/// Nothing where the step does not belong to `resource`.
std::optional<engine::Row> LimitFinder::without(StepId step, Resource resource) const {
  if (const auto& known = of_step_[r_.in_first(step).value()])
    return *known == resource ? std::optional(engine::Row(0)) : std::nullopt;
  std::vector<std::int64_t> values;
  for (std::uint32_t role = 0; role < r_.roles().size(); ++role)
    values.push_back(of(step, role) == resource ? 0 : r_.duration(step).at(role));
  return engine::Row(std::move(values));
}

Limits LimitFinder::on(const Chain& chain) const {
  const auto mean = [&](StepId step) -> std::optional<std::int64_t> {
    const engine::Row& row = r_.duration(step);
    if (row.uniform()) return std::nullopt;
    return mean_where_present([&](std::uint32_t role) { return row.at(role); }, r_.roles());
  };
  return limits_of_chain(
      chain, r_.roles(), [&](StepId step, std::uint32_t role) { return of(step, role); }, mean);
}

bool LimitFinder::play_without(Resource resource) {
  if (resource != Resource::waiting_for_rank) return r_.play([&](StepId s) { return without(s, resource); });
  return r_.play([&](StepId s) -> std::optional<engine::Row> {
    const engine::Row& row = r_.duration(s);
    if (row.uniform() || (*r_.played().origins)[s].role != StepRole::device || of(s, 0) == Resource::network)
      return std::nullopt;
    return evened_out(row, r_.roles());
  });
}

/// Of the replay that was just played.
void LimitFinder::note(Limits& limits, Resource resource) const {
  const Duration period = Duration::picoseconds(std::max<std::int64_t>(0, r_.period()));
  limits[resource].without = period;
  limits[resource].next = limiter_of(on(r_.chain()), period);
}

void LimitFinder::play_silent(Limits& limits) {
  CHECK(play_without(Resource::network)) << "a program that was played has become too long";
  note(limits, Resource::network);
}

void LimitFinder::finish(Limits& limits, Duration iteration, Detail detail) {
  const std::optional<Limiter> limiter = limiter_of(limits, iteration);
  for (std::size_t i = 0; i < kResources; ++i) {
    const auto resource = static_cast<Resource>(i);
    ResourceTime& of = limits[resource];
    const bool limits_it = limiter && limiter->resource == resource;
    const bool asked = detail == Detail::every_limit || (detail == Detail::report && limits_it);
    if (resource == Resource::network) {
      of.without = std::min(of.without, iteration);
      continue;  // played already
    }
    of.without = iteration;
    if (of.on_cycle <= Duration() || !asked || !play_without(resource)) continue;
    note(limits, resource);
    of.without = std::min(of.without, iteration);
  }
  decide(limits, iteration);
}

Brief brief_of(Replays& replays) {
  const Duration iteration = Duration::picoseconds(replays.period());
  Brief out{iteration, LimitFinder(replays).on(replays.chain()), replays.busy()};
  decide(out.limits, iteration);
  return out;
}

Duration saved_without(Replays& r, const std::vector<StepId>& steps, std::int64_t period) {
  std::vector<bool> silent(r.steps(), false);
  std::int64_t most = 0;
  for (const StepId s : steps) {
    silent[r.in_first(s).value()] = true;
    const engine::Row& row = r.duration(s);
    most += row.uniform() ? row.scalar() : std::ranges::max(row.values());
  }
  const bool played =
      r.play([&](StepId s) { return silent[r.in_first(s).value()] ? std::optional(engine::Row(0)) : std::nullopt; });
  CHECK(played) << "a program that was played has become too long";
  return Duration::picoseconds(std::clamp<std::int64_t>(period - r.period(), 0, most));
}

}  // namespace distsim::report
