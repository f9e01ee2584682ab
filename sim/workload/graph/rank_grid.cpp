#include "sim/workload/graph/rank_grid.hpp"

#include <numeric>

namespace distsim::workload {

RankGrid::RankGrid(std::uint32_t block, std::uint32_t stages, std::uint32_t replicas, RankOrder order)
    : block_(block),
      stages_(stages),
      replicas_(replicas),
      order_(stages > 1 && replicas > 1 ? order : RankOrder::tp_cp_ep_dp_pp) {}

std::uint32_t RankGrid::rank(std::uint32_t stage, std::uint32_t place) const {
  if (!stages_follow()) return stage * block_ * replicas_ + place;
  return (place / block_ * stages_ + stage) * block_ + place % block_;
}

RankGroup RankGrid::first_group(std::uint32_t size, std::uint32_t stride) const {
  if (!stages_follow() || std::uint64_t{size} * stride <= block_) return {size, stride};
  if (stride % block_ == 0) return {size, stride * stages_};
  return {size, stride, block_, block_ * (stages_ - 1)};
}

graph::Partition RankGrid::groups(std::uint32_t size, std::uint32_t stride) const {
  const bool within = block_ % (std::uint64_t{size} * stride) == 0;
  if (!stages_follow() || within) return graph::Partition::strided(size, stride);
  if (stride % block_ == 0) return graph::Partition::strided(size, stride * stages_);
  return listed(size, stride);
}

/// Groups that lead from block to block, or lie across their edges: as many neighbours as have parallel groups are one line.
graph::Partition RankGrid::listed(std::uint32_t size, std::uint32_t stride) const {
  graph::Partition out;
  out.size = size;
  out.each = std::gcd(stride, block_);
  out.listed_offsets = {0};
  const std::uint32_t places = block_ * replicas_;
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    for (std::uint32_t first = 0; first < places; first += size * stride) {
      for (std::uint32_t i = 0; i < stride; i += out.each) {
        for (std::uint32_t m = 0; m < size; ++m)
          out.listed_members.push_back(rank(stage, first + i + m * stride) / out.each);
        out.listed_offsets.push_back(static_cast<std::uint32_t>(out.listed_members.size()));
      }
    }
  }
  return out;
}

}  // namespace distsim::workload
