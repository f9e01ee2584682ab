// OpGraph: what a framework calls in one iteration of one rank, op by op, with shapes and element types and without
// times. It comes from a capture of a model (docs/graph_format.md) or from a recorded execution trace.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sim/graph/ops/collective.hpp"
#include "sim/graph/ops/dtype.hpp"
#include "sim/graph/task_graph.hpp"

namespace distsim::opgraph {

/// A size: `constant` + `per_sample` for each sample of the rank's batch.
struct Extent {
  std::int64_t constant = 0, per_sample = 0;
  bool operator==(const Extent&) const = default;
};

/// Type of an element in memory. Types without a kind of their own (bool, int16, complex) stand as one of the same size.
struct Element {
  graph::DType dtype = graph::DType::fp32;
  std::int64_t bytes = 4;
  bool floating = true;
};
/// "float32", "c10::Half", "long int", "Tensor(float)". Nothing for other names.
std::optional<Element> element_named(std::string_view name);

enum class TensorRole : std::uint8_t { activation, input, parameter, buffer };

struct Tensor {
  std::vector<Extent> dims;
  Element element;
  TensorRole role = TensorRole::activation;
  bool on_host = false;
  bool channels_last = false;
  std::uint64_t storage = 0;  ///< tensors of one storage share memory; 0: not known
  std::string name;           ///< of parameters, buffers and inputs: "layer1.0.conv1.weight"
};

/// An argument of a call: tensors by their index, numbers (also bools), or text.
struct Argument {
  enum class Kind : std::uint8_t { none, tensors, number, numbers, text };
  Kind kind = Kind::none;
  std::vector<std::uint32_t> tensors;
  std::vector<double> numbers;
  std::string text;
};

struct Communication {
  graph::Collective op;
  std::vector<std::uint32_t> ranks;  ///< of the group, where they are recorded
  std::uint32_t size = 0;            ///< ranks of the group; 0: all
  bool per_rank = false;             ///< op.bytes are those of one rank of a group whose size is not known
};

/// What a trace says of a kernel that it gives no shapes of.
struct StatedWork {
  double flops = 0, bytes = 0;  ///< bytes: of what it reads or writes
};

/// A call that may launch kernels: views, allocations and wrappers of other calls are left out by the readers.
struct Node {
  std::string op;     ///< "aten::addmm"
  std::string label;  ///< where it is, for messages and reports: "layer1.0.conv1", "node 57"
  std::vector<Argument> inputs;
  std::vector<std::uint32_t> outputs;
  graph::Phase phase = graph::Phase::forward;
  /// Operators that the host calls for it: its own, and those since the node before that launch nothing (views, and nodes
  /// of autograd that pass a gradient on). 0: one of several nodes of an operator.
  std::uint32_t calls = 1;
  std::optional<Communication> communication;
  /// Type of the region of torch.autocast that the model calls it in, fp32 where that disables it; nothing: the job's precision.
  std::optional<graph::DType> autocast;
  std::optional<StatedWork> work;          ///< of a call without tensors
  std::optional<std::uint32_t> waits_for;  ///< index of a collective that it depends on, where a trace says so
};

/// Node::op of a call that lets the device's work wait for the collectives before it.
inline constexpr std::string_view kWait = "wait for collectives";

/// A gradient of a parameter is complete after a node.
struct Gradient {
  std::uint32_t parameter = 0;  ///< index of a tensor
  std::uint32_t after = 0;      ///< index of a node
  bool sparse = false;          ///< in the model it has only the rows of ids; in the graph all
};

/// What a reader counted and left out.
struct Left {
  std::string what;
  std::uint64_t count = 0;
};

/// OpGraph::format of a model whose backward pass is derived from its nodes.
inline constexpr std::string_view kOnnxFormat = "ONNX";

struct OpGraph {
  std::string file, format;
  std::string name;          ///< of the model, where it is stated
  bool recorded = false;     ///< a whole iteration as it ran, with its collectives and its optimizer
  std::int64_t samples = 0;  ///< of the batch it was captured with; 0: not stated
  bool any_batch = false;    ///< sizes are known for every number of samples
  std::string one_batch;     ///< why they are not, where it is stated
  std::uint32_t ranks = 1;   ///< of the recorded job
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;  ///< in the order of the calls
  std::vector<Gradient> gradients;
  std::vector<std::uint32_t> results;  ///< tensors that the model gives, where the file says which
  std::vector<std::string> remarks;
  std::vector<Left> left_out;
};

/// The first node that has a tensor, for messages: "node 3 (aten::view, encoder)"; without one "tensor 7".
std::string node_with(const OpGraph& graph, std::uint32_t tensor);

inline constexpr std::size_t kMostNodes = 2'000'000;
inline constexpr std::size_t kMostDims = 32;
inline constexpr std::int64_t kLargestExtent = std::int64_t{1} << 48;

/// What a file may leave open.
struct GraphOptions {
  std::map<std::string, std::int64_t> dimensions;  ///< sizes of dynamic dimensions, by their names
  bool cross_entropy = false;                      ///< the loss of a model without one; else the sum of its output
  bool forward_only = false;                       ///< no backward pass is derived
  bool operator==(const GraphOptions&) const = default;
};

/// What errors expect where a file is of no format: "a distsim graph, a PyTorch execution trace, ...".
std::string list_of_formats();

/// Reads any format. Errors name the file and, where there is one, the node.
Result<OpGraph> read_op_graph(const std::string& path, const GraphOptions& options = {});
/// The same of text in memory. `name` appears in messages.
Result<OpGraph> parse_op_graph(std::string text, const std::string& name, const GraphOptions& options = {});

}  // namespace distsim::opgraph
