// PipelineMessages: what neighbouring stages of a pipeline send each other. The i-th rank of a stage (RankGrid) exchanges
// with the i-th of the next one, and the last stage with the first where a stage holds several chunks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/graph/task_graph.hpp"
#include "sim/workload/graph/rank_grid.hpp"
#include "sim/workload/llm/pipeline/pipeline_schedule.hpp"

namespace distsim::workload {

class PipelineMessages {
 public:
  /// `graph`: of ranks of which grid.alike() neighbours are, grid.repeats() times.
  PipelineMessages(graph::TaskGraphBuilder& graph, const RankGrid& grid, std::uint32_t gpus_per_node)
      : graph_(graph), grid_(grid), stages_(grid.stages()), gpus_per_node_(gpus_per_node) {}

  /// Stages that take part, as a table of ranks (by stage, which are alike): 0 those, 1 the others; kUniform where all do.
  std::uint32_t table_of(const std::vector<bool>& stages);
  /// Any numbers by stage as a table of ranks.
  std::uint32_t table_of(const std::vector<std::uint32_t>& of_stage);

  /// What the passes of a wave send to the next chunks (forward) and to the ones before (backward), after `deps`. Pairs
  /// inside a node and across nodes are separate tasks, as are pairs that send both ways at once. Both ends have to wait
  /// for the tasks.
  struct Ways {
    bool forward = true, backward = true;
  };
  std::vector<TaskId> exchange(const PipelineShape& shape, std::span<const StageTurn> wave,
                               const graph::Collective& message, Ways ways, std::span<const TaskId> deps);

  /// What passes of one way send over boundary b, between stage b and the next: to one of them, or to both.
  TaskId send(std::uint32_t boundary, Way way, bool to_both, const graph::Collective& message,
              std::span<const TaskId> deps);

  /// A sum over two stages.
  TaskId sum_of_two(std::string_view name, graph::Stream stream, const graph::Collective& sum,
                    std::pair<std::uint32_t, std::uint32_t> stages, std::span<const TaskId> deps);

  /// First and last stage: a sum over the two.
  TaskId sum_of_ends(std::string_view name, graph::Stream stream, const graph::Collective& sum,
                     std::span<const TaskId> deps);

 private:
  /// Boundary b lies between stage b and the next one; the last one leads back to stage 0.
  using Boundaries = std::vector<std::uint32_t>;
  struct Pairs {
    PartitionId groups;
    std::uint32_t table = graph::Task::kUniform;
  };

  /// What a wave sends: tasks like it, by what it is.
  std::vector<TaskId> send_first(const std::vector<std::uint8_t>& ways, const graph::Collective& message,
                                 std::span<const TaskId> deps);

  bool crosses_nodes(std::uint32_t boundary) const;
  graph::Stream stream_of(std::uint32_t boundary) const;
  const Pairs& pairs_of(const Boundaries& boundaries);
  Pairs make_pairs(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& stages);

  graph::TaskGraphBuilder& graph_;
  const RankGrid grid_;
  std::uint32_t stages_, gpus_per_node_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> tables_;
  std::map<Boundaries, Pairs> pairs_;
  std::map<std::tuple<std::uint32_t, bool, bool>, TaskId> sent_alone_;  ///< by boundary, whether back and to both
  std::map<std::pair<std::int64_t, std::vector<std::uint8_t>>, std::vector<TaskId>> sent_;  ///< by bytes and ways
};

}  // namespace distsim::workload
