// What the layers of an experiment's models take: from a table, where one has them for the GPU; else stated, or priced from a
// graph.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/serving/pricing/graph_model.hpp"
#include "sim/serving/spec/compile.hpp"
#include "sim/serving/spec/price_store.hpp"

namespace distsim::serving {

class ModelPricer {
 public:
  /// Reads tables, graphs, devices and frameworks that the experiment names.
  static Result<ModelPricer> create(const ServingSpec& spec, const Text& text, const DeviceTable& devices,
                                    PriceStore& prices);

  /// Whether there are times of a model on the GPUs of a spec.
  bool prices(std::size_t model, const GpuSpec& g) const;
  std::uint32_t largest_batch(std::size_t model) const;
  /// Whether a table has a model's times for the GPUs of a spec.
  bool measured(std::size_t model, const GpuSpec& g) const { return in_table(spec_->models[model], g); }
  const TimesTable& table() const { return table_; }
  /// What tables call a model or GPUs: as stated, or by their names.
  static const std::string& name_in_tables(const ModelTimesSpec& m) {
    return m.table_name.empty() ? m.name : m.table_name;
  }
  static const std::string& name_in_tables(const GpuSpec& g) { return g.kind.empty() ? g.name : g.kind; }
  /// Null where the model is no graph.
  const GraphModel* graph_of(std::size_t model) const;

  /// Of all batches from 1 on, batch by batch, as Scenario keeps them.
  struct Times {
    std::vector<std::int64_t> sums;
    std::vector<Demand> demands;  ///< of layers that have their own; else empty
    std::vector<double> joules;   ///< of graphs; else empty
    double plain_ps = 0;          ///< all layers at batch 1, without the GPU's factors on single models
  };
  /// `layer_count`: 0, or what other GPUs have. Errors: another number of layers; a batch without times; an op that the
  /// device does not have. Precondition: prices.
  Result<Times> times(std::size_t model, const GpuSpec& g, std::uint32_t max_batch, std::uint32_t& layer_count) const;

 private:
  ModelPricer(const ServingSpec& spec, const Text& text, const DeviceTable& devices, PriceStore& prices)
      : spec_(&spec), text_(&text), devices_(&devices), prices_(&prices) {}
  bool in_table(const ModelTimesSpec& m, const GpuSpec& g) const;
  Result<PriceStore::Layers> layers(std::size_t model, const GpuSpec& g, std::uint32_t batch) const;
  Result<std::vector<PricedLayer>> table_layers(std::size_t model, const GpuSpec& g, std::uint32_t batch) const;
  Result<PriceStore::Layers> graph_layers(std::size_t model, const GpuSpec& g, std::uint32_t batch) const;
  /// All that the prices of a graph's layers depend on.
  std::string name_of_prices(std::size_t model, const GpuSpec& g, std::uint32_t batch) const;
  /// Many batches of a graph, on all cores.
  void price_ahead(std::size_t model, const GpuSpec& g, std::uint32_t max_batch) const;

  const ServingSpec* spec_;
  const Text* text_;
  const DeviceTable* devices_;
  PriceStore* prices_;
  TimesTable table_;
  std::map<std::size_t, GraphModel> graphs_;
  std::map<std::string, workload::FrameworkSpec> frameworks_;
};

}  // namespace distsim::serving
