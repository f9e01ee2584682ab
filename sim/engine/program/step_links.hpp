// StepLinks: an irregular program seen the other way round: who waits for a step, and who meets whom.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/program/irregular_program.hpp"

namespace distsim::engine {

/// Lists of steps by key, in the order they were put in (CSR).
class StepLists {
 public:
  /// Counts keys first, then fills: `visit(sink)` is called twice with a sink(key, step), in the same order.
  template <class Visit>
  StepLists(std::size_t keys, Visit visit) : offsets_(keys + 1, 0) {
    visit([&](std::uint32_t key, std::uint32_t) { ++offsets_[key + 1]; });
    for (std::size_t k = 1; k < offsets_.size(); ++k) offsets_[k] += offsets_[k - 1];
    items_.resize(offsets_.back());
    std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
    visit([&](std::uint32_t key, std::uint32_t step) { items_[next[key]++] = step; });
  }
  std::span<const std::uint32_t> of(std::uint32_t key) const {
    return {items_.data() + offsets_[key], items_.data() + offsets_[key + 1]};
  }

 private:
  std::vector<std::uint32_t> offsets_, items_;
};

struct StepLinks {
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  explicit StepLinks(const IrregularProgram& valid);

  StepLists waiters;                  ///< by step: the steps that wait for it
  StepLists members;                  ///< by meeting
  std::vector<std::uint32_t> before;  ///< by step: the one before it on its stream, or kNone
  std::vector<std::uint32_t> after;   ///< by step: the one after it on its stream, or kNone
};

}  // namespace distsim::engine
