// MegatronSpec: a GPT whose layers are split over GPUs, as Megatron-LM and its kin do.
#pragma once

#include <cstdint>
#include <string>

#include "base/config/schema.hpp"

namespace distsim::workload {

enum class PipelineSchedule : std::uint8_t { gpipe, one_f_one_b, interleaved };  ///< see pipeline_schedule.hpp

struct MegatronSpec {
  std::int64_t layers = 24, hidden = 1024, heads = 16, ffn_hidden = 0;  ///< ffn_hidden 0: 4 x hidden
  std::int64_t sequence = 1024, vocabulary = 51200;
  std::int64_t tensor = 1;         ///< GPUs that share each layer's matrices (neighbours)
  bool sequence_parallel = false;  ///< they also share what lies between the matrices
  std::int64_t experts = 0;        ///< of every MLP; 0: one MLP for all tokens
  std::int64_t top_k = 2;          ///< experts a token goes to
  std::int64_t expert = 1;         ///< GPUs that share the experts, among those that hold the same part of the layers
  std::int64_t pipeline = 1;       ///< stages that the blocks are cut into, each on GPUs of its own
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::int64_t virtual_stages = 1;  ///< chunks of blocks that a stage holds; above 1 with `interleaved` alone
  bool overlap_p2p = false;         ///< interleaved: what a pass sends travels beside the pass of the other direction
  std::int64_t zero = 0;  ///< 0: replicas; 1: optimizer state, 2: gradients too, 3: weights too (FSDP) split over the
                          ///< data-parallel GPUs
  std::int64_t micro_batch = 1;  ///< sequences of a replica at a time
  bool activation_checkpointing = false;
};

Schema<MegatronSpec> megatron_schema();

}  // namespace distsim::workload
