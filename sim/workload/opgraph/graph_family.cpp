// Models given as a graph of a framework's calls.
#include <filesystem>

#include "sim/workload/family.hpp"
#include "sim/workload/opgraph/graph_spec.hpp"
#include "sim/workload/opgraph/graph_workload.hpp"

namespace distsim::workload {
namespace {

Result<void> read_graph_file(GraphSpec& spec, const ConfigNode& node, const std::string& path) {
  TRY_ASSIGN(spec.file, schema_detail::read_string(node, path));
  std::filesystem::path file = spec.file;
  if (file.is_relative() && node.where.line > 0 && node.where.file)
    file = std::filesystem::path(*node.where.file).parent_path() / file;
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown)) return schema_detail::expected(node, path, "a graph's file that exists");
  auto graph = opgraph::read_op_graph(file.lexically_normal().string());
  if (!graph.ok()) {
    const Error& e = graph.error();
    return Error{path + ": " + (e.where.empty() ? "" : e.where + ": ") + e.what, node.where.text(), e.hint};
  }
  spec.graph = std::make_shared<const opgraph::OpGraph>(std::move(*graph));
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
                              : build_captured(*spec.graph, model, framework, shape, samples);
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
       "The graph: what distsim_capture writes, or a PyTorch execution trace; also gzipped. Counted from the folder of the file that names it."},
      false, read_graph_file);
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
