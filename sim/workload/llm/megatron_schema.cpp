#include "sim/workload/llm/megatron_spec.hpp"

namespace distsim::workload {

std::string_view name_of(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return "gpipe";
    case PipelineSchedule::one_f_one_b:
      return "1f1b";
    case PipelineSchedule::interleaved:
      return "interleaved";
  }
  CHECK(false) << "schedule " << static_cast<int>(schedule);
  return "";
}

Schema<MegatronSpec> megatron_schema() {
  constexpr Range kCount{1, 1 << 20};
  Schema<MegatronSpec> s("megatron",
                         "A GPT split over GPUs: tensor, sequence, pipeline, expert and sharded data parallel.");
  s.optional("layers", &MegatronSpec::layers, {1, 4096}, "Transformer blocks.");
  s.optional("hidden", &MegatronSpec::hidden, kCount, "Width of the residual stream.");
  s.optional("heads", &MegatronSpec::heads, {1, 65536}, "Attention heads; divides hidden.");
  s.optional("ffn_hidden", &MegatronSpec::ffn_hidden, {0, 1 << 24}, "Width inside the MLP; 0: 4 x hidden.");
  s.optional("sequence", &MegatronSpec::sequence, {1, 1 << 24}, "Tokens per sample.");
  s.optional("vocabulary", &MegatronSpec::vocabulary, {1, 1 << 26},
             "Rows of the token embedding, split over the tensor-parallel GPUs.");
  s.optional("tensor", &MegatronSpec::tensor, kCount,
             "Tensor parallel degree: adjacent GPUs that split each layer's matrices; divides heads and MLP width.");
  s.optional(
      "sequence_parallel", &MegatronSpec::sequence_parallel,
      "The tensor-parallel GPUs also split norms, dropouts and residuals by tokens: all-gathers and reduce-scatters replace all-reduces.");
  s.optional("experts", &MegatronSpec::experts, {0, 65536}, "Experts per MLP, of which a token uses top_k; 0: none.");
  s.optional("top_k", &MegatronSpec::top_k, {1, 1024}, "Experts per token.");
  s.optional(
      "expert", &MegatronSpec::expert, kCount,
      "Expert parallel degree: data-parallel GPUs that split the experts; divides experts and the data-parallel GPUs.");
  s.optional(
      "pipeline", &MegatronSpec::pipeline, kCount,
      "Pipeline parallel degree: stages of consecutive blocks, each on separate GPUs; pipeline x virtual_stages divides layers.");
  s.choice(
      "schedule", &MegatronSpec::schedule,
      {{"gpipe", PipelineSchedule::gpipe},
       {"1f1b", PipelineSchedule::one_f_one_b},
       {"interleaved", PipelineSchedule::interleaved}},
      "Pipeline: gpipe: all forward passes, then all backward passes; 1f1b: one of each in turn; interleaved: 1f1b over virtual_stages chunks per stage.");
  s.optional("virtual_stages", &MegatronSpec::virtual_stages, kCount,
             "Pipeline, interleaved: chunks of blocks per stage.");
  s.optional(
      "overlap_p2p", &MegatronSpec::overlap_p2p,
      "Pipeline, interleaved: messages of a forward pass overlap with the backward pass that follows, and vice versa.");
  s.optional("zero", &MegatronSpec::zero, {0, 3},
             "Split over the data-parallel GPUs: 1 optimizer state, 2 gradients too, 3 weights too (FSDP).");
  s.optional("micro_batch", &MegatronSpec::micro_batch, {1, 1 << 20},
             "Samples that a replica processes at a time; the rest of its share follows in more micro-steps.");
  s.optional("activation_checkpointing", &MegatronSpec::activation_checkpointing,
             "Activation checkpointing: blocks keep only their input and are recomputed in the backward pass.");
  s.rule([](const MegatronSpec& m) -> std::optional<std::string> {
    const auto divides = [](const char* key, std::int64_t by, std::int64_t what,
                            const char* name) -> std::optional<std::string> {
      if (what % by == 0) return {};
      return std::string(key) + ": found " + std::to_string(by) + ", expected a divisor of " + name + " (" +
             std::to_string(what) + ")";
    };
    if (auto wrong = divides("heads", m.heads, m.hidden, "hidden")) return wrong;
    if (auto wrong = divides("tensor", m.tensor, m.heads, "heads")) return wrong;
    if (auto wrong = divides("tensor", m.tensor, m.inner_width(), "ffn_hidden")) return wrong;
    if (m.schedule == PipelineSchedule::interleaved && (m.virtual_stages < 2 || m.pipeline < 2)) {
      return "schedule: found interleaved with pipeline " + std::to_string(m.pipeline) + " and virtual_stages " +
             std::to_string(m.virtual_stages) + ", expected at least 2 of each";
    }
    if (m.schedule != PipelineSchedule::interleaved && m.virtual_stages > 1) {
      return "virtual_stages: found " + std::to_string(m.virtual_stages) + ", expected 1, or schedule: interleaved";
    }
    if (m.schedule != PipelineSchedule::interleaved && m.overlap_p2p)
      return "overlap_p2p: found true, expected false, or schedule: interleaved";
    if (auto wrong = divides("pipeline", m.pipeline, m.layers, "layers")) return wrong;
    if (auto wrong = divides("virtual_stages", m.virtual_stages, m.layers / m.pipeline, "the blocks of a stage"))
      return wrong;
    if (m.experts > 0 && m.top_k > m.experts)
      return "top_k: found " + std::to_string(m.top_k) + ", expected at most experts (" + std::to_string(m.experts) +
             ")";
    if (m.experts == 0 && m.expert > 1)
      return "expert: found " + std::to_string(m.expert) + ", expected 1 where there are no experts";
    return m.experts > 0 ? divides("expert", m.expert, m.experts, "experts") : std::nullopt;
  });
  return s;
}

}  // namespace distsim::workload
