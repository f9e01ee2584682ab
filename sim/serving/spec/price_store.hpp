// Graphs and prices that are kept between readings of an experiment: a sweep, a sensitivity and the search for settings
// without effect read one again and again, with settings that change no layer.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/serving/pricing/graph_model.hpp"

namespace distsim::serving {

/// A price is the same whether it was kept or not. Files are read once, so a store lives no longer than a command. May be
/// used by several threads.
class PriceStore {
 public:
  using Layers = std::shared_ptr<const std::vector<PricedLayer>>;

  Result<GraphModel> graph(const std::string& path, workload::Precision precision) {
    const std::pair<std::string, workload::Precision> key{path, precision};
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = graphs_.find(key); at != graphs_.end()) return at->second;
    }
    TRY_ASSIGN(GraphModel read, GraphModel::read(path, precision));
    const std::lock_guard lock(mutex_);
    return graphs_.try_emplace(key, std::move(read)).first->second;
  }

  /// Null where none are kept under this name, which says all that they depend on.
  Layers find(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto at = layers_.find(name);
    return at == layers_.end() ? nullptr : at->second;
  }
  /// Names of layers are dropped.
  Layers keep(const std::string& name, std::vector<PricedLayer> layers) {
    for (PricedLayer& layer : layers) layer.name.clear();
    auto kept = std::make_shared<const std::vector<PricedLayer>>(std::move(layers));
    const std::lock_guard lock(mutex_);
    count_ += kept->size();
    if (count_ > kMost) {
      layers_.clear();
      count_ = kept->size();
    }
    return layers_.try_emplace(name, std::move(kept)).first->second;
  }

 private:
  static constexpr std::size_t kMost = 3'000'000;  ///< layers at all batches, 300 MB

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, workload::Precision>, GraphModel> graphs_;
  std::map<std::string, Layers> layers_;
  std::size_t count_ = 0;
};

}  // namespace distsim::serving
