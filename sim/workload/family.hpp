// ModelFamily: a kind of model that distsim can build. Each family describes itself in a file of its own: its keys,
// what it refuses, and the function that turns a model of it into a Workload.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/graph/pipeline_order.hpp"
#include "sim/workload/specs/samples.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::workload {

/// A model that the family refuses: keys that differ from its defaults, and a part of the message that says why.
struct Refusal {
  std::string_view keys;  ///< YAML of the family's section, e.g. "{heads: 7}"
  std::string_view message;
};

/// How a global batch is divided where GPUs share a model's layers.
struct Batching {
  std::uint32_t replicas = 1;  ///< groups of GPUs that take samples together
  std::int64_t multiple = 1;   ///< a global batch is a multiple of this
};

/// What ranks need, before the work is written down.
struct RankNeeds {
  std::vector<RankMemory> memory;  ///< of rank k * each and those that hold as much, by k
  std::uint32_t each = 1;
  double flops = 0;  ///< of products and attention, in an iteration of the busiest rank
};

/// Micro-batches of a pipeline, of which those beyond `played` add the same time, `round` by `round`.
struct MicroBatches {
  std::int64_t count = 1, round = 1, played = 1;
  std::string text;  ///< how the batch is divided
};

struct ModelFamily {
  std::string_view name;      ///< as in `kind:`, and of its section
  std::string_view sentence;  ///< for `distsim list models`
  std::span<const Refusal> refuses;
  void (*add_section)(Schema<ModelSpec>&);
  Result<Workload> (*build)(const ModelSpec&, const FrameworkSpec&, const ClusterShape&, const SamplePlan&);
  /// Null: every rank is a replica, and any batch will do.
  Batching (*batching)(const ModelSpec&, std::uint32_t ranks) = nullptr;
  /// Whether the layout decides into how many micro-steps a batch is cut: model.accumulation then only multiplies per_gpu_batch.
  /// Null: it never does.
  bool (*layout_sets_steps)(const ModelSpec&, const FrameworkSpec&, std::uint32_t ranks) = nullptr;
  /// Tokens of a sample, for tokens per second: positions, of source and target where a model has both, as long as the sequences
  /// are said to be; padding counts, be it left out of the work or not. Null: samples are not sequences.
  std::int64_t (*tokens_per_sample)(const ModelSpec&) = nullptr;
  /// What is added, in squares, to the framework's range for what the family's costs know less about. Null: nothing.
  double (*own_range)(const ModelSpec&) = nullptr;
  /// How many of a batch's micro-batches need to be played. Null: all.
  MicroBatches (*micro_batches)(const ModelSpec&, std::uint32_t ranks, std::int64_t batch) = nullptr;
  /// Of a batch on a cluster, which may have too little memory for it; errors are those of `build`. Null: it takes the work itself.
  Result<RankNeeds> (*needs)(const ModelSpec&, const FrameworkSpec&, const ClusterShape&, std::int64_t batch) = nullptr;
  /// The passes of a pipeline's stages in the order of the tasks that `build` writes for such a batch. Nothing without a
  /// pipeline; null: the family has none.
  Result<std::optional<graph::PipelineOrder>> (*pipeline_order)(const ModelSpec&, const FrameworkSpec&,
                                                                const ClusterShape&, std::int64_t batch) = nullptr;
  /// Whether the framework's hybrid embedding holds the model's tables on so many ranks. Null: it has no tables.
  bool (*has_hybrid_embedding)(const ModelSpec&, const FrameworkSpec&, std::uint32_t ranks) = nullptr;
};

/// For ModelFamily::add_section: the section is named as its schema.
template <class Spec>
void add_section(Schema<ModelSpec>& model, const Schema<Spec>& section) {
  model.nested(
      section.section(), [](ModelSpec& m) -> Spec& { return m.as<Spec>(); }, section);
}

}  // namespace distsim::workload
