// PipelineParts: which stages take part in what, as tables of ranks and as pairs of neighbours. Stage s holds ranks s *
// width .. (s + 1) * width - 1; rank i of a stage exchanges with rank i of the next one, and the last stage with the
// first where a stage holds several chunks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/workload/graph/iteration.hpp"
#include "sim/workload/llm/pipeline_schedule.hpp"

namespace distsim::workload {

/// By stage: does it take part?
using Stages = std::vector<bool>;

class PipelineParts {
 public:
  /// What replicas, and the two ends, sum: it does not queue behind the collectives of tensor-parallel groups
  /// (Stream::comm).
  static constexpr graph::Stream kReplicaStream = graph::Stream::comm.lane(1);

  PipelineParts(Iteration& iteration, std::uint32_t stages, std::uint32_t width, std::uint32_t gpus_per_node)
      : it_(iteration), stages_(stages), width_(width), gpus_per_node_(gpus_per_node) {}

  /// For Iteration::restrict_to; kUniform where all stages take part, nothing where none does.
  std::optional<std::uint32_t> table_of(const Stages& takes_part);

  /// What the passes of a wave send to the next chunks (forward) and to the ones before (backward), `bytes` per rank.
  /// Pairs inside a node and across nodes are separate tasks, as are pairs that send both ways at once. Both ends
  /// have to wait for the tasks.
  struct Ways {
    bool forward = true, backward = true;
  };
  std::vector<TaskId> exchange(const PipelineShape& shape, std::span<const StageTurn> wave, std::int64_t bytes,
                               Ways ways);

  /// First and last stage: the sum over both copies of the word embedding.
  TaskId sum_of_ends(std::string_view name, std::int64_t bytes, graph::DType dtype);

 private:
  /// Boundary b lies between stage b and the next one; the last one leads back to stage 0.
  using Boundaries = std::vector<std::uint32_t>;
  struct Pairs {
    PartitionId groups;
    std::uint32_t table = graph::Task::kUniform;
  };

  bool crosses_nodes(std::uint32_t boundary) const;
  graph::Stream stream_of(std::uint32_t boundary) const;
  const Pairs& pairs_of(const Boundaries& boundaries);

  Iteration& it_;
  std::uint32_t stages_, width_, gpus_per_node_;
  std::map<Stages, std::uint32_t> tables_;
  std::map<Boundaries, Pairs> pairs_;
};

}  // namespace distsim::workload
