#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/text/counted.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "sim/serving/emulator/gpus/stream_plan.hpp"
#include "sim/serving/spec/compile.hpp"
#include "sim/serving/spec/model_pricer.hpp"

namespace distsim::serving {
namespace {

constexpr double kMostPs = 1e17;  ///< of a deadline: 10^5 s, as where it is stated

/// What an experiment states, and where it states nothing what the graph has.
Model model_of(const ModelTimesSpec& spec, std::uint32_t max_batch, const GraphModel* graph) {
  const auto bytes = [](std::optional<Bytes> stated, std::int64_t otherwise) {
    return stated ? stated->value() : otherwise;
  };
  Model m;
  m.name = spec.name;
  m.max_batch = max_batch;
  m.weight_bytes = bytes(spec.weights, graph != nullptr ? graph->weight_bytes() : 0);
  m.input_bytes = bytes(spec.input, graph != nullptr ? graph->input_bytes() : 0);
  m.output_bytes = bytes(spec.output, graph != nullptr ? graph->output_bytes() : 0);
  m.state_bytes = bytes(spec.state, 0);
  if (graph != nullptr && !spec.state) m.state_after = graph->state_after();
  m.deadline_ps = spec.deadline.ps() > 0 ? spec.deadline.ps() : kNever;
  m.priority = static_cast<std::int32_t>(spec.priority);
  m.weight = spec.weight;
  m.variation = spec.variation;
  m.cv = spec.cv;
  m.demand = {spec.sm_demand, spec.memory_demand, spec.launch_demand};
  m.sm_limit = spec.sm_limit;
  m.cells = spec.cells;
  m.refused = spec.refused;
  return m;
}

/// Numbers of the GPUs that a name of placed_on means: one GPU, or all of an entry of gpus.
std::vector<std::uint32_t> gpus_named(const ServingSpec& spec, const Scenario& s, const std::string& name) {
  std::vector<std::uint32_t> out;
  std::uint32_t first = 0;
  for (const GpuSpec& g : spec.gpus) {
    const auto count = static_cast<std::uint32_t>(g.count);
    for (std::uint32_t i = first; i < first + count; ++i) {
      if (g.name == name || s.gpus[i].name == name) out.push_back(i);
    }
    first += count;
  }
  return out;
}

/// Numbers of the GPUs that a model is placed on.
Result<std::vector<std::uint32_t>> placement(const ServingSpec& spec, std::size_t model, const Text& text,
                                             const Scenario& s) {
  std::vector<std::uint32_t> out;
  const std::vector<std::string>& places = spec.models[model].placed_on;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string key = "models[" + std::to_string(model) + "].placed_on[" + std::to_string(i) + "]";
    const std::vector<std::uint32_t> named = gpus_named(spec, s, places[i]);
    if (named.empty()) {
      std::vector<std::string> names;
      for (const Gpu& gpu : s.gpus) names.push_back(gpu.name);
      return text.refuse(key, "found " + in_quotes(places[i]) + ", expected the name of a GPU",
                         spelling_hint(places[i], names));
    }
    for (const std::uint32_t gpu : named) {
      if (std::ranges::find(out, gpu) != out.end())
        return text.refuse(key, "found " + in_quotes(s.gpus[gpu].name) + " twice, expected each GPU once");
      if (!s.runs_on(s.gpus[gpu].kind, static_cast<std::uint32_t>(model)))
        return text.refuse(key, "found " + in_quotes(places[i]) + ", expected a GPU that there are times of " +
                                    spec.models[model].name + " for");
      out.push_back(gpu);
    }
  }
  return out;
}

/// Which layers need which: as stated, or as in the graph of calls.
Result<void> add_graph(const ModelTimesSpec& spec, std::size_t index, const GraphModel* graph, const Text& text,
                       Model& model) {
  if (graph != nullptr) {
    model.graph = LayerGraph(graph->needs());
    return {};
  }
  if (spec.after.empty()) return {};
  if (spec.after.size() != model.layers)
    return text.refuse("models[" + std::to_string(index) + "].after",
                       "found " + counted(spec.after.size(), "value") + ", expected one for each of the " +
                           counted(model.layers, "layer") + " of " + model.name);
  std::vector<std::vector<LayerGraph::Need>> needs(spec.after.size());
  for (std::size_t l = 0; l < needs.size(); ++l) {
    for (const std::uint32_t layer : spec.after[l]) needs[l].push_back({layer, model.state_bytes});
  }
  model.graph = LayerGraph(std::move(needs));
  return {};
}

/// Weights must fit: all that are placed on a GPU, or one at a time.
Result<void> check_memory(std::size_t model, const Text& text, const Scenario& s,
                          const std::vector<std::uint32_t>& places) {
  if (s.models[model].refused) return {};
  for (std::uint32_t g = 0; g < s.gpus.size(); ++g) {
    const bool placed = places.empty() || std::ranges::find(places, g) != places.end();
    if (!placed || !s.runs_on(s.gpus[g].kind, static_cast<std::uint32_t>(model)) ||
        s.models[model].weight_bytes <= s.gpus[g].memory_bytes)
      continue;
    return text.refuse("models[" + std::to_string(model) + "].weights",
                       "found " + format_quantity(static_cast<double>(s.models[model].weight_bytes), Dimension::bytes) +
                           ", expected at most the " +
                           format_quantity(static_cast<double>(s.gpus[g].memory_bytes), Dimension::bytes) + " of " +
                           s.gpus[g].name,
                       "name other GPUs in placed_on");
  }
  return {};
}

Result<void> check_resident(const Text& text, const Scenario& s, const PolicyOptions& options) {
  if (s.residency != Residency::resident) return {};
  for (std::uint32_t g = 0; g < s.gpus.size(); ++g) {
    double sum = 0;
    for (std::uint32_t m = 0; m < s.models.size(); ++m) {
      const auto& places = options.placement[m];
      const bool placed = places.empty() || std::ranges::find(places, g) != places.end();
      if (placed && !s.models[m].refused && s.runs_on(s.gpus[g].kind, m))
        sum += static_cast<double>(s.models[m].weight_bytes);
    }
    if (sum > static_cast<double>(s.gpus[g].memory_bytes))
      return text.refuse("residency",
                         "found resident with weights of " + format_quantity(sum, Dimension::bytes) + " on " +
                             s.gpus[g].name + ", expected at most its " +
                             format_quantity(static_cast<double>(s.gpus[g].memory_bytes), Dimension::bytes),
                         "residency: cached loads weights when they are needed");
  }
  return {};
}

Result<void> check_factors(const ServingSpec& spec, const Text& text) {
  std::vector<std::string> names;
  for (const ModelTimesSpec& m : spec.models) names.push_back(m.name);
  for (std::size_t g = 0; g < spec.gpus.size(); ++g) {
    for (const auto& [name, factor] : spec.gpus[g].time_factors) {
      if (std::ranges::find(names, name) == names.end())
        return text.refuse("gpus[" + std::to_string(g) + "].time_factors." + name,
                           "found " + in_quotes(name) + ", expected a model of the experiment",
                           spelling_hint(name, names));
    }
  }
  return {};
}

Result<void> check_names(const ServingSpec& spec, const Text& text) {
  std::set<std::string> names;
  double weight = 0;
  for (std::size_t i = 0; i < spec.models.size(); ++i) {
    if (!names.insert(spec.models[i].name).second)
      return text.refuse("models[" + std::to_string(i) + "].name",
                         "found " + in_quotes(spec.models[i].name) + " twice, expected each model's name once");
    if (spec.models[i].name == "all")
      return text.refuse("models[" + std::to_string(i) + "].name",
                         "found 'all', expected another name: results have a row of that name for all models");
    weight += spec.models[i].weight;
  }
  if (spec.models.empty()) return text.refuse("models", "found an empty list, expected at least one model");
  if (weight <= 0) return text.refuse("models", "found only weights of 0, expected one above 0");
  return check_factors(spec, text);
}

/// The model's times on all kinds of GPU. Kinds are in the order of the GPUs' specs.
Result<void> add_times(const ServingSpec& spec, std::size_t index, const ModelPricer& pricer, const Text& text,
                       Scenario& out) {
  Model& model = out.models[index];
  double size = 0;
  int kinds = 0;
  std::uint32_t kind = 0;
  std::set<std::string> seen;
  for (const GpuSpec& g : spec.gpus) {
    if (!seen.insert(g.name).second) continue;
    if (pricer.prices(index, g)) {
      TRY_ASSIGN(ModelPricer::Times times, pricer.times(index, g, model.max_batch, model.layers));
      size += times.plain_ps;
      ++kinds;
      if (spec.models[index].deadline_factor > 0 && model.deadline_ps == kNever)
        model.deadline_ps = std::llround(
            std::min(spec.models[index].deadline_factor * static_cast<double>(times.sums[model.layers]), kMostPs));
      out.set_times(kind, static_cast<std::uint32_t>(index), std::move(times.sums));
      if (!times.demands.empty())
        out.set_uses(kind, static_cast<std::uint32_t>(index), std::move(times.demands), std::move(times.joules));
    }
    ++kind;
  }
  if (kinds == 0)
    return text.refuse(
        "models[" + std::to_string(index) + "].name",
        "found " + in_quotes(spec.models[index].name) +
            " without times for any GPU, expected layer_times, rows of it in a file of `times`, or graph and a GPU with a device");
  model.size_ps = std::llround(size / kinds);
  return {};
}

void plan_all_streams(const ServingSpec& spec, std::uint32_t model, Scenario& out) {
  std::uint32_t kind = 0;
  std::set<std::string> seen;
  for (const GpuSpec& g : spec.gpus) {
    if (!seen.insert(g.name).second) continue;
    if (out.runs_on(kind, model)) plan_streams(out, kind, model, static_cast<std::uint32_t>(g.streams));
    ++kind;
  }
}

}  // namespace

Result<void> add_models(const ServingSpec& spec, const Text& text, const ModelPricer& pricer, Scenario& out,
                        PolicyOptions& policy_options) {
  TRY(check_names(spec, text));
  for (std::size_t i = 0; i < spec.models.size(); ++i)
    out.models.push_back(model_of(spec.models[i], pricer.largest_batch(i), pricer.graph_of(i)));
  for (std::size_t i = 0; i < spec.models.size(); ++i) {
    TRY(add_times(spec, i, pricer, text, out));
    TRY(add_graph(spec.models[i], i, pricer.graph_of(i), text, out.models[i]));
    plan_all_streams(spec, static_cast<std::uint32_t>(i), out);
  }
  for (std::size_t i = 0; i < spec.models.size(); ++i) {
    TRY_ASSIGN(std::vector<std::uint32_t> places, placement(spec, i, text, out));
    TRY(check_memory(i, text, out, places));
    policy_options.placement.push_back(std::move(places));
  }
  return check_resident(text, out, policy_options);
}

}  // namespace distsim::serving
