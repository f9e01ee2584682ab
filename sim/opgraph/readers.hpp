// The formats of op graphs, each with its sniffer.
#pragma once

#include <simdjson.h>

#include "sim/opgraph/op_graph.hpp"

namespace distsim::opgraph {

struct GraphFormat {
  std::string_view name;
  bool (*sniff)(const simdjson::dom::object& document);
  Result<OpGraph> (*read)(const simdjson::dom::object& document, const std::string& file);
};

extern const GraphFormat captured_format;   ///< distsim_capture's JSON, docs/graph_format.md
extern const GraphFormat execution_format;  ///< PyTorch execution traces, schemas 1.0.1 to 1.1.1

/// ONNX models, which are protobuf.
bool sniff_onnx(std::string_view bytes);
Result<OpGraph> read_onnx(std::string_view bytes, const std::string& file, const GraphOptions& options);

/// Chakra traces (.et), which are protobuf.
bool sniff_chakra(std::string_view bytes);
/// The same as the JSON of a PyTorch execution trace.
Result<std::string> chakra_as_execution_trace(std::string_view bytes, const std::string& file);

/// Operators without kernels between two nodes that a reader counts; a kernel's calls have 16 bits.
inline constexpr std::uint32_t kMostQuietCalls = 50'000;

/// Whether it could not be had. Throws std::bad_alloc where memory was short, which is no damage of the text.
bool missing(simdjson::error_code error);

/// A gradient, by its place in the list, that is said to be complete after later nodes than the one that makes it.
struct LateGradient {
  std::size_t place = 0;
  std::uint32_t maker = 0;  ///< index in OpGraph::nodes
};
/// A tensor that the backward pass makes without a kernel, by looking at another, after a node of OpGraph::nodes.
struct QuietView {
  std::uint32_t tensor = 0, node = 0;
};
std::optional<LateGradient> late_gradient(const OpGraph& graph, const std::vector<QuietView>& views);

/// A parameter whose sizes follow the batch. Views that others are made of it, as of one that is expanded to the batch, may.
std::optional<std::uint32_t> growing_parameter(const OpGraph& graph);
/// A gradient, by its place, up to whose completion no call has made a tensor of its parameter's size.
std::optional<std::size_t> unmade_gradient(const OpGraph& graph, const std::vector<QuietView>& views);

/// "model.graph: node 57 (aten::mm): found X, expected Y".
Error node_error(const std::string& file, const std::string& node, const std::string& what);

}  // namespace distsim::opgraph
