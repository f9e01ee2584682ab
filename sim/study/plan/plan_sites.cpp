#include "sim/study/plan/plan_sites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/system/signals.hpp"
#include "base/text/printable.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/config/variants.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/study/idle/key_values.hpp"
#include "sim/study/plan/layouts/layout_fit.hpp"
#include "sim/study/plan/settled_layout.hpp"
#include "sim/workload/llm/layer_by_layer/layer_by_layer.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::study {
namespace {

using workload::ParallelSpec;

constexpr std::string_view kLayoutSection = "parallel.";
constexpr std::string_view kLeftOpen = "automatic";
constexpr double kMostSites = 10'000;

/// A key of the section parallel that no search chooses: its own message.
Error not_chosen(const std::string& key) {
  static const Schema<ParallelSpec> schema = workload::parallel_schema();
  std::vector<std::string> names;
  for (const LayoutKey& known : layout_keys()) names.emplace_back(known.name);
  const std::string name = key.substr(kLayoutSection.size());
  const std::vector<std::string> all = schema.keys();
  if (std::ranges::find(all, name) != all.end())
    return {key + ": found a key that follows from the others, expected one that a layout is chosen by",
            "--vary " + key, ""};
  return {key + ": found an unknown key, expected a key of parallel", "--vary " + key, spelling_hint(name, names)};
}

Result<LayoutSite> site_of(config::Experiment e, const HeldValues& held, std::vector<std::string> values) {
  const bool plays_layers = std::exchange(e.framework.parallel.layer_by_layer, false);
  TRY_ASSIGN(const LayoutOffer offer, layout_offer_of(e.framework.name));
  const workload::ClusterShape shape = pipeline::shape_of(e);
  const std::int64_t batch = workload::samples_of(e.model, shape.ranks());
  if (batch <= 0) return Error{"model.global_batch: found none, expected the samples of an iteration", e.path, ""};
  workload::ParallelSpec own = settled_layout(e).value_or(e.model.parallel);
  LayoutSite site{e,
                  std::move(values),
                  LayoutSpace(e.model, e.framework, shape, batch, offer, held),
                  static_cast<double>(shape.ranks()),
                  static_cast<double>(batch),
                  plays_layers};
  if (agrees_with(held, own)) site.own = std::move(own);
  return site;
}

/// The layout with what the framework says of keys that are left to it. Its overlaps and its dispatch of experts are what
/// `automatic` is in any layout: they stay so.
workload::ParallelSpec by_framework_in(const config::Experiment& e) {
  workload::ParallelSpec out = settled_layout(e).value_or(e.model.parallel);
  if (out.shard == workload::StateSplit::automatic) out.shard = e.framework.parallel.shard;
  return out;
}

bool vary_batch(const std::vector<SweepAxis>& axes) {
  return std::ranges::any_of(axes, [](const SweepAxis& a) {
    return gives(a, "model.global_batch") || gives(a, "model.per_gpu_batch") || a.key == "model.name";
  });
}

/// Replicas follow from the other degrees: what the file says of them is of its own layout, what is set holds.
config::Experiment with_free_replicas(config::Experiment e, const std::vector<std::string>& sets) {
  if (!config::any_gives(sets, kReplicas)) e.model.parallel.data = 0;
  return e;
}

/// The global batch is that of the experiment as it is, also where the model gives it per GPU.
void keep_batch(config::Experiment& e, const config::Experiment& base, const std::vector<SweepAxis>& axes) {
  if (vary_batch(axes)) return;
  e.model.global_batch = workload::samples_of(base.model, pipeline::shape_of(base).ranks());
  e.model.per_gpu_batch = 0;
}

bool lacks_precision(const config::Experiment& e, pipeline::CostModelCache& cache) {
  const auto models = cache.models({e.cluster, e.device, pipeline::collective_options_of(e)});
  return !models || pipeline::precision_error(e, **models);
}

}  // namespace

bool is_held(const std::vector<std::string>& sets, const config::Experiment& e, const std::string& key) {
  if (config::any_gives(sets, key)) return true;
  const LayoutKey* layout = key.starts_with(kLayoutSection) ? find_layout_key(key) : nullptr;
  return layout != nullptr && layout->text(e.model.parallel) == kLeftOpen &&
         config::any_gives(sets, "framework." + key);
}

std::vector<std::string> with_set(std::vector<std::string> sets, const std::string& set) {
  const std::string key = set.substr(0, set.find('=') + 1);
  std::erase_if(sets, [&](const std::string& given) { return given.starts_with(key); });
  sets.push_back(set);
  return sets;
}

std::vector<std::string> sets_that_keep_batch(const config::Experiment& e, const config::Experiment& base,
                                              const std::vector<SweepAxis>& axes) {
  const std::int64_t batch = workload::samples_of(base.model, pipeline::shape_of(base).ranks());
  const bool kept = batch <= 0 || workload::samples_of(e.model, pipeline::shape_of(e).ranks()) == batch;
  if (kept || e.model.per_gpu_batch == 0 || vary_batch(axes)) return {};
  return {"model.global_batch=" + std::to_string(batch), "model.per_gpu_batch=0"};
}

Result<LayoutSite> own_site(const config::Experiment& experiment, const HeldValues& held,
                            const std::vector<std::string>& sets) {
  return site_of(with_free_replicas(experiment, sets), held, {});
}

double combinations_of(const std::vector<SweepAxis>& axes) {
  double product = 1;
  for (const SweepAxis& axis : axes) product *= static_cast<double>(axis.values.size());
  return product;
}

std::vector<std::string> sets_of_combination(const std::vector<SweepAxis>& axes, double index,
                                             std::vector<std::string>* values) {
  std::vector<std::string> sets(axes.size());
  if (values != nullptr) values->assign(axes.size(), "");
  for (std::size_t a = axes.size(); a-- > 0;) {
    const auto n = static_cast<double>(axes[a].values.size());
    const auto i = static_cast<std::size_t>(std::fmod(index, n));
    index = std::floor(index / n);
    sets[a] = axes[a].key + "=" + axes[a].values[i];
    if (values != nullptr) (*values)[a] = axes[a].values[i];
  }
  return sets;
}

Result<std::vector<SweepAxis>> with_gpus(const PlanRequest& request, const config::Experiment& e,
                                         std::vector<SweepAxis> axes) {
  if (request.gpus.empty()) return axes;
  for (const SweepAxis& axis : axes) {
    if (counts_gpus(axis) || axis.key == "cluster")  // which would replace the nodes
      return Error{"--gpus: found together with --vary " + printable(axis.key, 80) + ", expected one of them", "", ""};
  }
  SweepAxis nodes{"cluster.nodes", {}};
  for (const std::int64_t gpus : request.gpus) {
    if (gpus % e.cluster.gpus_per_node != 0)
      return Error{"--gpus: found " + std::to_string(gpus) + ", expected whole nodes of " +
                       std::to_string(e.cluster.gpus_per_node) + " GPUs",
                   "", ""};
    nodes.values.push_back(std::to_string(gpus / e.cluster.gpus_per_node));
  }
  axes.insert(axes.begin(), std::move(nodes));
  return axes;
}

Result<bool> chooses_layouts(const config::Experiment& e) {
  if (e.model.family->name != std::string_view("llm")) return false;
  TRY_ASSIGN(const LayoutOffer offer, layout_offer_of(e.framework.name));
  return offer.splits != OfferedSplits() || !is_layer_by_layer(e.model, e.framework, pipeline::shape_of(e).ranks());
}

HeldValues held_layout(const std::vector<std::string>& sets, const config::Experiment& experiment) {
  HeldValues out;
  for (const LayoutKey& key : layout_keys()) {
    const std::string name = std::string(kLayoutSection) + std::string(key.name);
    if (!is_held(sets, experiment, name)) continue;
    const bool by_framework = !config::any_gives(sets, name);
    out[key.name] = {by_framework ? by_framework_in(experiment) : experiment.model.parallel};
  }
  return out;
}

Result<PlanSites> plan_sites(const PlanRequest& request, const config::Experiment& experiment) {
  PlanSites out;
  out.held = held_layout(request.sets, experiment);
  for (const SweepAxis& axis : request.varied) {
    if (!axis.key.starts_with(kLayoutSection)) {
      out.axes.push_back(axis);
      continue;
    }
    const LayoutKey* key = find_layout_key(axis.key);
    if (key == nullptr) return not_chosen(axis.key);
    TRY_ASSIGN(out.held[key->name], read_layout_values(*key, axis.values));
  }
  TRY_ASSIGN(out.axes, with_gpus(request, experiment, std::move(out.axes)));
  const double count = combinations_of(out.axes);
  if (count > kMostSites)
    return Error{"--vary: found over 10000 combinations of keys besides the layout, expected fewer", "", ""};
  for (double i = 0; i < count; ++i) {
    std::vector<std::string> values, sets = request.sets;
    for (std::string& set : sets_of_combination(out.axes, i, &values)) sets.push_back(std::move(set));
    TRY_ASSIGN(config::Experiment e, request.with(sets));
    std::vector<std::string> batch = sets_that_keep_batch(e, experiment, out.axes);
    keep_batch(e, experiment, out.axes);
    TRY_ASSIGN(LayoutSite site, site_of(with_free_replicas(std::move(e), request.sets), out.held, std::move(values)));
    site.batch = std::move(batch);
    out.sites.push_back(std::move(site));
  }
  return out;
}

std::optional<std::size_t> site_as_it_is(const PlanSites& sites, const config::Experiment& experiment) {
  const auto holds = [&](const SweepAxis& axis, const std::string& value) {
    const Result<PathValue> parsed = config::parse_set(axis.key + "=" + value);
    return parsed.ok() && idle::repeats({parsed->path, &parsed->value}, experiment.merged);
  };
  for (std::size_t s = 0; s < sites.sites.size(); ++s) {
    std::size_t a = 0;
    while (a < sites.axes.size() && holds(sites.axes[a], sites.sites[s].values[a])) ++a;
    if (a == sites.axes.size()) return s;
  }
  return std::nullopt;
}

namespace {

/// Whether some layout of a site can be planned, whatever its memory, with these values held.
bool divides_with(const PlanSites& sites, const HeldValues& held) {
  return std::ranges::any_of(sites.sites, [&](const LayoutSite& of) {
    const auto site = site_of(of.experiment, held, {});
    if (!site) return false;
    const auto unfit = count_unfit(site->space);
    return (!unfit || unfit->unfit > 0) && !end_asked();
  });
}

}  // namespace

std::string keys_that_bar(const PlanSites& sites) {
  HeldValues held = sites.held;
  std::vector<std::string> barring;
  for (const auto& [key, values] : sites.held) {  // one that is enough alone
    HeldValues others = sites.held;
    others.erase(key);
    if (divides_with(sites, others)) return "parallel." + std::string(key);
  }
  if (!divides_with(sites, {})) return "";
  held.clear();
  for (const auto& [key, values] : sites.held) {
    held[key] = values;
    if (divides_with(sites, held)) continue;
    held.erase(key);
    barring.push_back("parallel." + std::string(key));
  }
  return fmt::format("{}", fmt::join(barring, ", "));
}

/// Interrupted, it is not known.
bool fits_somewhere(const LayoutSpace& space) { return !count_unfit(space) && !end_asked(); }

std::string change_that_fits(const PlanRequest& request, const config::Experiment& experiment, const PlanSites& sites,
                             pipeline::CostModelCache& cache) {
  for (const auto& [key, values] : sites.held) {
    HeldValues without = sites.held;
    without.erase(key);
    const auto site = own_site(experiment, without, request.sets);
    if (site && fits_somewhere(site->space))
      return "something fits where parallel." + std::string(key) + " is not held";
  }
  constexpr int kMostTimes = 64;
  for (int times = 2; times <= kMostTimes && request.gpus.empty(); times *= 2) {
    const std::int64_t nodes = experiment.cluster.nodes * times;
    const std::vector<std::string> sets = with_set(request.sets, "cluster.nodes=" + std::to_string(nodes));
    Result<config::Experiment> e = request.with(sets);
    if (!e) break;
    keep_batch(*e, experiment, {});
    const auto site = own_site(*e, sites.held, request.sets);
    if (site && fits_somewhere(site->space))
      return "something fits on " + std::to_string(nodes * experiment.cluster.gpus_per_node) +
             " GPUs: --set cluster.nodes=" + std::to_string(nodes);
  }
  for (const char* precision : {"bf16", "fp8"}) {
    const std::vector<std::string> sets = with_set(request.sets, std::string("model.precision=") + precision);
    const Result<config::Experiment> e = request.with(sets);
    if (!e || lacks_precision(*e, cache)) continue;
    const auto site = own_site(*e, sites.held, request.sets);
    if (site && fits_somewhere(site->space))
      return std::string("something fits with --set model.precision=") + precision;
  }
  return "";
}

}  // namespace distsim::study
