// MegatronSpec: a GPT whose layers are split over GPUs, as in the section `megatron` of configs/models. What each key
// means is said in megatron_schema.cpp.
#pragma once

#include <cstdint>

#include "base/config/schema.hpp"

namespace distsim::workload {

enum class PipelineSchedule : std::uint8_t { gpipe, one_f_one_b, interleaved };  ///< see pipeline_schedule.hpp
std::string_view name_of(PipelineSchedule schedule);

struct MegatronSpec {
  std::int64_t layers = 24, hidden = 1024, heads = 16, ffn_hidden = 0;
  std::int64_t sequence = 1024, vocabulary = 51200;
  std::int64_t tensor = 1;
  bool sequence_parallel = false;
  std::int64_t experts = 0;
  std::int64_t top_k = 2;
  std::int64_t expert = 1;
  std::int64_t pipeline = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::int64_t virtual_stages = 1;
  bool overlap_p2p = false;
  std::int64_t zero = 0;
  std::int64_t micro_batch = 1;
  bool activation_checkpointing = false;

  std::int64_t inner_width() const { return ffn_hidden > 0 ? ffn_hidden : 4 * hidden; }  ///< of the MLP
  std::int64_t chunk_layers() const { return layers / (pipeline * virtual_stages); }     ///< blocks of a chunk
};

Schema<MegatronSpec> megatron_schema();

}  // namespace distsim::workload
