// ParallelSpec: how a model is split over GPUs, as in the section `parallel` of an experiment or of a model's file. What
// each key means is said in parallel_schema.cpp; which keys a family takes, in its own file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config/schema.hpp"
#include "sim/workload/specs/table_split.hpp"

namespace distsim::workload {

enum class PipelineSchedule : std::uint8_t {
  automatic,
  gpipe,
  one_f_one_b,
  interleaved,
  zero_bubble,
  dualpipe
};  ///< see sim/workload/llm/pipeline/pipeline_schedule.hpp
std::string_view name_of(PipelineSchedule schedule);

/// Which ranks are neighbours, the fastest dimension first; Megatron's names (sim/workload/graph/rank_grid.hpp).
enum class RankOrder : std::uint8_t { tp_cp_ep_dp_pp, tp_cp_ep_pp_dp };
std::string_view name_of(RankOrder order);

/// What the GPUs that split a sequence exchange in attention: keys and values around a ring, or gathered at once; or
/// heads for tokens (DeepSpeed-Ulysses, arXiv 2309.14509).
enum class ContextExchange : std::uint8_t { ring, all_gather, ulysses };

/// What is split over data-parallel GPUs: ZeRO stages 1, 2, 3 (arXiv 1910.02054).
enum class StateSplit : std::uint8_t { automatic, none, optimizer, gradients, weights };
std::string_view name_of(StateSplit shard);

/// What of a block is computed again in the backward pass.
enum class RecomputeKind : std::uint8_t {
  automatic,       ///< none, where that fits; else selective, or full
  none,            ///< everything is kept
  core_attention,  ///< scores (arXiv 2205.05198, section 5)
  modules,         ///< the listed modules
  per_operator,    ///< all but every second product and attention (torch's selective activation checkpointing)
  every_second,    ///< every second block, in full
  full             ///< the blocks, of which only the input is kept; or the first `layers` of each stage
};
struct Recompute {
  RecomputeKind kind = RecomputeKind::automatic;
  std::int64_t layers = 0;           ///< full: of a stage; 0: all
  std::vector<std::string> modules;  ///< layernorm, mlp, moe, moe_act, core_attn, mla_up_proj
  bool has(std::string_view module) const;
};
std::string text_of(const Recompute& recompute);

/// How tokens reach their experts: by an all-to-all of a copy for each; or, as in DeepEP, of one for each NVLink domain
/// that has some of them, which hands it on inside.
enum class ExpertDispatch : std::uint8_t { all_to_all, deepep };
enum class ExpertOverlap : std::uint8_t { never, between_nodes, always };

/// The linear layers that low-rank adapters are added to.
enum class LoraTargets : std::uint8_t { all, attention, qkv };

enum class Offload : std::uint8_t { automatic, none, optimizer, activations, all };
std::string_view name_of(Offload offload);
enum class Switch : std::uint8_t { automatic, off, on };  ///< automatic: as the framework does
inline bool is_on(Switch s, bool by_framework) { return s == Switch::automatic ? by_framework : s == Switch::on; }

struct ParallelSpec {
  std::int64_t tensor = 1;
  bool sequence_parallel = false;
  std::int64_t context = 1;
  ContextExchange context_exchange = ContextExchange::ring;
  std::int64_t pipeline = 1;
  std::int64_t virtual_stages = 1;
  PipelineSchedule schedule = PipelineSchedule::automatic;
  std::vector<std::int64_t> stage_layers;
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 0;
  std::int64_t data = 0;
  RankOrder order = RankOrder::tp_cp_ep_dp_pp;
  StateSplit shard = StateSplit::automatic;
  std::int64_t shard_group = 0;
  std::int64_t micro_batch = 1;
  std::int64_t of_micro_batches = 0;  ///< of an iteration of which only a part is played: those of all of it
  bool states_micro_batch = false;    ///< it was given: layer by layer a share is one micro-batch otherwise
  Recompute recompute;
  Offload offload = Offload::automatic;
  Switch overlap_gradients = Switch::automatic, overlap_parameters = Switch::automatic,
         overlap_tensor = Switch::automatic, overlap_expert = Switch::automatic, overlap_pipeline = Switch::automatic;
  std::optional<ExpertDispatch> expert_dispatch;  ///< nothing: as the framework does
  std::int64_t prefetch = 1;
  TableSplit tables;
};

Schema<ParallelSpec> parallel_schema();

}  // namespace distsim::workload
