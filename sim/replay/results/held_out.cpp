#include "sim/replay/results/held_out.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/median.hpp"
#include "traces/trace_steps.hpp"

namespace distsim::replay {
namespace {

/// Steps of a rank. Chosen: one to predict and two others, so that one odd step cannot be the only source.
constexpr std::uint32_t kFewestSteps = 3;
/// Ratio of a step's length to the typical one, either way, from which on it does not count. Chosen, not fitted.
constexpr double kUnlike = 1.5;
/// Steps that a prediction is averaged over, at most. Chosen, not fitted: clocks, caches and other users of a machine
/// drift, so that near steps tell more than many.
constexpr std::size_t kNearestSteps = 6;

/// What a node is, so that its counterparts in other steps can be found.
using NodeKind =
    std::array<std::uint32_t, 5>;  ///< rank, role, stream, name of the record (of a tail: what it leads to),
                                   ///< name of its op

std::int64_t mean(const std::vector<std::int64_t>& values) {
  // Each may be 10^18 ps, so that the sum of ten would not fit: quotients and remainders are added apart.
  const auto n = static_cast<std::int64_t>(values.size());
  std::int64_t quotients = 0, remainders = 0;
  for (const std::int64_t v : values) quotients += v / n, remainders += v % n;
  return quotients + remainders / n;
}

/// The middle of the shortest interval that holds more than half of the values. Where half of the steps stall, their
/// median lies between the two kinds (and on the other side for each); this lies among those that are alike.
std::int64_t middle_of_densest_half(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2 + 1;
  std::size_t best = 0;
  for (std::size_t i = 0; i + half <= values.size(); ++i) {
    if (values[i + half - 1] - values[i] < values[best + half - 1] - values[best]) best = i;
  }
  return values[best + half / 2];
}

class HeldOut {
 public:
  explicit HeldOut(const ReplayGraph& graph)
      : graph_(graph),
        costs_(measured_costs(graph)),
        step_of_(graph.nodes.size(), traces::kNone),
        kind_of_(graph.nodes.size()),
        place_(graph.nodes.size()) {
    sort_nodes();
  }

  Result<std::vector<StepResult>> run() {
    std::size_t most = 0;
    for (const ReplayRank& rank : graph_.ranks) most = std::max(most, rank.steps.size());
    std::vector<StepResult> out;
    for (std::uint32_t s = 0; s < most && most >= kFewestSteps; ++s) {
      TRY_ASSIGN(const ReplayTimes times, play(graph_, costs_without(s)));
      for (StepResult& r : step_results(graph_, times)) {
        if (r.step_index == s && r.measured > 0 && r.basis != StepBasis::window) out.push_back(std::move(r));
      }
    }
    return out;
  }

 private:
  /// By kind: for every step (by index) the nodes in order.
  using OfSteps = std::vector<std::vector<std::uint32_t>>;

  void sort_nodes() {
    for (const ReplayRank& rank : graph_.ranks) {
      for (std::uint32_t s = 0; s < rank.steps.size(); ++s) begins_.emplace(rank.steps[s].begin_mark, s);
    }
    std::map<NodeKind, std::uint32_t> kinds;
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      step_of_[n] = step_of(n);
      if (step_of_[n] == traces::kNone) continue;
      const auto [it, is_new] = kinds.emplace(kind_of(n), static_cast<std::uint32_t>(of_kind_.size()));
      if (is_new) of_kind_.emplace_back(graph_.ranks[graph_.nodes[n].rank].steps.size());
      kind_of_[n] = it->second;
      auto& nodes = of_kind_[it->second][step_of_[n]];
      place_[n] = static_cast<std::uint32_t>(nodes.size());
      nodes.push_back(n);
    }
  }

  /// What the host does up to a node that is the next of its stream: work that a mark ends comes right before it.
  enum class LeadsTo : std::uint32_t { begin, end, other };
  LeadsTo leads_to(std::uint32_t n) const {
    const bool to_mark = n + 1 < graph_.nodes.size() && graph_.nodes[n + 1].role == ReplayRole::mark;
    return !to_mark ? LeadsTo::other : begins_.contains(n + 1) ? LeadsTo::begin : LeadsTo::end;
  }

  /// A host node belongs to the step in whose time it started, a device node to that of its launch; the time between two
  /// steps to the first of them, that before all of them to none.
  std::uint32_t step_of(std::uint32_t n) const {
    const ReplayNode& node = graph_.nodes[n];
    if (node.role == ReplayRole::host_tail && leads_to(n) == LeadsTo::begin) {
      const std::uint32_t begun = begins_.at(n + 1);
      return begun == 0 ? traces::kNone : begun - 1;
    }
    const traces::TraceRank& rank = graph_.job->ranks[node.rank];
    std::int64_t at = node.measured_ns;
    if (is_of_device(node) && rank.device_records[node.record].launch != traces::kNone) {
      at = rank.host_records[rank.device_records[node.record].launch].start_ns;
    }
    const auto it = std::upper_bound(rank.steps.begin(), rank.steps.end(), at,
                                     [](std::int64_t t, const traces::TraceStep& s) { return t < s.start_ns; });
    if (it == rank.steps.begin()) return traces::kNone;
    const auto s = static_cast<std::uint32_t>(it - rank.steps.begin()) - 1;
    return s + 1 == rank.steps.size() && at >= rank.steps[s].end_ns ? traces::kNone : s;
  }

  static bool is_of_device(const ReplayNode& n) {
    return n.record != traces::kNone &&
           (n.role == ReplayRole::device || n.role == ReplayRole::gap || n.role == ReplayRole::delay);
  }

  /// The name of the op; of no annotation, which may be another in each step ("ProfilerStep#7").
  static std::uint32_t op_around(const traces::TraceRank& rank, std::uint32_t innermost) {
    while (innermost != traces::kNone && rank.host_records[innermost].kind == traces::HostKind::annotation)
      innermost = rank.host_records[innermost].parent;
    return innermost == traces::kNone ? traces::kNone : rank.host_records[innermost].name.value();
  }

  NodeKind kind_of(std::uint32_t n) const {
    const ReplayNode& node = graph_.nodes[n];
    NodeKind kind{node.rank, static_cast<std::uint32_t>(node.role), node.stream, traces::kNone, traces::kNone};
    if (node.role == ReplayRole::host_tail) kind[3] = static_cast<std::uint32_t>(leads_to(n));
    if (node.record == traces::kNone) return kind;
    const traces::TraceRank& rank = graph_.job->ranks[node.rank];
    if (is_of_device(node)) {
      const traces::DeviceRecord& d = rank.device_records[node.record];
      kind[3] = d.name.value();
      kind[4] = op_around(rank, d.op);
      return kind;
    }
    const traces::HostRecord& h = rank.host_records[node.record];
    kind[3] = h.name.value();
    kind[4] = op_around(rank, h.parent);
    return kind;
  }

  ReplayCosts costs_without(std::uint32_t step) {
    ReplayCosts costs = costs_;
    teachers_.clear();
    for (const ReplayRank& rank : graph_.ranks) {
      teachers_.push_back(rank.steps.empty() ? std::vector<bool>()
                                             : teachers(rank, graph_.job->ranks[teachers_.size()], step));
    }
    const std::vector<std::int64_t> of_role = role_medians();
    for (std::uint32_t n = 0; n < costs.size(); ++n) {
      if (step_of_[n] != step || graph_.ranks[graph_.nodes[n].rank].steps.size() < kFewestSteps) continue;
      costs[n] = cost_from_others(n, of_role);
    }
    return costs;
  }

  /// The nearest of the other steps, but for those that took kUnlike times as long as (or as short as) is typical of
  /// them, on the device or on the host: a warm-up, a checkpoint, a loader that fell behind.
  static std::vector<bool> teachers(const ReplayRank& rank, const traces::TraceRank& trace, std::uint32_t step) {
    std::vector<bool> out(rank.steps.size(), true);
    const auto held = static_cast<std::uint32_t>(std::min<std::size_t>(step, out.size() - 1));
    out[held] = false;
    drop_unlike(trace, step, length_on_device, out);
    drop_unlike(trace, step, length_on_host, out);
    keep_nearest(held, out);
    return out;
  }

  static void keep_nearest(std::uint32_t held, std::vector<bool>& out) {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t s = 0; s < out.size(); ++s) {
      if (out[s]) kept.push_back(s);
    }
    std::ranges::stable_sort(kept, {}, [held](std::uint32_t s) { return s < held ? held - s : s - held; });
    for (std::size_t i = kNearestSteps; i < kept.size(); ++i) out[kept[i]] = false;
  }

  static void drop_unlike(const traces::TraceRank& trace, std::uint32_t step,
                          std::int64_t (*length)(const traces::TraceRank&, std::uint32_t), std::vector<bool>& out) {
    std::vector<std::int64_t> lengths;
    for (std::uint32_t s = 0; s < out.size(); ++s) {
      if (s != step) lengths.push_back(length(trace, s));
    }
    if (lengths.empty()) return;
    const auto typical = static_cast<double>(middle_of_densest_half(std::move(lengths)));
    for (std::uint32_t s = 0; s < out.size(); ++s) {
      const auto l = static_cast<double>(length(trace, s));
      out[s] = out[s] && l <= kUnlike * typical && l * kUnlike >= typical;
    }
  }

  static std::int64_t length_on_host(const traces::TraceRank& trace, std::uint32_t s) {
    return trace.steps[s].end_ns - trace.steps[s].start_ns;
  }

  static std::int64_t length_on_device(const traces::TraceRank& trace, std::uint32_t s) {
    const bool has_next = s + 1 < trace.steps.size() && trace.steps[s].first_device_ns >= 0 &&
                          trace.steps[s + 1].first_device_ns >= 0 &&
                          traces::is_followed_by(trace.steps[s], trace.steps[s + 1]);
    return has_next ? trace.steps[s + 1].first_device_ns - trace.steps[s].first_device_ns : length_on_host(trace, s);
  }

  std::int64_t cost_from_others(std::uint32_t n, const std::vector<std::int64_t>& of_role) const {
    const OfSteps& steps = of_kind_[kind_of_[n]];
    const std::vector<bool>& teaches = teachers_[graph_.nodes[n].rank];
    std::vector<std::int64_t> counterparts;
    for (std::uint32_t s = 0; s < steps.size(); ++s) {
      if (teaches[s] && place_[n] < steps[s].size()) counterparts.push_back(costs_[steps[s][place_[n]]]);
    }
    return counterparts.empty() ? of_role[role_index(graph_.nodes[n])] : mean(counterparts);
  }

  static constexpr std::size_t kRoles = static_cast<std::size_t>(ReplayRole::mark) + 1;
  static std::size_t role_index(const ReplayNode& n) { return n.rank * kRoles + static_cast<std::size_t>(n.role); }

  /// Median cost of a role on a rank.
  std::vector<std::int64_t> role_medians() const {
    std::vector<std::vector<std::int64_t>> of_role(graph_.ranks.size() * kRoles);
    for (std::uint32_t n = 0; n < costs_.size(); ++n) {
      if (step_of_[n] != traces::kNone && teachers_[graph_.nodes[n].rank][step_of_[n]])
        of_role[role_index(graph_.nodes[n])].push_back(costs_[n]);
    }
    std::vector<std::int64_t> out;
    for (auto& costs : of_role) {
      out.push_back(costs.empty() ? 0 : upper_median(costs));
    }
    return out;
  }

  const ReplayGraph& graph_;
  const ReplayCosts costs_;
  std::map<std::uint32_t, std::uint32_t> begins_;  ///< mark that begins a step -> index of the step
  std::vector<std::uint32_t> step_of_, kind_of_, place_;
  std::vector<OfSteps> of_kind_;
  std::vector<std::vector<bool>> teachers_;  ///< by rank and step
};

}  // namespace

Result<std::vector<StepResult>> predict_held_out_steps(const ReplayGraph& graph) { return HeldOut(graph).run(); }

}  // namespace distsim::replay
