#include <array>

#include "sim/workload/registry.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

constexpr std::array kModes{StepMode::train, StepMode::forward_backward, StepMode::inference};

/// The place of the word among `words`.
Result<std::size_t> read_word(const ConfigNode& node, const std::string& path, const std::vector<std::string>& words) {
  const std::string word = node.kind == ConfigNode::Kind::scalar ? node.scalar : "";
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (word == words[i]) return i;
    all += (all.empty() ? "one of " : ", ") + words[i];
  }
  const std::string near = word.empty() ? "" : nearest_spelling(word, words);
  return schema_detail::expected(node, path, all, near.empty() ? "" : "did you mean '" + near + "'?");
}

Result<void> read_mode(ModelSpec& out, const ConfigNode& node, const std::string& path) {
  std::vector<std::string> words;
  for (const StepMode mode : kModes) words.emplace_back(name_of(mode));
  TRY_ASSIGN(const std::size_t place, read_word(node, path, words));
  out.as<StepSpec>().mode = kModes[place];
  return {};
}

Result<void> read_correction(ModelSpec& out, const ConfigNode& node, const std::string& path) {
  TRY_ASSIGN(const std::size_t place, read_word(node, path, {"none", "graph"}));
  out.as<StepSpec>().corrects_graphs = place == 1;
  return {};
}

void add_training(Schema<ModelSpec>& s) {
  s.custom(
      {"mode", "one of train, forward_backward, inference", "", "train",
       "What a step consists of: everything; all but the optimizer; or the forward pass alone, without dropout, loss, gradients and what is kept for them. forward_backward adds every gradient to the one that is there, as train does from the second micro-step on, and so may take longer than train where the optimizer is cheap."},
      false, read_mode);
  s.custom(
      {"correction", "one of none, graph", "", "none",
       "Of all kernel times together: none, or what a network has learned from the graphs of measured iterations (docs/graph_correction.md)."},
      false, read_correction);
  s.optional("global_batch", &ModelSpec::global_batch, {0, 1e12},
             "Samples per optimizer step over all ranks and micro-steps.");
  s.optional(
      "per_gpu_batch", &ModelSpec::per_gpu_batch, {0, 1e9},
      "Instead of global_batch: samples per GPU and micro-step. kind llm: samples per GPU for each of model.accumulation; those of all GPUs of a replica are the replica's, which parallel.micro_batch cuts into micro-steps; with framework.parallel.layer_by_layer they run at once where it is not given and there is no pipeline.");
  s.optional(
      "memory_check", &ModelSpec::memory_check,
      "Refuse a dense model whose estimated weights, gradients and activations exceed GPU memory; false: list this as an assumption and continue.");
  s.optional("accumulation", &ModelSpec::accumulation, {1, 1e6},
             "Micro-steps whose gradients are summed before the optimizer step.");
  std::vector<std::pair<std::string, Precision>> precisions;
  for (const Precision p : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16, Precision::fp8,
                            Precision::fp8_current, Precision::fp8_blockwise, Precision::mxfp8, Precision::nvfp4})
    precisions.emplace_back(name_of(p), p);
  precisions.emplace_back("fp8_delayed", Precision::fp8);
  s.choice(
      "precision", &ModelSpec::precision, precisions,
      "Arithmetic; from fp16 on mixed precision with fp32 master weights. fp8 is scaled by tensor with the maxima of earlier steps (also fp8_delayed); fp8_current with those of this step; fp8_blockwise by blocks of 128; mxfp8 by 32 elements; nvfp4 by 16.");
  s.choice("optimizer", &ModelSpec::optimizer,
           {{"sgd", graph::OptimizerKind::sgd},
            {"momentum", graph::OptimizerKind::momentum},
            {"adagrad", graph::OptimizerKind::adagrad},
            {"adam", graph::OptimizerKind::adam},
            {"lamb", graph::OptimizerKind::lamb},
            {"lars", graph::OptimizerKind::lars}},
           "Optimizer of the dense weights.");
}

constexpr std::string_view kNowLlm =
    "kind: llm; BERT and GPT-2 have norm: layer, bias: all, positions: learned and tied_embeddings: true; family: bert is encoder: true, positions is position_rows, activation_checkpointing: true is parallel.recompute: full; the other keys have the names that they had";

std::string words_of_families() {
  std::string words = "one of ";
  for (const ModelFamily* family : model_families())
    words += (family == model_families().front() ? "" : ", ") + std::string(family->name);
  return words;
}

/// Sections of earlier files, and kinds of the same names.
constexpr MovedKey kMovedKeys[] = {
    {"megatron", "llm",
     "kind: llm; tensor, sequence_parallel, expert, pipeline, schedule, virtual_stages and micro_batch are keys of the section parallel, as are shard (zero), recompute (activation_checkpointing) and overlap_pipeline (overlap_p2p)"},
    {"transformer", "llm", kNowLlm},
};

/// Kinds of earlier files, now llm.
Result<void> read_kind(ModelSpec& out, const ConfigNode& node, const std::string& path) {
  const std::string word = node.kind == ConfigNode::Kind::scalar ? node.scalar : "";
  out.family = find_family(word);
  if (out.family != nullptr) return {};
  for (const MovedKey& moved : kMovedKeys) {
    constexpr std::string_view kKind = "kind: llm; ";  // which the line has said by then
    if (moved.old_key != word) continue;
    const std::string_view hint = moved.hint.starts_with(kKind) ? moved.hint.substr(kKind.size()) : moved.hint;
    return schema_detail::expected(node, path, std::string(moved.new_key), std::string(hint));
  }
  std::vector<std::string> names;
  for (const ModelFamily* family : model_families()) names.emplace_back(family->name);
  const std::string near = word.empty() ? "" : nearest_spelling(word, names);
  return schema_detail::expected(node, path, words_of_families(), near.empty() ? "" : "did you mean '" + near + "'?");
}

}  // namespace

std::string ModelSpec::shown_name() const {
  return name.empty() && family != nullptr ? std::string(family->name) : name;
}

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::fp16:
      return "fp16";
    case Precision::bf16:
      return "bf16";
    case Precision::fp8:
      return "fp8";
    case Precision::fp8_current:
      return "fp8_current";
    case Precision::fp8_blockwise:
      return "fp8_blockwise";
    case Precision::mxfp8:
      return "mxfp8";
    case Precision::nvfp4:
      return "nvfp4";
  }
  CHECK(false) << "precision " << static_cast<int>(precision);
  return "";
}

std::string_view peak_of(Precision precision) {
  switch (precision) {
    case Precision::fp8_current:
    case Precision::fp8_blockwise:
    case Precision::mxfp8:
      return "fp8";
    default:
      return name_of(precision);
  }
}

std::string_view name_of(StepMode mode) {
  switch (mode) {
    case StepMode::train:
      return "train";
    case StepMode::forward_backward:
      return "forward_backward";
    case StepMode::inference:
      return "inference";
  }
  CHECK(false) << "mode " << static_cast<int>(mode);
  return "";
}

Result<void> only_training(const ModelSpec& model, std::string_view what) {
  if (mode_of(model) == StepMode::train) return {};
  return Error{
      "model.mode: found " + std::string(name_of(mode_of(model))) + ", expected train for " + std::string(what), "",
      ""};
}

Schema<ModelSpec> model_schema() {
  Schema<ModelSpec> s("model", "The model to train.");
  s.optional("name", &ModelSpec::name, "Name in reports.");
  s.optional("description", &ModelSpec::description, "One-sentence description.");
  s.custom({"kind", words_of_families(), "", "required",
            "Model family, which is also the name of the section below that applies."},
           true, read_kind);
  add_training(s);
  for (const ModelFamily* family : model_families()) family->add_section(s);
  s.nested("parallel", &ModelSpec::parallel, parallel_schema());
  s.optional("source", &ModelSpec::source, "Where the figures come from.");
  s.moved(kMovedKeys);
  return s;
}

}  // namespace distsim::workload
