// Models given as a graph of a framework's calls.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <mutex>

#include "sim/workload/family.hpp"
#include "sim/workload/opgraph/graph_spec.hpp"
#include "sim/workload/opgraph/graph_workload.hpp"

namespace distsim::workload {
namespace {

/// Graphs that were read last. An experiment is read several times, by studies and to see which of its keys matter; a graph
/// is read again where its file has changed.
class KeptGraphs {
 public:
  struct Key {
    std::string path;
    opgraph::GraphOptions options;
    std::filesystem::file_time_type written;
    std::uintmax_t size = 0;
    bool operator==(const Key&) const = default;
  };

  static Key key_of(const GraphSpec& spec) {
    std::error_code unknown;
    return {spec.path, spec.options, std::filesystem::last_write_time(spec.path, unknown),
            std::filesystem::file_size(spec.path, unknown)};
  }
  std::shared_ptr<const opgraph::OpGraph> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto at = std::ranges::find(kept_, key, &Kept::key);
    return at == kept_.end() ? nullptr : at->graph;
  }
  void keep(const Key& key, std::shared_ptr<const opgraph::OpGraph> graph) {
    const std::lock_guard lock(mutex_);
    if (kept_.size() == kMost) kept_.erase(kept_.begin());
    kept_.push_back({key, std::move(graph)});
  }

 private:
  static constexpr std::size_t kMost = 4;
  struct Kept {
    Key key;
    std::shared_ptr<const opgraph::OpGraph> graph;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

void read_again(GraphSpec& spec) {
  static KeptGraphs kept;
  spec.unread.clear();
  const KeptGraphs::Key key = KeptGraphs::key_of(spec);
  spec.graph = kept.find(key);
  if (spec.graph != nullptr) return;
  auto graph = opgraph::read_op_graph(spec.path, spec.options);
  if (graph.ok()) {
    spec.graph = std::make_shared<const opgraph::OpGraph>(std::move(*graph));
    kept.keep(key, spec.graph);
    return;
  }
  const Error& e = graph.error();
  spec.unread = (e.where.empty() ? "" : e.where + ": ") + e.what + (e.hint.empty() ? "" : "; " + e.hint);
}

Result<void> read_graph_file(GraphSpec& spec, const ConfigNode& node, const std::string& path) {
  TRY_ASSIGN(spec.file, schema_detail::read_string(node, path));
  std::filesystem::path file = spec.file;
  if (file.is_relative() && node.where.line > 0 && node.where.file)
    file = std::filesystem::path(*node.where.file).parent_path() / file;
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown)) return schema_detail::expected(node, path, "a graph's file that exists");
  spec.path = file.lexically_normal().string();
  read_again(spec);
  return {};
}

/// Sizes that a file leaves open may stand before its name or after it.
Result<void> read_dimensions(GraphSpec& spec, const ConfigNode& node, const std::string& path) {
  if (node.kind != ConfigNode::Kind::map) return schema_detail::expected(node, path, "a map from names to sizes");
  for (const auto& entry : node.entries) {
    TRY_ASSIGN(const std::string text, schema_detail::read_string(entry.value, path + "." + entry.key));
    std::int64_t size = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), size);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || size < 1 || size > opgraph::kLargestExtent)
      return schema_detail::expected(entry.value, path + "." + entry.key, "a size of 1 .. 2^48");
    spec.options.dimensions[entry.key] = size;
  }
  if (!spec.path.empty()) read_again(spec);
  return {};
}

Result<void> read_loss(GraphSpec& spec, const ConfigNode& node, const std::string& path) {
  TRY_ASSIGN(const std::string text, schema_detail::read_string(node, path));
  if (text != "sum" && text != "cross_entropy") return schema_detail::expected(node, path, "sum or cross_entropy");
  spec.options.cross_entropy = text == "cross_entropy";
  if (!spec.path.empty()) read_again(spec);
  return {};
}

/// none, found, or modules.
Result<void> read_tables(GraphSpec& spec, const ConfigNode& node, const std::string& path) {
  spec.tables = {};
  if (node.kind == ConfigNode::Kind::scalar) {
    if (node.scalar != "none" && node.scalar != "found")
      return schema_detail::expected(node, path, "none, found, or a list of modules such as [tables.*]");
    spec.tables.all = node.scalar == "found";
    return {};
  }
  if (node.kind != ConfigNode::Kind::sequence)
    return schema_detail::expected(node, path, "none, found, or a list of modules such as [tables.*]");
  for (const ConfigNode& item : node.items) {
    TRY_ASSIGN(std::string name, schema_detail::read_string(item, path));
    spec.tables.modules.push_back(std::move(name));
  }
  return {};
}

Result<Workload> build_graph(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& shape,
                             const SamplePlan& samples) {
  const GraphSpec& spec = model.as<GraphSpec>();
  if (spec.graph == nullptr) return Error{"model.graph.file: found none, expected the file of a graph", "", ""};
  if (model.precision > Precision::bf16)
    return Error{"model.precision: found " + std::string(name_of(model.precision)) +
                     ", expected fp32, tf32, fp16 or bf16 for a graph",
                 "", ""};
  return spec.graph->recorded ? build_recorded(*spec.graph, model, framework, shape, samples)
                              : build_captured(spec, model, framework, shape, samples);
}

constexpr Refusal kGraphRefuses[] = {
    {"{}", "model.graph.file"},
    {"{file: no_such.graph}", "no_such.graph"},
};

}  // namespace

Schema<GraphSpec> graph_schema() {
  Schema<GraphSpec> s("graph", "A model as a graph of a framework's calls.");
  s.custom(
      {"file", "text", "", "none",
       "The graph: what distsim_capture writes, an ONNX model, or a PyTorch execution trace; also gzipped. Counted from the folder of the file that names it."},
      false, read_graph_file);
  s.custom(
      {"dimensions", "map to integer", "1 .. 2^48", "empty",
       "Sizes of an ONNX model's dynamic dimensions by name, without the batch: {sequence: 128}. One without a name is called INPUT.PLACE."},
      false, read_dimensions);
  s.custom(
      {"loss", "sum, or cross_entropy", "", "sum",
       "ONNX models: the loss that the backward pass starts from, of the first output: its sum, or the cross entropy over its last dimension."},
      false, read_loss);
  s.optional("fuse", &GraphSpec::fuse,
             "Captured graphs and ONNX models: chains of pointwise calls are one kernel, as torch.compile makes it.");
  s.scalars(
      "checkpoint", &GraphSpec::checkpoint, {},
      "Captured graphs and ONNX models: modules whose activations are computed again in the backward pass; * is one part of a name: blocks.*");
  s.choice(
      "amp", &GraphSpec::amp, {{"autocast", Amp::autocast}, {"half", Amp::half}},
      "Captured graphs and ONNX models in 16 bits: autocast: casts around the calls that need another type, as torch.autocast makes them; half: all tensors in 16 bits, with fp32 master weights in the optimizer (apex O2, model.half(), FSDP's MixedPrecision).");
  s.scalars(
      "units", &GraphSpec::units, {},
      "Captured graphs and ONNX models, with parallel.shard: modules whose weights are gathered together, as FSDP's wrapping policy names them; * is one part of a name: blocks.*. What is in none of them is a unit of its own.");
  s.custom(
      {"tables", "none, found, or a list of modules", "", "none",
       "Captured graphs and ONNX models: embedding tables that are split over the ranks by parallel.sharding, as those of kind dlrm are, and updated row by row. none: parameters like any others; found: all parameters that nothing but lookups reads; or the lookups of these modules."},
      false, read_tables);
  s.joined(&GraphSpec::embedding, lookup_schema("graph"));
  s.rule([](const GraphSpec& spec) -> std::optional<std::string> {
    return spec.unread.empty() ? std::nullopt : std::optional("file: " + spec.unread);
  });
  return s;
}

extern const ModelFamily graph_family;
constinit const ModelFamily graph_family{
    .name = "graph",
    .sentence =
        "Any PyTorch model from its graph: captured with distsim_capture, or a recorded execution trace; data parallel",
    .refuses = kGraphRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, graph_schema()); },
    .build = build_graph,
};

}  // namespace distsim::workload
