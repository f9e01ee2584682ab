#include "sim/workload/models/transformer_xl.hpp"

#include <algorithm>
#include <cmath>

#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/layers/token_layers.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

constexpr Range kTransformerXlLayers{1, 10'000};

/// Of a power law of rank between two ranks, up to a constant factor.
double mass(const VocabularyCluster& c, double exponent) {
  const auto integral = [&](std::int64_t rank) {
    const double r = static_cast<double>(std::max<std::int64_t>(rank, 1));
    return exponent == 1 ? std::log(r) : std::pow(r, 1 - exponent) / (1 - exponent);
  };
  return integral(c.end) - integral(c.begin);
}

class TransformerXlBuilder {
 public:
  TransformerXlBuilder(const TransformerXlSpec& spec, std::int64_t samples, const LayerContext& context)
      : s_(spec),
        stack_(context, spec.dropout),
        n_(samples),
        h_(spec.hidden),
        inner_(spec.heads * spec.head_dim),
        tokens_(samples * spec.target_length),
        keys_(spec.target_length + spec.memory_length),
        clusters_(vocabulary_clusters(spec)) {}

  std::vector<Layer> build() {
    embedding();
    for (std::int64_t i = 0; i < s_.layers; ++i) add_block("block" + std::to_string(i));
    stack_.dropout("output.dropout", tokens_ * h_);
    softmax();
    return stack_.take();
  }

 private:
  bool projected() const { return s_.div_value > 1; }
  graph::DType dtype() const { return stack_.dtype(); }
  std::int64_t tokens_of(const VocabularyCluster& c) const {
    return std::max<std::int64_t>(1, std::llround(c.share * static_cast<double>(tokens_)));
  }

  void lookup(const VocabularyCluster& cluster, const std::string& name) {
    graph::EmbeddingBag op;
    op.tables = {{cluster.words(), cluster.width, 1, 1.0}};
    op.batch = projected() ? tokens_of(cluster) : tokens_;
    op.output = dtype();
    op.optimizer = graph::EmbeddingOptimizer::none;
    op.update = dense_table_update(stack_.context());
    Layer& layer = stack_.push(name);
    layer.forward.push_back({name, op, {3, 3}});
    op.pass = graph::Pass::backward;
    layer.backward.push_back({name + ".wgrad", op, {3, 5}});
    layer.backward.push_back(elementwise(name + ".tied.wgrad", cluster.words() * cluster.width, 2, 1, 1,
                                         stack_.context().numerics.gradient));
    layer.parameters.push_back({name + ".weight", cluster.words() * cluster.width});
  }

  /// One table where widths are alike; else a table and a projection for each cluster.
  void embedding() {
    if (!projected()) {
      lookup({0, s_.vocabulary, h_, 1}, "embedding");
    } else {
      for (std::size_t i = 0; i < clusters_.size(); ++i) {
        const std::string name = "embedding" + std::to_string(i);
        lookup(clusters_[i], name);
        stack_.linear(name + ".projection", tokens_of(clusters_[i]), clusters_[i].width, h_, Activation::none, true,
                      false);
      }
    }
    Layer& biases = stack_.push("position_biases");
    biases.parameters = {{"position_bias.content", inner_}, {"position_bias.distance", inner_}};
    stack_.dropout("embedding.dropout", tokens_ * h_);
  }

  void add_block(const std::string& name) {
    concat_memory(name);
    stack_.linear(name + ".qkv", n_ * keys_, h_, 3 * inner_, Activation::none, true, false);
    stack_.linear(name + ".positions", keys_, h_, inner_, Activation::none, true, false);
    biased_queries(name);
    distance_scores(name);
    scores(name);
    stack_.linear(name + ".output", tokens_, inner_, h_, Activation::none, true, false);
    stack_.residual(name + ".attention", tokens_ * h_);
    stack_.layer_norm(name + ".attention.norm", tokens_, h_);
    stack_.linear(name + ".mlp.up", tokens_, h_, s_.ffn_hidden, Activation::relu);
    stack_.dropout(name + ".mlp.dropout", tokens_ * s_.ffn_hidden);
    stack_.linear(name + ".mlp.down", tokens_, s_.ffn_hidden, h_);
    stack_.residual(name + ".mlp", tokens_ * h_);
    stack_.layer_norm(name + ".mlp.norm", tokens_, h_);
  }

  /// Memory and segment concatenated; afterwards the segment becomes the next step's memory.
  void concat_memory(const std::string& name) {
    Layer& layer = stack_.push(name + ".memory");
    layer.forward.push_back({name + ".memory", graph::Concat{stack_.bytes(n_ * keys_ * h_), 2}, {2, 2}});
    layer.backward.push_back(elementwise(name + ".memory.dgrad", tokens_ * h_, 1, 1, 1, dtype()));
  }

  /// q + content bias, q + distance bias.
  void biased_queries(const std::string& name) {
    Layer& layer = stack_.push(name + ".biased_queries");
    layer.forward.push_back(elementwise(name + ".biased_queries", 2 * tokens_ * inner_, 1, 1, 1, dtype(), {2, 2}));
    layer.backward.push_back(
        elementwise(name + ".biased_queries.dgrad", 2 * tokens_ * inner_, 2, 1, 1, dtype(), {4, 4}));
  }

  /// Queries times the encodings of distances, which all samples share; then the shift that lines distances up with
  /// keys.
  void distance_scores(const std::string& name) {
    const graph::DType matrix = stack_.context().numerics.matrix;
    graph::Gemm product;
    product.batch = s_.heads;
    product.m = tokens_;
    product.n = keys_;
    product.k = s_.head_dim;
    product.dtype = matrix;
    const std::int64_t scores = n_ * s_.heads * s_.target_length * keys_;
    Layer& layer = stack_.push(name + ".distances");
    layer.forward.push_back({name + ".distances", product, {1, 1}});
    layer.forward.push_back(
        elementwise(name + ".shift", scores, 2, 2, 1, dtype(), {3, 2}));  // pad, then copy the shifted view
    layer.forward.push_back(elementwise(name + ".add_distances", scores, 2, 1, 1, dtype()));
    layer.backward.push_back(elementwise(name + ".shift.dgrad", scores, 2, 2, 1, dtype(), {3, 2}));
    graph::Gemm gradient = product;
    gradient.pass = graph::Pass::backward_data;
    gradient.n = s_.head_dim;
    gradient.k = keys_;
    layer.backward.push_back({name + ".distances.dgrad", gradient, {1, 1}});
    gradient.pass = graph::Pass::backward_weight;
    gradient.m = keys_;
    gradient.k = tokens_;
    layer.backward.push_back({name + ".distances.wgrad", gradient, {1, 1}});
  }

  void scores(const std::string& name) {
    graph::Attention op;
    op.batch = n_;
    op.heads = s_.heads;
    op.q_len = s_.target_length;
    op.kv_len = keys_;
    op.head_dim = s_.head_dim;
    op.causal = true;
    op.dtype = dtype();
    Layer& layer = stack_.push(name + ".scores");
    layer.forward.push_back({name + ".scores", op, {7, 8}});
    op.pass = graph::Pass::backward;
    layer.backward.push_back({name + ".scores.dgrad", op, {7, 10}});
    stack_.add_calls_without_kernels(layer);
    layer.saved_bytes =
        stack_.bytes(n_ * s_.heads * s_.target_length * keys_);  // probabilities; there is no dropout on them
  }

  void logits(const std::string& name, std::int64_t rows, std::int64_t width, std::int64_t words) {
    if (projected()) stack_.linear(name + ".projection", rows, h_, width, Activation::none, false, false);
    stack_.linear(name, rows, width, words, Activation::none, false, true);
    stack_.cross_entropy(name + ".loss", rows, words);
  }

  void softmax() {
    const auto tails = static_cast<std::int64_t>(clusters_.size()) - 1;
    Layer& own = stack_.push("softmax.clusters");
    if (tails > 0) own.parameters.push_back({"softmax.clusters.weight", tails * h_});
    logits("softmax.head", tokens_, clusters_.front().width, clusters_.front().words() + tails);
    for (std::size_t i = 1; i < clusters_.size(); ++i) {
      logits("softmax.tail" + std::to_string(i), tokens_of(clusters_[i]), clusters_[i].width, clusters_[i].words());
    }
  }

  const TransformerXlSpec& s_;
  TokenStack stack_;
  std::int64_t n_, h_, inner_, tokens_, keys_;
  std::vector<VocabularyCluster> clusters_;
};

Result<void> check(const TransformerXlSpec& s) {
  std::int64_t begin = 0, width = s.hidden;
  for (const std::int64_t end : s.cutoffs) {
    if (end <= begin || end >= s.vocabulary) {
      return Error{"model.transformer_xl.cutoffs: found " + std::to_string(end) +
                       ", expected ascending ranks below vocabulary (" + std::to_string(s.vocabulary) + ")",
                   "", ""};
    }
    begin = end;
    width /= s.div_value;
  }
  if (width >= 1) return {};
  return Error{"model.transformer_xl.div_value: found " + std::to_string(s.div_value) +
                   ", expected a last cluster of at least one element",
               "", ""};
}

}  // namespace

std::vector<VocabularyCluster> vocabulary_clusters(const TransformerXlSpec& spec) {
  std::vector<VocabularyCluster> out;
  std::int64_t begin = 0, width = spec.hidden;
  const auto add = [&](std::int64_t end) {
    out.push_back({begin, end, width, 1});
    begin = end;
    width /= spec.div_value;
  };
  for (const std::int64_t end : spec.cutoffs) add(end);
  add(spec.vocabulary);
  double tail = 0;
  for (std::size_t i = 1; i < out.size(); ++i) tail += mass(out[i], spec.tail_exponent);
  for (std::size_t i = 1; i < out.size(); ++i)
    out[i].share = spec.tail_tokens * mass(out[i], spec.tail_exponent) / tail;
  if (out.size() > 1) out.front().share = 1 - spec.tail_tokens;
  return out;
}

std::vector<Layer> transformer_xl_layers(const TransformerXlSpec& spec, std::int64_t samples,
                                         const LayerContext& context) {
  return TransformerXlBuilder(spec, samples, context).build();
}

Schema<TransformerXlSpec> transformer_xl_schema() {
  Schema<TransformerXlSpec> s("transformer_xl", "Transformer-XL with an adaptive softmax.");
  s.optional("layers", &TransformerXlSpec::layers, kTransformerXlLayers, "Blocks.");
  s.optional("hidden", &TransformerXlSpec::hidden, {1, 1 << 20}, "Width.");
  s.optional("heads", &TransformerXlSpec::heads, {1, 65536}, "Attention heads.");
  s.optional("head_dim", &TransformerXlSpec::head_dim, {1, 65536}, "Width of a head.");
  s.optional("ffn_hidden", &TransformerXlSpec::ffn_hidden, {1, 1 << 24}, "Width inside the MLP.");
  s.optional("target_length", &TransformerXlSpec::target_length, {1, 1 << 24}, "Tokens per segment.");
  s.optional("memory_length", &TransformerXlSpec::memory_length, {0, 1 << 24},
             "Tokens before the segment that it also attends to.");
  s.optional("vocabulary", &TransformerXlSpec::vocabulary, {1, 1 << 26}, "Words.");
  s.scalars("cutoffs", &TransformerXlSpec::cutoffs, {1, 1 << 26},
            "Frequency ranks at which the second and later clusters of the adaptive softmax begin.");
  s.optional("div_value", &TransformerXlSpec::div_value, {1, 64},
             "Factor by which each cluster's vectors are narrower than the previous cluster's.");
  s.optional("tail_tokens", &TransformerXlSpec::tail_tokens, {0, 1},
             "Fraction of the tokens outside the first cluster.");
  s.optional("tail_exponent", &TransformerXlSpec::tail_exponent, {0, 10},
             "Exponent of the power law of word frequency in the tail.");
  s.optional("dropout", &TransformerXlSpec::dropout, "Dropout after embedding, attention and MLP.");
  return s;
}

namespace {

Result<Workload> build_transformer_xl(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                                      const SamplePlan& samples) {
  const TransformerXlSpec spec = as_run<TransformerXlSpec>(model);
  TRY(check(spec));
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.layers = [&](std::int64_t n) { return transformer_xl_layers(spec, n, context); };
  parts.input_bytes_per_sample = static_cast<double>(spec.target_length) * 2 * 8;  // ids and targets
  return build_data_parallel(model, framework, shape, samples, parts);
}

constexpr Refusal kTransformerXlRefuses[] = {
    {"{cutoffs: [300000]}", "model.transformer_xl.cutoffs"},
    {"{hidden: 512, div_value: 64, cutoffs: [10, 20, 30]}", "model.transformer_xl.div_value"},
};

}  // namespace

extern const ModelFamily transformer_xl_family;
constinit const ModelFamily transformer_xl_family{
    .name = "transformer_xl",
    .sentence = "Transformer-XL: relative attention with memory, adaptive softmax; data parallel",
    .refuses = kTransformerXlRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, transformer_xl_schema()); },
    .build = build_transformer_xl,
    .tokens_per_sample = [](const ModelSpec& model) { return model.as<TransformerXlSpec>().target_length; },
};

}  // namespace distsim::workload
