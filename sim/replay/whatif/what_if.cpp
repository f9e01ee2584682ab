#include "sim/replay/whatif/what_if.hpp"

#include <cmath>

#include "base/text/counted.hpp"
#include "sim/replay/whatif/device_ratio.hpp"
#include "sim/replay/whatif/kernel_edits.hpp"

namespace distsim::replay {
namespace {

/// "3 scaled by ratio, 1 kept": what happened to how many; cases of none are left out.
std::string tally(std::initializer_list<std::pair<std::uint64_t, std::string_view>> cases) {
  std::string out;
  for (const auto& [n, what] : cases) {
    if (n > 0) out += (out.empty() ? "" : ", ") + std::to_string(n) + " " + std::string(what);
  }
  return out.empty() ? "none found" : out;
}

std::string unknown_members(std::uint64_t groups) {
  return groups == 0 ? "" : "; members of " + counted(groups, "group") + " are not known: taken as neighbours";
}

std::string factor(double f) {
  std::string text = std::to_string(f);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

/// As far as times are scaled by it.
bool same_device(const topology::DeviceSpec& a, const topology::DeviceSpec& b) {
  return a.name == b.name && a.peak == b.peak && a.hbm.bandwidth == b.hbm.bandwidth &&
         a.l2.bandwidth == b.l2.bandwidth && a.l2.capacity == b.l2.capacity && a.clock.boost == b.clock.boost &&
         a.clock.light_share() == b.clock.light_share() &&
         topology::clock_under_load(a) == topology::clock_under_load(b) && a.sm_count == b.sm_count &&
         a.pcie_bandwidth == b.pcie_bandwidth && a.launch.kernel_floor == b.launch.kernel_floor;
}

class Changer {
 public:
  Changer(const WhatIf& what_if, const ReplayGraph& graph) : w_(what_if), out_{graph, measured_costs(graph), {}} {}

  Result<Changed> run() && {
    if (w_.to_device && w_.from_device && !same_device(w_.from_device->device(), w_.to_device->device()))
      scale_device();
    if (w_.batch_scale != 1) scale_batch();
    if (w_.host_scale != 1) scale_host();
    if (w_.to_network.topology) TRY(scale_collectives());
    if (!w_.remove.empty() || !w_.fuse.empty()) TRY(edit());
    return std::move(out_);
  }

 private:
  const traces::TraceRank& rank_of(const ReplayNode& n) const { return out_.graph.job->ranks[n.rank]; }

  /// Calls visit(node, record, cost) for each kernel and copy.
  template <class Visit>
  void for_each_kernel(Visit visit) {
    for (std::uint32_t n = 0; n < out_.graph.nodes.size(); ++n) {
      const ReplayNode& node = out_.graph.nodes[n];
      if (node.role == ReplayRole::device) visit(node, rank_of(node).device_records[node.record], out_.costs[n]);
    }
  }

  void scale_device() {
    DeviceRatio ratio(*w_.from_device, *w_.to_device);
    for_each_kernel([&](const ReplayNode& n, const traces::DeviceRecord& r, std::int64_t& cost) {
      cost = ratio.scaled(*out_.graph.job, rank_of(n), r, cost);
    });
    out_.changes.push_back("kernels scaled from " + w_.from_device->device().name + " to " +
                           w_.to_device->device().name + " by predicted ratio: " +
                           tally({{ratio.by_shape(), "by shape"},
                                  {ratio.by_peak(), "by peak rate (no product of a recorded shape)"},
                                  {ratio.by_memory(), "by memory bandwidth"}}) +
                           "; basis: scaled");
  }

  /// Kernels grow with the samples above the shortest time that a kernel takes; those of the optimizer do not.
  void scale_batch() {
    const std::int64_t floor =
        w_.from_device ? w_.from_device->device().launch.kernel_floor.ps() : topology::DeviceLaunch{}.kernel_floor.ps();
    std::uint64_t scaled = 0, kept = 0;
    for_each_kernel([&](const ReplayNode& n, const traces::DeviceRecord& r, std::int64_t& cost) {
      if (r.communication || r.collective != traces::kNone) return;
      if (is_optimizer_work(*out_.graph.job, rank_of(n), r)) {
        ++kept;
        return;
      }
      cost = std::min(cost, floor) +
             std::llround(static_cast<double>(std::max<std::int64_t>(0, cost - floor)) * w_.batch_scale);
      ++scaled;
    });
    out_.changes.push_back("batch x" + factor(w_.batch_scale) + ": " +
                           counted(scaled, "kernel or copy", "kernels and copies") +
                           " scaled by that factor above the minimum kernel time" +
                           (kept > 0 ? ", " + std::to_string(kept) + " of the optimizer unchanged" : ""));
  }

  void scale_host() {
    for (std::uint32_t n = 0; n < out_.graph.nodes.size(); ++n) {
      const ReplayRole role = out_.graph.nodes[n].role;
      const bool host = role == ReplayRole::host_work || role == ReplayRole::host_call ||
                        role == ReplayRole::host_tail || role == ReplayRole::host_resume;
      if (host) out_.costs[n] = std::llround(static_cast<double>(out_.costs[n]) * w_.host_scale);
    }
    out_.changes.push_back("host time x" + factor(w_.host_scale));
  }

  Result<void> scale_collectives() {
    CollectiveRatio ratio(*out_.graph.job, w_.from_network, w_.to_network,
                          {w_.from_ranks, w_.to_ranks, w_.batch_scale});
    Error error;
    for_each_kernel([&](const ReplayNode& n, const traces::DeviceRecord& r, std::int64_t& cost) {
      if (r.collective == traces::kNone) return;
      auto scaled = ratio.scaled(rank_of(n).collectives[r.collective], cost, n.match != traces::kNone);
      if (scaled)
        cost = *scaled;
      else
        error = scaled.error();
    });
    if (!error.what.empty()) return error;
    out_.changes.push_back(
        "collectives of " + counted(w_.from_ranks, "rank") + " on " + counted(w_.to_ranks, "rank") + " of " +
        w_.to_network.topology->spec().name + ": " +
        tally({{ratio.by_ratio(), "scaled by predicted ratio"},
               {ratio.by_prediction(), "predicted directly (the system of the trace is unknown; see --measured-on)"},
               {ratio.inferred(), "with a size inferred from the measured time"},
               {ratio.kept(), "kept as measured (kind or size not recorded)"},
               {ratio.of_unknown_ranks(), "kept as measured (how many ranks took part is not recorded)"},
               {ratio.of_no_size(), "kept as measured (size not recorded, and no size takes the measured time)"}}) +
        unknown_members(ratio.guessed_groups()));
    return {};
  }

  Result<void> edit() {
    TRY_ASSIGN(const KernelEdits edits, edit_kernels(w_.remove, w_.fuse, out_.graph, out_.costs));
    if (!w_.remove.empty())
      out_.changes.push_back(counted(edits.removed, "kernel") + " removed, with " +
                             std::string(agreeing(edits.removed, "its launch", "their launches")) +
                             "; the framework's time around the launch calls is kept");
    if (!w_.fuse.empty())
      out_.changes.push_back(counted(edits.fused, "kernel") +
                             " fused: adjacent ones of a step on a stream, where no other stream or thread waits in "
                             "between, become one that takes as long as the longest of them");
    return {};
  }

  const WhatIf& w_;
  Changed out_;
};

}  // namespace

bool changes_nothing(const WhatIf& w) {
  return !w.to_device && !w.to_network.topology && w.host_scale == 1 && w.batch_scale == 1 && w.remove.empty() &&
         w.fuse.empty();
}

Result<Changed> apply(const WhatIf& what_if, const ReplayGraph& graph) { return Changer(what_if, graph).run(); }

}  // namespace distsim::replay
