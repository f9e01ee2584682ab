#include <algorithm>
#include <optional>

#include "sim/report/groups.hpp"
#include "sim/report/timeline/timeline_slices.hpp"
#include "traces/timeline/running_sum.hpp"

namespace distsim::report {
namespace {

using SampleSink = std::function<void(const traces::CounterSample&)>;

std::uint32_t members_of(const engine::Groups& groups, std::uint32_t rank) {
  std::uint32_t members = 0;
  for_each_member(groups, rank, [&](std::uint32_t) { ++members; });
  return members;
}

/// Calls visit(id, task, start, end) for each device step of a rank that takes time.
template <class Visit>
void for_each_device_step(const Played& p, bool last_only, std::uint32_t rank, Visit visit) {
  for (StepId s(0); s < p.program->steps.end_id(); s = StepId(s.value() + 1)) {
    const StepOrigin& o = (*p.origins)[s];
    if (o.role != StepRole::device || (last_only && o.iteration + 1 != p.iterations)) continue;
    const std::int64_t start = p.timeline->start[s].at(rank), end = p.timeline->end[s].at(rank);
    if (end > start) visit(s, o.task, start, end);
  }
}

void link_use(const Played& p, bool last_only, std::uint32_t rank, std::uint32_t counter, const SampleSink& sink) {
  const graph::TaskGraph& graph = p.costed->graph;
  std::vector<traces::CounterChange> changes;
  for_each_device_step(p, last_only, rank, [&](StepId s, TaskId t, std::int64_t start, std::int64_t end) {
    const auto* c =
        std::get_if<graph::Collective>(&graph.ops[OpId(graph.tasks[t].first_op.value() + graph.variant_of(t, rank))]);
    if (!c || p.program->steps[s].group == engine::Step::kNoGroup) return;
    const double factor = graph::busbw_factor(c->kind, members_of(p.program->groups[p.program->steps[s].group], rank));
    const double gigabytes_per_second = static_cast<double>(c->bytes) * static_cast<double>(c->times) * factor /
                                        static_cast<double>(end - start) * 1e3;  // bytes a ps -> GB/s
    changes.push_back({start, gigabytes_per_second});
    changes.push_back({end, -gigabytes_per_second});
  });
  traces::emit_running_sum(std::move(changes), 0, counter, sink);
}

std::int64_t of_rank(const std::vector<std::int64_t>& values, std::uint32_t rank) {
  return values.empty() ? 0 : values.size() == 1 ? values.front() : values[rank];
}

/// A run of forward (or backward) kernels takes up (or gives back) all activations, each kernel its share by time.
void memory(const Played& p, const TimelineOptions& options, bool last_only, std::uint32_t rank, std::uint32_t counter,
            const SampleSink& sink) {
  const double activations = static_cast<double>(of_rank(options.activations_per_rank, rank)) * 1e-9;
  std::vector<traces::CounterChange> changes, run;
  std::optional<graph::Phase> phase_of_run;
  const auto close_run = [&] {
    double total = 0;
    for (const traces::CounterChange& c : run) total += c.by;
    const double sign = phase_of_run == graph::Phase::forward ? 1 : -1;
    for (const traces::CounterChange& c : run) changes.push_back({c.time_ps, sign * activations * c.by / total});
    run.clear();
  };
  for_each_device_step(p, last_only, rank, [&](StepId, TaskId t, std::int64_t start, std::int64_t end) {
    const graph::Task& task = p.costed->graph.tasks[t];
    if (task.stream != graph::Stream::compute ||
        (task.phase != graph::Phase::forward && task.phase != graph::Phase::backward))
      return;
    if (phase_of_run != task.phase) close_run();
    phase_of_run = task.phase;
    run.push_back({end, static_cast<double>(end - start)});
  });
  close_run();
  traces::emit_running_sum(std::move(changes),
                           static_cast<double>(of_rank(options.memory_per_rank, rank)) * 1e-9 - activations, counter,
                           sink);
}

}  // namespace

void emit_counters(const Played& played, const TimelineOptions& options, bool last_iteration_only, std::uint32_t rank,
                   std::uint32_t first, const SampleSink& sink) {
  link_use(played, last_iteration_only, rank, first, sink);
  if (!options.memory_per_rank.empty()) memory(played, options, last_iteration_only, rank, first + 1, sink);
}

}  // namespace distsim::report
