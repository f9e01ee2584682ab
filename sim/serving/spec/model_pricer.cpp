#include "sim/serving/spec/model_pricer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <set>
#include <thread>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/threads/side_by_side.hpp"
#include "sim/config/config.hpp"

namespace distsim::serving {
namespace {

constexpr double kMostSumPs = 1e18;  ///< of all layers for a batch: 10^6 s

std::string key_of_model(std::size_t model, const char* key) { return "models[" + std::to_string(model) + "]." + key; }
const std::string& table_name(const ModelTimesSpec& m) { return ModelPricer::name_in_tables(m); }
const std::string& table_name(const GpuSpec& g) { return ModelPricer::name_in_tables(g); }

/// What layer `l` keeps busy, as stated.
Demand stated_demand(const ModelTimesSpec& m, std::size_t l) {
  return {l < m.layer_sm_demands.size() ? m.layer_sm_demands[l] : m.sm_demand,
          l < m.layer_memory_demands.size() ? m.layer_memory_demands[l] : m.memory_demand, m.launch_demand};
}

}  // namespace

Result<ModelPricer> ModelPricer::create(const ServingSpec& spec, const Text& text, const DeviceTable& devices,
                                        PriceStore& prices) {
  ModelPricer out(spec, text, devices, prices);
  std::set<std::filesystem::path> read;
  for (std::size_t i = 0; i < spec.times.size(); ++i) {
    const std::string key = "times[" + std::to_string(i) + "]", path = text.path_of(key, spec.times[i]);
    std::error_code failed;
    if (!read.insert(std::filesystem::weakly_canonical(path, failed)).second)
      return text.refuse(key, "found " + in_quotes(spec.times[i]) + " twice, expected each file once");
    TRY(out.table_.read(path));
  }
  for (std::size_t i = 0; i < spec.models.size(); ++i) {
    const ModelTimesSpec& m = spec.models[i];
    if (m.graph.empty()) continue;
    TRY_ASSIGN(GraphModel graph, prices.graph(text.path_of(key_of_model(i, "graph"), m.graph), m.precision));
    out.graphs_.emplace(i, std::move(graph));
    if (m.framework.empty() || out.frameworks_.contains(m.framework)) continue;
    auto framework = config::load_framework(m.framework);
    if (!framework.ok())
      return text.refuse(key_of_model(i, "framework"), framework.error().what, framework.error().hint);
    out.frameworks_.emplace(m.framework, std::move(*framework));
  }
  return out;
}

bool ModelPricer::in_table(const ModelTimesSpec& m, const GpuSpec& g) const {
  return table_.has(table_name(m), table_name(g));
}

bool ModelPricer::prices(std::size_t model, const GpuSpec& g) const {
  const ModelTimesSpec& m = spec_->models[model];
  return !m.layer_times.empty() || in_table(m, g) || (!m.graph.empty() && !g.device.empty());
}

const GraphModel* ModelPricer::graph_of(std::size_t model) const {
  const auto at = graphs_.find(model);
  return at == graphs_.end() ? nullptr : &at->second;
}

std::uint32_t ModelPricer::largest_batch(std::size_t model) const {
  const ModelTimesSpec& m = spec_->models[model];
  if (m.max_batch > 0) return static_cast<std::uint32_t>(m.max_batch);
  std::uint32_t least = 4096;
  for (const GpuSpec& g : spec_->gpus) {
    if (in_table(m, g))
      least = std::min(least, table_.largest_batch(table_name(m), table_name(g)));
    else if (!m.layer_times.empty())
      least = 1;
    else if (prices(model, g))
      least = std::min(least, static_cast<std::uint32_t>(spec_->batching.size));
  }
  return least;
}

std::string ModelPricer::name_of_prices(std::size_t model, const GpuSpec& g, std::uint32_t batch) const {
  const ModelTimesSpec& m = spec_->models[model];
  return fmt::format("{}\n{}\n{}\n{}\n{} {} {:a}", text_->path_of(key_of_model(model, "graph"), m.graph),
                     workload::name_of(m.precision), devices_->source(g.device), m.framework, batch, m.fused,
                     devices_->idle_watts(g));
}

Result<PriceStore::Layers> ModelPricer::graph_layers(std::size_t model, const GpuSpec& g, std::uint32_t batch) const {
  const ModelTimesSpec& m = spec_->models[model];
  const GraphModel& graph = graphs_.at(model);
  if (graph.only_batch() > 0 && graph.only_batch() != batch)
    return text_->refuse(key_of_model(model, "max_batch"),
                         "found batch " + std::to_string(batch) + ", expected " + std::to_string(graph.only_batch()) +
                             ": the graph has the sizes of that batch only",
                         "capture it without --one-batch");
  const std::string name = name_of_prices(model, g, batch);
  if (PriceStore::Layers kept = prices_->find(name)) return kept;
  GraphOptions options{m.precision, m.fused, nullptr, devices_->idle_watts(g)};
  if (!m.framework.empty()) options.framework = &frameworks_.at(m.framework);
  auto layers = graph.price(devices_->prices(g.device), batch, options);
  if (!layers.ok()) return text_->refuse(key_of_model(model, "graph"), layers.error().what, layers.error().hint);
  return prices_->keep(name, std::move(*layers));
}

void ModelPricer::price_ahead(std::size_t model, const GpuSpec& g, std::uint32_t max_batch) const {
  const unsigned cores = std::min(std::thread::hardware_concurrency(), max_batch / 16);
  if (cores < 2 || prices_->find(name_of_prices(model, g, max_batch)) != nullptr) return;
  std::atomic<std::uint32_t> next{1};
  const auto price = [&] {
    for (std::uint32_t batch = next++; batch <= max_batch; batch = next++) {
      if (!graph_layers(model, g, batch).ok()) return;  // found again where they are asked for in turn
    }
  };
  side_by_side(cores, price);
}

Result<std::vector<PricedLayer>> ModelPricer::table_layers(std::size_t model, const GpuSpec& g,
                                                           std::uint32_t batch) const {
  const ModelTimesSpec& m = spec_->models[model];
  const auto times = table_.layers(table_name(m), table_name(g), batch);
  if (!times.ok()) return text_->refuse(key_of_model(model, "max_batch"), times.error().what);
  std::vector<PricedLayer> layers(times->size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].time_ps = (*times)[i];
    layers[i].demand = stated_demand(m, i);
  }
  return layers;
}

Result<PriceStore::Layers> ModelPricer::layers(std::size_t model, const GpuSpec& g, std::uint32_t batch) const {
  const ModelTimesSpec& m = spec_->models[model];
  if (m.layer_times.empty() && !in_table(m, g)) return graph_layers(model, g, batch);
  const auto once = [](std::vector<PricedLayer> layers) {
    return std::make_shared<const std::vector<PricedLayer>>(std::move(layers));
  };
  if (in_table(m, g)) {
    TRY_ASSIGN(std::vector<PricedLayer> measured, table_layers(model, g, batch));
    return once(std::move(measured));
  }
  std::vector<PricedLayer> layers(m.layer_times.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].time_ps = static_cast<double>(m.layer_times[i].ps()) * (1 + (batch - 1) * m.batch_cost);
    layers[i].demand = stated_demand(m, i);
  }
  return once(std::move(layers));
}

Result<ModelPricer::Times> ModelPricer::times(std::size_t model, const GpuSpec& g, std::uint32_t max_batch,
                                              std::uint32_t& layer_count) const {
  const ModelTimesSpec& m = spec_->models[model];
  const auto factor = g.time_factors.find(m.name);
  const double scale = (factor == g.time_factors.end() ? 1 : factor->second) / g.speed;
  const bool priced = m.layer_times.empty() && !in_table(m, g);
  const bool own_demands = priced || !m.layer_sm_demands.empty() || !m.layer_memory_demands.empty();
  Times out;
  if (priced) price_ahead(model, g, max_batch);
  for (std::uint32_t batch = 1; batch <= max_batch; ++batch) {
    TRY_ASSIGN(const PriceStore::Layers priced_layers, layers(model, g, batch));
    const std::vector<PricedLayer>& found = *priced_layers;
    if (layer_count == 0) layer_count = static_cast<std::uint32_t>(found.size());
    if (found.size() != layer_count)
      return text_->refuse(key_of_model(model, "name"),
                           "found " + counted(found.size(), "layer") + " of " + m.name + " on " + table_name(g) +
                               " at batch " + std::to_string(batch) + " and " + std::to_string(layer_count) +
                               " elsewhere, expected the same layers on every GPU");
    std::int64_t sum = 0;
    double joules = 0;
    out.sums.push_back(0);
    if (priced) out.joules.push_back(0);
    for (const PricedLayer& layer : found) {
      if (batch == 1) out.plain_ps += layer.time_ps / g.speed;
      const double time = layer.time_ps * scale;
      if (static_cast<double>(sum) + time > kMostSumPs)
        return text_->refuse(key_of_model(model, "name"), "found layers of " + printable(m.name, 80) +
                                                              " that take more than 1e6 s on " + printable(g.name, 80) +
                                                              " at batch " + std::to_string(batch) + ", expected less");
      sum += std::llround(time);
      out.sums.push_back(sum);
      if (own_demands) out.demands.push_back(layer.demand);
      if (priced) out.joules.push_back(joules += layer.joules);
    }
  }
  return out;
}

}  // namespace distsim::serving
