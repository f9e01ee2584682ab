#include "sim/report/critical_path.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace distsim::report {
namespace {

bool is_launch(const StepOrigin& o) { return o.role == StepRole::host_dispatch || o.role == StepRole::step_overhead; }

/// Preparing samples on the thread that launches is no part of the host loop.
bool is_input(const Played& p, TaskId task) { return p.costed->graph.tasks[task].phase == graph::Phase::input; }

OpId op_of(const Played& p, TaskId task, std::uint32_t rank) {
  const graph::TaskGraph& graph = p.costed->graph;
  return OpId(graph.tasks[task].first_op.value() + graph.variant_of(task, rank));
}

const std::string& name_of_task(const Played& p, TaskId task) {
  return p.costed->graph.names[p.costed->graph.tasks[task].name];
}

graph::Basis basis_of(const Played& p, const PathStep& s) {
  const graph::Cost* cost = cost_of(p, s.step, s.rank);
  return cost ? cost->basis : graph::Basis::analytic;
}

CriticalStep describe_step(const Played& p, const PathStep& s, std::int64_t begin) {
  const StepOrigin& o = (*p.origins)[s.step];
  CriticalStep out;
  out.stream = static_cast<graph::Stream>(p.program->steps[s.step].stream.value());
  out.rank = s.rank;
  out.start = Duration::picoseconds(s.begin - begin);
  out.time = Duration::picoseconds(s.end - s.begin);
  out.kind = kind_of_step(p, s.step, s.rank);
  if (o.role == StepRole::device || (o.role == StepRole::host_work && is_input(p, o.task)))
    out.phase = p.costed->graph.tasks[o.task].phase;
  out.basis = basis_of(p, s);
  switch (o.role) {
    case StepRole::step_overhead:
      out.name = "framework step";
      break;
    case StepRole::host_dispatch:
      out.name = "launch " + name_of_task(p, o.task);
      break;
    default:
      out.name = name_of_task(p, o.task);
  }
  return out;
}

/// Name of a run of launches, from those of its ends.
std::string launches_name(const Played& p, const PathStep& first, const PathStep& last, std::uint32_t count) {
  if ((*p.origins)[last.step].role == StepRole::step_overhead) return "framework step";
  const std::string& to = name_of_task(p, (*p.origins)[last.step].task);
  const StepOrigin& from = (*p.origins)[first.step];
  const std::string begin =
      from.role == StepRole::step_overhead ? "framework step" : "launch " + name_of_task(p, from.task);
  return begin + " .. " + to + " (" + std::to_string(count) + ")";
}

}  // namespace

const graph::Cost* cost_of(const Played& p, StepId step, std::uint32_t rank) {
  const StepOrigin& o = (*p.origins)[step];
  return is_launch(o) ? nullptr : &p.costed->costs[op_of(p, o.task, rank)];
}

std::string_view kind_of_step(const Played& p, StepId step, std::uint32_t rank) {
  const StepOrigin& o = (*p.origins)[step];
  if (is_launch(o)) return "host";
  const graph::Op& op = p.costed->graph.ops[op_of(p, o.task, rank)];
  const auto* collective = std::get_if<graph::Collective>(&op);
  return collective ? graph::name_of(collective->kind) : graph::kind_of(op);
}

std::vector<CriticalStep> describe_path(const Played& p, const std::vector<PathStep>& path) {
  std::vector<CriticalStep> out;
  for (std::size_t i = 0; i < path.size();) {
    out.push_back(describe_step(p, path[i], path.front().begin));
    CriticalStep& entry = out.back();
    std::size_t j = i + 1;
    const bool launch = is_launch((*p.origins)[path[i].step]);
    for (; launch && j < path.size() && path[j].rank == path[i].rank && is_launch((*p.origins)[path[j].step]); ++j) {
      entry.time += Duration::picoseconds(path[j].end - path[j].begin);
      ++entry.steps;
    }
    if (entry.steps > 1) entry.name = launches_name(p, path[i], path[j - 1], entry.steps);
    i = j;
  }
  return out;
}

namespace {

/// Half-widths of one class of costs: ops of equal cost are one shape, wrong together.
class ClassRange {
 public:
  void add(double time, const graph::Cost* cost) {
    time_ += time;
    const double mean = cost ? static_cast<double>(cost->mean.ps()) : 0;
    if (cost && mean <= 0) return;  // only gaps
    Widths& shape = of_shape_[cost ? cost->mean.ps() : 0];
    shape.below += time * (cost ? static_cast<double>((cost->mean - cost->low).ps()) / mean : kHostSpread);
    shape.above += time * (cost ? static_cast<double>((cost->high - cost->mean).ps()) / mean : kHostSpread);
  }

  UncertainTerm term(std::string_view kind, graph::Basis basis) const {
    Widths sum, squares;
    for (const auto& [mean, w] : of_shape_) {
      sum.below += w.below;
      sum.above += w.above;
      squares.below += w.below * w.below;
      squares.above += w.above * w.above;
    }
    return {std::string(kind), basis, duration(time_), combined(sum.below, squares.below),
            combined(sum.above, squares.above)};
  }

 private:
  struct Widths {
    double below = 0, above = 0;
  };

  static Duration duration(double ps) { return Duration::picoseconds(std::llround(std::min(ps, 4e18))); }
  static Duration combined(double sum, double squares) {
    return duration(std::sqrt(kSharedError * sum * sum + (1 - kSharedError) * squares));
  }

  double time_ = 0;
  std::map<std::int64_t, Widths> of_shape_;  ///< by the cost's mean
};

}  // namespace

std::vector<UncertainTerm> terms_of_path(const Played& p, const std::vector<PathStep>& path) {
  std::map<std::pair<std::string_view, graph::Basis>, ClassRange> classes;
  for (const PathStep& s : path)
    classes[{kind_of_step(p, s.step, s.rank), basis_of(p, s)}].add(static_cast<double>(s.end - s.begin),
                                                                   cost_of(p, s.step, s.rank));
  std::vector<UncertainTerm> terms;
  terms.reserve(classes.size());
  for (const auto& [key, range] : classes) terms.push_back(range.term(key.first, key.second));
  std::ranges::stable_sort(terms, [](const UncertainTerm& a, const UncertainTerm& b) { return a.time > b.time; });
  return terms;
}

HalfWidths half_widths_of(const std::vector<UncertainTerm>& terms) {
  double below = 0, above = 0;
  for (const UncertainTerm& t : terms) {
    below += static_cast<double>(t.below.ps()) * static_cast<double>(t.below.ps());
    above += static_cast<double>(t.above.ps()) * static_cast<double>(t.above.ps());
  }
  return {std::llround(std::sqrt(below)), std::llround(std::min(std::sqrt(above), 4e18))};
}

std::vector<BasisShare> bases_of_path(const Played& p, const std::vector<PathStep>& path) {
  std::array<std::int64_t, graph::kBasisCount> time{};
  std::int64_t sum = 0;
  for (const PathStep& s : path) {
    time[static_cast<std::size_t>(basis_of(p, s))] += s.end - s.begin;
    sum += s.end - s.begin;
  }
  std::vector<BasisShare> out;
  for (std::size_t b = 0; b < time.size(); ++b) {
    if (time[b] > 0)
      out.push_back({static_cast<graph::Basis>(b), static_cast<double>(time[b]) / static_cast<double>(sum)});
  }
  std::ranges::stable_sort(out, [](const BasisShare& a, const BasisShare& b) { return a.share > b.share; });
  return out;
}

}  // namespace distsim::report
