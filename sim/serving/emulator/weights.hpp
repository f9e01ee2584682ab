// Which models' weights each GPU holds. A GPU that needs room gives up the weights that were used longest ago, of those that
// no piece of work on it uses or loads; where these do not suffice, what needs the room waits for the end of such a piece. What
// has no weights is there from the start.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/emulator/scenario.hpp"

namespace distsim::serving {

class Weights {
 public:
  explicit Weights(const Scenario& s)
      : scenario_(s), used_at_(s.gpus.size() * s.models.size(), kAbsent), users_(used_at_.size(), 0) {
    if (s.residency == Residency::cached) there_at_ps_.assign(used_at_.size(), 0);
    for (const Gpu& gpu : s.gpus) free_.push_back(gpu.memory_bytes);
    unused_ = free_;
  }

  bool holds(std::uint32_t gpu, std::uint32_t model) const {
    return !comes(model) || (scenario_.residency == Residency::cached && at(gpu, model) != kAbsent);
  }

  enum class Use : std::uint8_t {
    there,  ///< or on their way
    load,   ///< room is made, and they must be loaded
    wait,   ///< there is no room before another piece of work has ended
  };
  /// Keeps a model's weights on a GPU for a piece of work that begins now, until release(); not where the answer is to wait.
  /// Precondition: the model fits the GPU.
  Use use(std::uint32_t gpu, std::uint32_t model) {
    if (!comes(model)) return Use::there;
    const std::int64_t bytes = scenario_.models[model].weight_bytes;
    const bool streamed = scenario_.residency == Residency::streamed;
    const bool absent = streamed || at(gpu, model) == kAbsent;
    if (absent && bytes > unused_[gpu]) return Use::wait;
    if (streamed || users_[index(gpu, model)]++ == 0) unused_[gpu] -= bytes;
    at(gpu, model) = streamed ? kAbsent : ++clock_;
    if (!absent) return Use::there;
    free_[gpu] -= bytes;
    while (free_[gpu] < 0) evict_oldest(gpu);
    return Use::load;
  }
  /// The end of a piece of work that use() kept them for.
  void release(std::uint32_t gpu, std::uint32_t model) {
    if (!comes(model)) return;
    const std::int64_t bytes = scenario_.models[model].weight_bytes;
    const bool streamed = scenario_.residency == Residency::streamed;
    if (streamed) free_[gpu] += bytes;
    if (streamed || --users_[index(gpu, model)] == 0) unused_[gpu] += bytes;
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
  /// Whether a GPU has to load it.
  bool comes(std::uint32_t model) const {
    return scenario_.residency != Residency::resident && scenario_.models[model].weight_bytes > 0;
  }
  std::size_t index(std::uint32_t gpu, std::uint32_t model) const { return gpu * scenario_.models.size() + model; }
  std::uint64_t& at(std::uint32_t gpu, std::uint32_t model) { return used_at_[index(gpu, model)]; }
  const std::uint64_t& at(std::uint32_t gpu, std::uint32_t model) const { return used_at_[index(gpu, model)]; }
  void evict_oldest(std::uint32_t gpu) {
    std::uint32_t oldest = 0;
    std::uint64_t when = ~std::uint64_t{0};
    for (std::uint32_t m = 0; m < scenario_.models.size(); ++m) {
      if (at(gpu, m) == kAbsent || at(gpu, m) >= when || users_[index(gpu, m)] > 0) continue;
      oldest = m;
      when = at(gpu, m);
    }
    at(gpu, oldest) = kAbsent;
    free_[gpu] += scenario_.models[oldest].weight_bytes;
    ++evictions_;
  }

  const Scenario& scenario_;
  std::vector<std::uint64_t> used_at_;
  std::vector<std::uint32_t> users_;  ///< pieces of work that use them
  std::vector<std::int64_t> free_;    ///< bytes by GPU that nothing is in
  std::vector<std::int64_t> unused_;  ///< bytes by GPU, free or of weights that nothing uses
  std::vector<std::int64_t> there_at_ps_;
  std::uint64_t clock_ = 0, evictions_ = 0;
};

}  // namespace distsim::serving
