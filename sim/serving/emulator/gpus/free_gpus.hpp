// GPUs with a free slot, in the order in which they are asked: those with nothing to do in the order of the file, so that none
// takes a second piece of work while another is idle; then those that hold the fewest pieces, and of these the one that has
// held so many for the longest time, which is likely to be done with one first.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <vector>

#include "sim/serving/emulator/id_set.hpp"
#include "sim/serving/emulator/scenario.hpp"

namespace distsim::serving {

class FreeGpus {
 public:
  explicit FreeGpus(const std::vector<Gpu>& gpus)
      : held_(gpus.size(), 0), since_ps_(gpus.size(), 0), idle_(static_cast<std::uint32_t>(gpus.size())) {
    for (std::uint32_t g = 0; g < gpus.size(); ++g) {
      slots_.push_back(gpus[g].slots);
      idle_.insert(g);
    }
  }

  /// By GPU: pieces of work that it holds.
  const std::vector<std::uint32_t>& held() const { return held_; }
  bool is_full(std::uint32_t gpu) const { return held_[gpu] == slots_[gpu]; }

  void take_slot(std::uint32_t gpu, std::int64_t now_ps) { change(gpu, held_[gpu] + 1, now_ps); }
  void free_slot(std::uint32_t gpu, std::int64_t now_ps) { change(gpu, held_[gpu] - 1, now_ps); }

  /// The lesser is asked earlier.
  struct Rank {
    std::uint32_t held = 0;
    std::int64_t since_ps = 0;  ///< 0 of idle ones
    std::uint32_t gpu = IdSet::kNone;
    auto operator<=>(const Rank&) const = default;
  };
  Rank rank_of(std::uint32_t gpu) const { return {held_[gpu], held_[gpu] == 0 ? 0 : since_ps_[gpu], gpu}; }
  /// The first with a free slot, and the one after a rank; of no GPU (IdSet::kNone) where there is none.
  Rank first() const { return idle_from(0); }
  Rank after(const Rank& rank) const {
    if (rank.held == 0) return idle_from(rank.gpu + 1);
    return at(busy_.upper_bound(rank));
  }

 private:
  using Busy = std::set<Rank>;
  Rank idle_from(std::uint32_t gpu) const {
    const std::uint32_t next = idle_.next(gpu);
    return next != IdSet::kNone ? Rank{0, 0, next} : at(busy_.begin());
  }
  Rank at(Busy::const_iterator found) const { return found == busy_.end() ? Rank() : *found; }
  void change(std::uint32_t gpu, std::uint32_t held, std::int64_t now_ps) {
    if (held_[gpu] == 0)
      idle_.erase(gpu);
    else if (!is_full(gpu))
      busy_.erase(rank_of(gpu));
    held_[gpu] = held;
    since_ps_[gpu] = now_ps;
    if (held == 0)
      idle_.insert(gpu);
    else if (!is_full(gpu))
      busy_.insert(rank_of(gpu));
  }

  std::vector<std::uint32_t> held_, slots_;
  std::vector<std::int64_t> since_ps_;  ///< when that last changed
  IdSet idle_;
  Busy busy_;
};

}  // namespace distsim::serving
