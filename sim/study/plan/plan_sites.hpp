// The sites of a plan: the experiment with every combination of the keys that are varied besides the layout.
#pragma once

#include <optional>

#include "sim/study/plan/layouts/layout_search.hpp"
#include "sim/study/plan/plan.hpp"

namespace distsim::study {

/// Replicas of a layout: no search chooses them, and --set may hold them.
inline constexpr std::string_view kReplicas = "parallel.data";

struct PlanSites {
  std::vector<SweepAxis> axes;  ///< besides the layout
  HeldValues held;              ///< of the layout
  std::vector<LayoutSite> sites;
};

/// Of a language model. Errors: keys that are none, experiments that are not valid, layout keys that a search does not choose.
Result<PlanSites> plan_sites(const PlanRequest& request, const config::Experiment& experiment);

/// The number of the site that is the experiment as it is: its values say what holds without them. Nothing where none is.
std::optional<std::size_t> site_as_it_is(const PlanSites& sites, const config::Experiment& experiment);

/// A combination of `axes`, the first slowest, as --set takes it.
std::vector<std::string> sets_of_combination(const std::vector<SweepAxis>& axes, double index,
                                             std::vector<std::string>* values = nullptr);
double combinations_of(const std::vector<SweepAxis>& axes);

/// With the GPU counts of the request as one more axis. Errors: counts that are not whole nodes.
Result<std::vector<SweepAxis>> with_gpus(const PlanRequest& request, const config::Experiment& experiment,
                                         std::vector<SweepAxis> axes);

/// Whether what is set holds a key, so that nothing chooses it: it is set, in whatever notation, or it is a key of the layout
/// that the experiment leaves to the framework, of which it is set.
bool is_held(const std::vector<std::string>& sets, const config::Experiment& experiment, const std::string& key);

/// Overrides with one of them ("KEY=VALUE") in place of those of its key.
std::vector<std::string> with_set(std::vector<std::string> sets, const std::string& set);

/// Whether there is more to choose than of data parallel jobs: the experiment's model is split, or can be by its framework.
Result<bool> chooses_layouts(const config::Experiment& experiment);

/// The keys of the layout that what is set holds.
HeldValues held_layout(const std::vector<std::string>& sets, const config::Experiment& experiment);

/// Whether one of what is set ("KEY=VALUE") leaves out some of what a plan would otherwise choose from.
bool narrows_search(const PlanRequest& request, const config::Experiment& experiment, const std::string& set);

/// The layouts of the experiment as it is, on its GPUs and with its batch, whatever a request varies.
Result<LayoutSite> own_site(const config::Experiment& experiment, const HeldValues& held,
                            const std::vector<std::string>& sets);

/// What an experiment with a combination of `axes` needs besides, so that its global batch is that of `base`, which gives it
/// per GPU. Nothing where the axes vary the batch itself.
std::vector<std::string> sets_that_keep_batch(const config::Experiment& e, const config::Experiment& base,
                                              const std::vector<SweepAxis>& axes);

/// Whether some layout of the space fits on the GPUs.
bool fits_somewhere(const LayoutSpace& space);

/// The smallest change with which something fits: a pinned key let go, more GPUs, another precision. Empty where none was
/// found.
std::string change_that_fits(const PlanRequest& request, const config::Experiment& experiment, const PlanSites& sites,
                             pipeline::CostModelCache& cache);

/// Where no layout can be planned: pinned keys without which one could, none of them needlessly. Empty where it is not for them.
std::string keys_that_bar(const PlanSites& sites);

}  // namespace distsim::study
