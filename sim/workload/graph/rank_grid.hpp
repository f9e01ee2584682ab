// RankGrid: which rank of a job does what of a model that is split by tensor, context, data and pipeline. The one place
// that knows the order of the grid; who needs groups asks it.
//
// The places of a stage are numbered with tensor fastest, then context, then data; experts lie on them with expert_tensor
// fastest, then expert, then the copies of an expert. The tensor x context ranks of one replica and stage are neighbours,
// a block. The order says which blocks follow each other (Megatron Core: the default, and --use-tp-pp-dp-mapping):
//   tp-cp-ep-dp-pp   block = replica + replicas x stage: messages between stages go far, gradients stay near
//   tp-cp-ep-pp-dp   block = stage + stages x replica: the stages of a replica are neighbours
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/workload/specs/parallel_spec.hpp"

namespace distsim::workload {

/// Ranks member(0) < member(1) < .. of one group.
struct RankGroup {
  std::uint32_t size = 1, stride = 1;
  std::uint32_t block = 1, skip = 0;  ///< after every `block` ranks, so many are other stages'
  std::uint32_t member(std::uint32_t i) const { return i * stride + i * stride / block * skip; }
  auto operator<=>(const RankGroup&) const = default;
};

class RankGrid {
 public:
  RankGrid() = default;
  /// `block`: tensor x context. With one stage or one replica all orders are the same, and the first is taken.
  RankGrid(std::uint32_t block, std::uint32_t stages, std::uint32_t replicas, RankOrder order);

  std::uint32_t ranks() const { return block_ * stages_ * replicas_; }
  std::uint32_t stages() const { return stages_; }
  /// As it is; not as it was asked for where it makes no difference.
  RankOrder order() const { return order_; }

  /// Neighbours that are of one stage: ranks k * alike() .. (k + 1) * alike() - 1, for all k. The first rank of stage s is
  /// s * alike().
  std::uint32_t alike() const { return stages_follow() ? block_ : block_ * replicas_; }
  /// Times that all stages follow each other, a run of alike() neighbours of each.
  std::uint32_t repeats() const { return stages_follow() ? replicas_ : 1; }
  /// The stage's run of that time.
  std::uint32_t run_of(std::uint32_t stage, std::uint32_t time) const { return time * stages_ + stage; }

  std::uint32_t rank(std::uint32_t stage, std::uint32_t place) const;

  /// Whether groups of `size` consecutive places are neighbouring ranks. Orders in which stages follow each other ask for that
  /// of the ranks that split experts, as Megatron Core does.
  bool keeps_together(std::uint32_t size) const { return !stages_follow() || block_ % size == 0; }

  /// Every stage's places in groups: consecutive blocks of size x stride places, members `stride` apart. size x stride
  /// divides the places of a stage. Partition::size is theirs also where they are listed.
  graph::Partition groups(std::uint32_t size, std::uint32_t stride) const;
  /// The one that holds rank 0.
  RankGroup first_group(std::uint32_t size, std::uint32_t stride) const;

 private:
  bool stages_follow() const { return order_ == RankOrder::tp_cp_ep_pp_dp; }
  graph::Partition listed(std::uint32_t size, std::uint32_t stride) const;

  std::uint32_t block_ = 1, stages_ = 1, replicas_ = 1;
  RankOrder order_ = RankOrder::tp_cp_ep_dp_pp;
};

}  // namespace distsim::workload
