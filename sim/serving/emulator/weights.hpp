// Which models' weights each GPU holds. A GPU that needs room gives up the weights that were used longest ago.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/emulator/scenario.hpp"

namespace distsim::serving {

class Weights {
 public:
  explicit Weights(const Scenario& s)
      : scenario_(s), used_at_(s.gpus.size() * s.models.size(), kAbsent), free_(s.gpus.size()) {
    if (s.residency == Residency::cached) there_at_ps_.assign(used_at_.size(), 0);
    for (std::size_t g = 0; g < free_.size(); ++g) free_[g] = s.gpus[g].memory_bytes;
  }

  bool holds(std::uint32_t gpu, std::uint32_t model) const {
    return scenario_.residency == Residency::resident ||
           (scenario_.residency == Residency::cached && at(gpu, model) != kAbsent);
  }

  /// Makes a model resident for a use that begins now; true where its weights must be loaded. Weights that a piece of work
  /// uses at the moment may be given up too: they are read once a layer, and the room is needed only for the next.
  /// Precondition: the model fits the GPU.
  bool use(std::uint32_t gpu, std::uint32_t model) {
    if (scenario_.residency == Residency::resident) return false;
    if (scenario_.residency == Residency::streamed) return true;
    const bool absent = at(gpu, model) == kAbsent;
    at(gpu, model) = ++clock_;
    if (!absent) return false;
    free_[gpu] -= scenario_.models[model].weight_bytes;
    while (free_[gpu] < 0) evict_oldest(gpu);
    return true;
  }
  /// Weights that use() asked for are there at this time; until then others that use them wait, too.
  void loaded(std::uint32_t gpu, std::uint32_t model, std::int64_t at_ps) {
    if (!there_at_ps_.empty()) there_at_ps_[index(gpu, model)] = at_ps;
  }
  /// When the weights that a model was last loaded with were, or will be, there; 0: from the start.
  std::int64_t there_at_ps(std::uint32_t gpu, std::uint32_t model) const {
    return there_at_ps_.empty() ? 0 : there_at_ps_[index(gpu, model)];
  }
  std::uint64_t evictions() const { return evictions_; }

 private:
  static constexpr std::uint64_t kAbsent = 0;
  std::size_t index(std::uint32_t gpu, std::uint32_t model) const { return gpu * scenario_.models.size() + model; }
  std::uint64_t& at(std::uint32_t gpu, std::uint32_t model) { return used_at_[index(gpu, model)]; }
  const std::uint64_t& at(std::uint32_t gpu, std::uint32_t model) const { return used_at_[index(gpu, model)]; }
  void evict_oldest(std::uint32_t gpu) {
    std::uint32_t oldest = 0;
    std::uint64_t when = ~std::uint64_t{0};
    for (std::uint32_t m = 0; m < scenario_.models.size(); ++m) {
      if (at(gpu, m) == kAbsent || at(gpu, m) >= when) continue;
      oldest = m;
      when = at(gpu, m);
    }
    at(gpu, oldest) = kAbsent;
    free_[gpu] += scenario_.models[oldest].weight_bytes;
    ++evictions_;
  }

  const Scenario& scenario_;
  std::vector<std::uint64_t> used_at_;
  std::vector<std::int64_t> free_, there_at_ps_;
  std::uint64_t clock_ = 0, evictions_ = 0;
};

}  // namespace distsim::serving
