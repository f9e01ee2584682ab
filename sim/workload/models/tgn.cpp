#include "sim/workload/models/tgn.hpp"

#include "base/text/quantity_text.hpp"
#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/layers/token_layers.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

constexpr Range kTgnWidth{1, 1 << 16};
constexpr double kCosine = 20;  // operations of a cosine on the plain lanes
constexpr std::int64_t kMostNodesPerSample = 1 << 24;

class TgnBuilder {
 public:
  TgnBuilder(const TgnSpec& spec, std::int64_t samples, const LayerContext& context)
      : s_(spec), stack_(context, spec.dropout), n_(samples) {}

  std::vector<Layer> build() {
    lookups();
    update();
    std::int64_t width = s_.memory_dim;
    for (std::int64_t hop = s_.layers; hop > 0; --hop) {
      attention("hop" + std::to_string(hop), n_ * s_.nodes_at(hop - 1), width);
      width = s_.embedding_dim;
    }
    decoder();
    store();
    return stack_.take();
  }

 private:
  graph::DType dtype() const { return stack_.dtype(); }
  std::int64_t messages() const { return 2 * n_; }

  /// Forward only: neither memory nor features are trained.
  void gather(const std::string& name, std::int64_t rows, std::int64_t width, std::int64_t lookups, double skew) {
    graph::EmbeddingBag op;
    op.tables = {{rows, width, 1, skew}};
    op.batch = lookups;
    op.output = graph::DType::fp32;
    op.optimizer = graph::EmbeddingOptimizer::none;
    stack_.layers().back().forward.push_back({name, op, {1, 1}});
  }

  /// What lies in host memory comes with the input instead.
  void lookups() {
    const std::int64_t all = n_ * s_.nodes_at(s_.layers), edges = all - n_ * s_.roots();
    Layer& layer = stack_.push("memory");
    if (!s_.memory_on_host) gather("memory", s_.nodes, s_.memory_dim, all, s_.node_skew);
    layer.saved_bytes = 4 * all * s_.memory_dim;
    if (edges > 0 && s_.edge_features > 0 && !s_.memory_on_host)
      gather("edge_features", std::max<std::int64_t>(s_.nodes, edges), s_.edge_features, edges, 0);
    time_encoding("time", all);
  }

  void time_encoding(const std::string& name, std::int64_t count) {
    Layer& layer = stack_.push(name);
    const std::int64_t elements = count * s_.time_dim;
    layer.forward.push_back(elementwise(name, elements, 0, 1, kCosine, dtype(), {3, 2}));
    layer.backward.push_back(elementwise(name + ".wgrad", elements, 2, 1, kCosine, dtype(), {4, 4}));
    layer.parameters = {{name + ".frequency", s_.time_dim}, {name + ".phase", s_.time_dim}};
    layer.saved_bytes = stack_.bytes(elements);
  }

  /// A cell is one step of a layer.
  void update() {
    Layer& message = stack_.push("messages");
    message.forward.push_back(
        {"messages", graph::Concat{4 * messages() * s_.message_dim(), 4}, {6, 4}});  // the last message of each node
    graph::Recurrent cell;
    cell.cell = graph::Cell::gru;
    cell.kernels = graph::RecurrentKernels::per_step;
    cell.batch = messages();
    cell.length = 1;
    cell.input = s_.message_dim();
    cell.hidden = s_.memory_dim;
    stack_.recurrent("memory_update", cell);
  }

  void attention(const std::string& name, std::int64_t targets, std::int64_t width) {
    const std::int64_t keys = targets * s_.neighbors, inner = width + s_.time_dim;
    const std::int64_t key_width = width + s_.edge_features + s_.time_dim;
    joined(name + ".keys.inputs", keys * key_width, 3);
    stack_.linear(name + ".query", targets, inner, inner);
    stack_.linear(name + ".key", keys, key_width, inner);
    stack_.linear(name + ".value", keys, key_width, inner);
    scores(name, targets, inner);
    stack_.linear(name + ".output", targets, inner, inner);
    joined(name + ".merge.inputs", targets * (inner + width), 2);
    stack_.linear(name + ".merge0", targets, inner + width, s_.embedding_dim, Activation::relu);
    stack_.linear(name + ".merge1", targets, s_.embedding_dim, s_.embedding_dim);
  }

  void joined(const std::string& name, std::int64_t elements, std::int64_t pieces) {
    const graph::Concat op{stack_.bytes(elements), pieces};
    Layer& layer = stack_.push(name);
    layer.forward.push_back({name, op, {1, 1}});
    layer.backward.push_back({name + ".dgrad", op, {2, 1}});
  }

  void scores(const std::string& name, std::int64_t targets, std::int64_t inner) {
    graph::Attention op;
    op.batch = targets;
    op.heads = s_.heads;
    op.q_len = 1;
    op.kv_len = s_.neighbors;
    op.head_dim = inner / s_.heads;
    op.dropout = s_.dropout;
    op.dtype = dtype();
    Layer& layer = stack_.push(name + ".scores");
    layer.forward.push_back({name + ".scores", op, {9, 6}});
    op.pass = graph::Pass::backward;
    layer.backward.push_back({name + ".scores.dgrad", op, {8, 8}});
    layer.saved_bytes = stack_.bytes(2 * targets * s_.heads * s_.neighbors);
  }

  void decoder() {
    const std::int64_t pairs = 2 * n_;
    joined("decoder.inputs", pairs * 2 * s_.embedding_dim, 2);
    stack_.linear("decoder0", pairs, 2 * s_.embedding_dim, s_.embedding_dim, Activation::relu);
    stack_.linear("decoder1", pairs, s_.embedding_dim, 1);
    graph::Loss op;
    op.kind = graph::LossKind::binary_cross_entropy;
    op.rows = pairs;
    Layer& layer = stack_.push("loss");
    layer.forward.push_back({"loss", op, {3, 3}});
    op.pass = graph::Pass::backward;
    layer.backward.push_back({"loss.dgrad", op, {2, 2}});
  }

  /// Memory, its time and the raw message of each end, written in place; to the host where they lie there.
  void store() {
    const std::int64_t bytes = 4 * messages() * (s_.memory_dim + s_.message_dim() + 1);
    const graph::CopyKind kind = s_.memory_on_host ? graph::CopyKind::d2h : graph::CopyKind::d2d;
    stack_.push("store").forward.push_back({"store", graph::Copy{kind, bytes}, {6, 3}});
  }

  const TgnSpec& s_;
  TokenStack stack_;
  std::int64_t n_;
};

std::optional<std::string> broken_tgn_rule(const TgnSpec& s) {
  for (std::int64_t layer = 0; layer < s.layers; ++layer) {
    const std::int64_t width = (layer == 0 ? s.memory_dim : s.embedding_dim) + s.time_dim;
    if (width % s.heads != 0)
      return "heads: found " + std::to_string(s.heads) + ", expected a divisor of the attention's width, " +
             std::to_string(width);
  }
  double nodes = 3;
  for (std::int64_t layer = 0; layer < s.layers; ++layer) nodes *= 1 + static_cast<double>(s.neighbors);
  if (nodes <= kMostNodesPerSample) return std::nullopt;
  return "layers: found " + std::to_string(s.layers) + " with " + std::to_string(s.neighbors) +
         " neighbors, expected at most 2^24 nodes per sample";
}

}  // namespace

std::int64_t TgnSpec::nodes_at(std::int64_t hop) const {
  std::int64_t count = roots();
  for (std::int64_t i = 0; i < hop; ++i) count *= 1 + neighbors;
  return count;
}

std::vector<Layer> tgn_layers(const TgnSpec& spec, std::int64_t samples, const LayerContext& context) {
  return TgnBuilder(spec, samples, context).build();
}

Schema<TgnSpec> tgn_schema() {
  Schema<TgnSpec> s("tgn", "Temporal graph network with node memory, on interactions in the order of time.");
  s.optional("nodes", &TgnSpec::nodes, {1, 1e12}, "Nodes of the graph, each with a memory vector.");
  s.optional("edge_features", &TgnSpec::edge_features, {0, 1 << 16}, "Features of an interaction.");
  s.optional("memory_dim", &TgnSpec::memory_dim, kTgnWidth, "Elements of a node's memory.");
  s.optional("time_dim", &TgnSpec::time_dim, kTgnWidth, "Elements of the encoding of a time difference.");
  s.optional("embedding_dim", &TgnSpec::embedding_dim, kTgnWidth, "Elements of a node's embedding after each hop.");
  s.optional("neighbors", &TgnSpec::neighbors, {1, 10'000}, "Neighbours sampled for each node, the latest ones.");
  s.optional("layers", &TgnSpec::layers, {1, 8}, "Hops of attention.");
  s.optional("heads", &TgnSpec::heads, {1, 1024}, "Attention heads.");
  s.optional("node_skew", &TgnSpec::node_skew, {0, 4},
             "Exponent of the power law of how often nodes are looked up; 0 is uniform.");
  s.optional("memory_on_host", &TgnSpec::memory_on_host,
             "Memory and features lie in host memory and are copied for each batch, as in TGL.");
  s.optional("sampling_per_node", &TgnSpec::sampling_per_node, {0, 1e-2},
             "Host time to find the neighbours of one node: a search in its interactions and a copy of the latest.");
  s.optional(
      "overlap_sampling", &TgnSpec::overlap_sampling,
      "Other threads sample the next batch; otherwise the thread that launches kernels does, before each batch.");
  s.optional("dropout", &TgnSpec::dropout, "Dropout on the attention's weights.");
  s.rule(broken_tgn_rule);
  return s;
}

namespace {

/// Neither bytes nor times overflow.
Result<void> check_tgn_size(const TgnSpec& s, std::int64_t samples, const std::string& key) {
  const double nodes = static_cast<double>(samples) * static_cast<double>(s.nodes_at(s.layers));
  const auto widest = static_cast<double>(s.message_dim() + s.embedding_dim + s.time_dim);
  if (nodes * widest * 8 > 4e18) {
    return Error{
        key + ": found " + std::to_string(samples) + " samples on a GPU, expected fewer than 4e18 bytes of vectors", "",
        ""};
  }
  if (s.sampling_per_node.seconds() * nodes <= Duration::kMaxSeconds) return {};
  return Error{"model.tgn.sampling_per_node: found " +
                   format_quantity(s.sampling_per_node.seconds(), Dimension::seconds) +
                   ", expected at most 1e6 s for " + std::to_string(samples) + " samples",
               "", ""};
}

Result<Workload> build_tgn(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                           const SamplePlan& samples) {
  const TgnSpec spec = as_run<TgnSpec>(model);
  TRY(check_tgn_size(spec, samples.micro_step(0).largest(), batch_key(model)));
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.layers = [&](std::int64_t n) { return tgn_layers(spec, n, context); };
  const std::int64_t all = spec.nodes_at(spec.layers), edges = all - spec.roots();
  const std::int64_t searched = spec.nodes_at(spec.layers - 1);
  // Ids and times; and what lies on the host: memories, features, and the two pending messages of an interaction.
  double bytes = 12.0 * static_cast<double>(all) + 4.0 * static_cast<double>(spec.edge_features);
  if (spec.memory_on_host)
    bytes += 4.0 * static_cast<double>(all * spec.memory_dim + edges * spec.edge_features + 2 * spec.message_dim());
  parts.input_bytes_per_sample = bytes;
  parts.sampling_per_sample = spec.sampling_per_node * searched;
  parts.sampling_overlaps = spec.overlap_sampling;
  // Of each node, what a batch writes back: memory, its time and the raw message. How many interactions there are is not known.
  if (!spec.memory_on_host) parts.kept_bytes = 4 * spec.nodes * (spec.memory_dim + spec.message_dim() + 1);
  return build_data_parallel(model, framework, shape, samples, parts);
}

constexpr Refusal kTgnRefuses[] = {
    {"{heads: 3}", "model.tgn.heads"},
    {"{layers: 8, neighbors: 20}", "model.tgn.layers"},
    {"{neighbors: 0}", "model.tgn.neighbors"},
};

}  // namespace

extern const ModelFamily tgn_family;
constinit const ModelFamily tgn_family{
    .name = "tgn",
    .sentence =
        "Temporal graph network: node memory, GRU update, attention over neighbours sampled on the host; data "
        "parallel",
    .refuses = kTgnRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, tgn_schema()); },
    .build = build_tgn,
};

}  // namespace distsim::workload
