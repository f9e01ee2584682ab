// Whether what is set leaves out some of what a plan would choose from.
#include <algorithm>

#include "base/system/signals.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/study/plan/plan_sites.hpp"

namespace distsim::study {
namespace {

/// Whether a space has a layout with another value of a key than those that are held. Interrupted, it is not known.
bool has_other_values(const LayoutSpace& space, const LayoutKey& key, const std::vector<workload::ParallelSpec>& held) {
  const auto is_other = [&](const workload::ParallelSpec& layout) {
    return std::ranges::none_of(held, [&](const auto& value) { return key.text(value) == key.text(layout); });
  };
  SpaceCounts counts;
  for (const workload::ParallelSpec& grid : space.grids(counts)) {
    for (const workload::ParallelSpec& shape : space.shapes(grid)) {
      if (end_asked()) return false;
      if (std::ranges::any_of(space.layouts(shape), is_other)) return true;
    }
  }
  return false;
}

bool narrows_layouts(const PlanRequest& request, const config::Experiment& experiment, const std::string& set) {
  const HeldValues held = held_layout(request.sets, experiment);
  return std::ranges::any_of(held, [&](const auto& entry) {
    const auto& [name, values] = entry;
    const std::string key = "parallel." + std::string(name);
    if (!config::gives(set, key) && !config::gives(set, "framework." + key)) return false;
    HeldValues others = held;
    others.erase(name);
    const Result<LayoutSite> site = own_site(experiment, others, request.sets);
    return site.ok() && has_other_values(site->space, *find_layout_key(name), values);
  });
}

}  // namespace

bool narrows_search(const PlanRequest& request, const config::Experiment& experiment, const std::string& set) {
  const Result<bool> layouts = chooses_layouts(experiment);
  if (!layouts) return false;
  if (*layouts) return narrows_layouts(request, experiment, set);
  if (!request.varied.empty()) return false;
  config::Experiment open = experiment;
  open.collectives.algorithms.clear();
  return std::ranges::any_of(data_parallel_axes(open, {}, request.gpus), [&](const SweepAxis& axis) {
    return config::gives(set, axis.key) && axis.values.size() > 1;
  });
}

}  // namespace distsim::study
