#include <algorithm>
#include <cmath>
#include <set>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/text/spelling.hpp"
#include "sim/serving/spec/compile.hpp"

namespace distsim::serving {
namespace {

constexpr double kMostPs = 1e16;  ///< of one layer: 10^4 s

/// Times of one model on one kind of GPU.
class ModelPricer {
 public:
  ModelPricer(const ServingSpec& spec, const TimesTable& table, const Text& text)
      : spec_(spec), table_(table), text_(text) {}

  static const std::string& table_name(const ModelTimesSpec& m) { return m.table_name.empty() ? m.name : m.table_name; }
  static const std::string& table_name(const GpuSpec& g) { return g.kind.empty() ? g.name : g.kind; }

  bool prices(const ModelTimesSpec& m, const GpuSpec& g) const {
    return !m.layer_times.empty() || table_.has(table_name(m), table_name(g));
  }
  std::uint32_t largest_batch(const ModelTimesSpec& m) const {
    if (m.max_batch > 0) return static_cast<std::uint32_t>(m.max_batch);
    if (!m.layer_times.empty()) return 1;
    std::uint32_t least = 4096;
    for (const GpuSpec& g : spec_.gpus) {
      if (prices(m, g)) least = std::min(least, table_.largest_batch(table_name(m), table_name(g)));
    }
    return least;
  }

  /// Picoseconds of each layer without speed and factors.
  Result<std::vector<double>> layers(std::size_t model, const GpuSpec& g, std::uint32_t batch) const {
    const ModelTimesSpec& m = spec_.models[model];
    if (!m.layer_times.empty()) {
      std::vector<double> times;
      for (const Duration d : m.layer_times)
        times.push_back(static_cast<double>(d.ps()) * (1 + (batch - 1) * m.batch_cost));
      return times;
    }
    auto times = table_.layers(table_name(m), table_name(g), batch);
    if (times.ok()) return times;
    return text_.refuse("models[" + std::to_string(model) + "].max_batch", times.error().what);
  }

  Result<std::vector<std::int64_t>> sums(std::size_t model, const GpuSpec& g, std::uint32_t max_batch,
                                         std::uint32_t& layer_count) const {
    const ModelTimesSpec& m = spec_.models[model];
    const auto factor = g.time_factors.find(m.name);
    const double scale = (factor == g.time_factors.end() ? 1 : factor->second) / g.speed;
    std::vector<std::int64_t> out;
    for (std::uint32_t batch = 1; batch <= max_batch; ++batch) {
      TRY_ASSIGN(const std::vector<double> times, layers(model, g, batch));
      if (layer_count == 0) layer_count = static_cast<std::uint32_t>(times.size());
      if (times.size() != layer_count)
        return text_.refuse("models[" + std::to_string(model) + "].name",
                            "found " + counted(times.size(), "layer") + " of " + m.name + " on " + table_name(g) +
                                " at batch " + std::to_string(batch) + " and " + std::to_string(layer_count) +
                                " elsewhere, expected the same layers on every GPU");
      std::int64_t sum = 0;
      out.push_back(0);
      for (const double time : times) {
        sum += std::llround(std::min(time * scale, kMostPs));
        out.push_back(sum);
      }
    }
    return out;
  }

 private:
  const ServingSpec& spec_;
  const TimesTable& table_;
  const Text& text_;
};

Model model_of(const ModelTimesSpec& spec, std::uint32_t max_batch) {
  Model m;
  m.name = spec.name;
  m.max_batch = max_batch;
  m.weight_bytes = spec.weights.value();
  m.input_bytes = spec.input.value();
  m.output_bytes = spec.output.value();
  m.state_bytes = spec.state.value();
  m.deadline_ps = spec.deadline.ps() > 0 ? spec.deadline.ps() : kNever;
  m.priority = static_cast<std::int32_t>(spec.priority);
  m.weight = spec.weight;
  m.variation = spec.variation;
  m.cv = spec.cv;
  m.sm_demand = spec.sm_demand;
  m.memory_demand = spec.memory_demand;
  m.cells = spec.cells;
  return m;
}

Result<TimesTable> read_times(const ServingSpec& spec, const Text& text) {
  TimesTable table;
  for (std::size_t i = 0; i < spec.times.size(); ++i)
    TRY(table.read(text.path_of("times[" + std::to_string(i) + "]", spec.times[i])));
  return table;
}

/// Numbers of the GPUs that a model is placed on.
Result<std::vector<std::uint32_t>> placement(const ServingSpec& spec, std::size_t model, const Text& text,
                                             const Scenario& s) {
  std::vector<std::uint32_t> out;
  std::vector<std::string> names;
  for (const Gpu& gpu : s.gpus) names.push_back(gpu.name);
  const std::vector<std::string>& places = spec.models[model].placed_on;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto found = std::ranges::find(names, places[i]);
    const std::string key = "models[" + std::to_string(model) + "].placed_on[" + std::to_string(i) + "]";
    if (found == names.end())
      return text.refuse(key, "found " + in_quotes(places[i]) + ", expected the name of a GPU",
                         spelling_hint(places[i], names));
    const auto gpu = static_cast<std::uint32_t>(found - names.begin());
    if (!s.runs_on(s.gpus[gpu].kind, static_cast<std::uint32_t>(model)))
      return text.refuse(key, "found " + in_quotes(places[i]) + ", expected a GPU that there are times of " +
                                  spec.models[model].name + " for");
    out.push_back(gpu);
  }
  return out;
}

/// Weights must fit: all that are placed on a GPU, or one at a time.
Result<void> check_memory(std::size_t model, const Text& text, const Scenario& s,
                          const std::vector<std::uint32_t>& places) {
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
      if (placed && s.runs_on(s.gpus[g].kind, m)) sum += static_cast<double>(s.models[m].weight_bytes);
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
    if (pricer.prices(spec.models[index], g)) {
      TRY_ASSIGN(std::vector<std::int64_t> sums, pricer.sums(index, g, model.max_batch, model.layers));
      TRY_ASSIGN(const std::vector<double> plain, pricer.layers(index, g, 1));
      for (const double time : plain) size += time / g.speed;
      ++kinds;
      if (spec.models[index].deadline_factor > 0 && model.deadline_ps == kNever)
        model.deadline_ps = std::llround(
            std::min(spec.models[index].deadline_factor * static_cast<double>(sums[model.layers]), kMostPs));
      out.set_times(kind, static_cast<std::uint32_t>(index), std::move(sums));
    }
    ++kind;
  }
  if (kinds == 0)
    return text.refuse("models[" + std::to_string(index) + "].name",
                       "found " + in_quotes(spec.models[index].name) +
                           " without times for any GPU, expected layer_times, or rows of it in a file of `times`");
  model.size_ps = std::llround(size / kinds);
  return {};
}

}  // namespace

Result<void> add_models(const ServingSpec& spec, const Text& text, Scenario& out, PolicyOptions& policy_options) {
  TRY(check_names(spec, text));
  TRY_ASSIGN(const TimesTable table, read_times(spec, text));
  const ModelPricer pricer(spec, table, text);
  for (const ModelTimesSpec& m : spec.models) out.models.push_back(model_of(m, pricer.largest_batch(m)));
  for (std::size_t i = 0; i < spec.models.size(); ++i) TRY(add_times(spec, i, pricer, text, out));
  for (std::size_t i = 0; i < spec.models.size(); ++i) {
    TRY_ASSIGN(std::vector<std::uint32_t> places, placement(spec, i, text, out));
    TRY(check_memory(i, text, out, places));
    policy_options.placement.push_back(std::move(places));
  }
  return check_resident(text, out, policy_options);
}

}  // namespace distsim::serving
