#include "sim/workload/registry.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text/quantity_text.hpp"

namespace distsim::workload {

// A new family: its file, which defines `const ModelFamily <name>_family`, and one line here.
#define DISTSIM_MODEL_FAMILIES(FAMILY) \
  FAMILY(dlrm)                         \
  FAMILY(llm)                          \
  FAMILY(transformer_xl)               \
  FAMILY(rnn)                          \
  FAMILY(resnet)                       \
  FAMILY(ssd)                          \
  FAMILY(ncf)                          \
  FAMILY(tgn)                          \
  FAMILY(mlp)                          \
  FAMILY(program)                      \
  FAMILY(graph)

#define FAMILY(name) extern const ModelFamily name##_family;
DISTSIM_MODEL_FAMILIES(FAMILY)
#undef FAMILY

namespace {

#define FAMILY(name) &name##_family,
constexpr std::array kFamilies{DISTSIM_MODEL_FAMILIES(FAMILY)};
#undef FAMILY

#define FAMILY(name) std::string_view(#name),
constexpr std::array kNames{DISTSIM_MODEL_FAMILIES(FAMILY)};
#undef FAMILY

constexpr bool all_different() {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kNames[i] == kNames[j] || kFamilies[i] == kFamilies[j]) return false;
    }
  }
  return true;
}
static_assert(kFamilies.size() == kNames.size() && all_different(), "every family is listed once");

/// Among whom a global batch is divided: the GPUs that share a model's layers take their samples together.
std::uint32_t takers(const ModelSpec& model, std::uint32_t ranks) {
  if (model.family->batching == nullptr || model.global_batch == 0) return ranks;
  return model.family->batching(model, ranks).replicas;
}

Result<void> check_ranks(const ClusterShape& shape) {
  const std::uint64_t ranks = std::uint64_t{shape.nodes} * shape.gpus_per_node;
  if (ranks >= 1 && ranks <= kMaxRanks) return {};
  return Error{"cluster: found " + std::to_string(ranks) + " GPUs, expected 1 .. " + std::to_string(kMaxRanks), "", ""};
}

Result<void> check_input_time(const FrameworkSpec& framework, const SamplePlan& samples) {
  const std::int64_t most = samples.micro_step(0).largest();
  const double per_sample = framework.input.per_sample.seconds();
  if (per_sample * static_cast<double>(most) <= Duration::kMaxSeconds) return {};
  return Error{"framework.input.per_sample: found " + format_quantity(per_sample, Dimension::seconds) +
                   " for each of " + std::to_string(most) + " samples per rank, expected at most 1e6 s in total",
               "", ""};
}

/// With the time that a rank's sample takes where all of a node share its cores.
Result<FrameworkSpec> with_decoding(FrameworkSpec framework, const SamplePlan& samples, double takers_per_node) {
  const double each = takers_per_node / framework.input.decode_rate;
  const std::int64_t most = samples.micro_step(0).largest();
  if (!(each * static_cast<double>(most) <= Duration::kMaxSeconds)) {
    return Error{"framework.input.decode_rate: found one at which the " + std::to_string(most) +
                     " samples of a rank take longer, expected at most 1e6 s in total",
                 "", ""};
  }
  TRY_ASSIGN(framework.input.decode_per_sample, Duration::from_seconds(each));
  return framework;
}

}  // namespace

std::span<const ModelFamily* const> model_families() { return kFamilies; }

const ModelFamily* find_family(std::string_view name) {
  const auto it = std::find(kNames.begin(), kNames.end(), name);
  return it == kNames.end() ? nullptr : kFamilies[static_cast<std::size_t>(it - kNames.begin())];
}

std::int64_t samples_of(const ModelSpec& model, std::uint32_t ranks) {
  return model.global_batch > 0 ? model.global_batch : model.per_gpu_batch * takers(model, ranks) * model.accumulation;
}

std::optional<ModelSpec> without_idle_accumulation(const ModelSpec& model, const FrameworkSpec& framework,
                                                   std::uint32_t ranks) {
  const auto by_layout = model.family->layout_sets_steps;
  if (model.accumulation <= 1 || by_layout == nullptr || !by_layout(model, framework, ranks)) return std::nullopt;
  ModelSpec out = model;
  if (out.per_gpu_batch > std::numeric_limits<std::int64_t>::max() / out.accumulation) return std::nullopt;
  out.per_gpu_batch *= out.accumulation;
  out.accumulation = 1;
  return out;
}

EmbeddingExchange embedding_exchange(const ModelSpec& model, const FrameworkSpec& framework, std::uint32_t ranks) {
  if (framework.embedding.exchange != EmbeddingExchange::rdma) return framework.embedding.exchange;
  const auto has_hybrid = model.family->has_hybrid_embedding;
  return has_hybrid != nullptr && has_hybrid(model, framework, ranks) ? EmbeddingExchange::rdma
                                                                      : EmbeddingExchange::hierarchical;
}

Result<RankNeeds> needs_of(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape) {
  CHECK(model.family != nullptr && model.family->needs != nullptr) << "a family that does not say";
  TRY(check_ranks(shape));
  if (const auto plain = without_idle_accumulation(model, framework, shape.ranks()))
    return needs_of(*plain, framework, shape);
  TRY_ASSIGN(const SamplePlan samples, plan_samples(model, takers(model, shape.ranks())));
  return model.family->needs(model, framework, shape, samples.total);
}

Result<Workload> build_workload(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape) {
  CHECK(model.family != nullptr) << "a model without a family";
  TRY(check_ranks(shape));
  if (const auto plain = without_idle_accumulation(model, framework, shape.ranks()))
    return build_workload(*plain, framework, shape);
  TRY_ASSIGN(const SamplePlan samples, plan_samples(model, takers(model, shape.ranks())));
  TRY(check_input_time(framework, samples));
  if (framework.input.decode_rate <= 0) return model.family->build(model, framework, shape, samples);
  TRY_ASSIGN(const FrameworkSpec decoding,
             with_decoding(framework, samples, static_cast<double>(takers(model, shape.ranks())) / shape.nodes));
  return model.family->build(model, decoding, shape, samples);
}

}  // namespace distsim::workload
