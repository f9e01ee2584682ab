#include "sim/workload/opgraph/kept_tensors.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "sim/opgraph/call.hpp"
#include "sim/opgraph/kernels.hpp"

namespace distsim::workload {
namespace {

/// Storages that forward products read in 16 bits, as the precision or a region of torch.autocast in the model has it.
std::unordered_set<std::uint64_t> read_by_products(const opgraph::OpGraph& graph, bool mixed) {
  std::unordered_set<std::uint64_t> out;
  for (const opgraph::Node& node : graph.nodes) {
    if (node.phase != graph::Phase::forward || opgraph::autocast_of(node.op) != opgraph::Autocast::narrow) continue;
    if (node.autocast ? node.autocast == graph::DType::fp32 : !mixed) continue;
    for (const opgraph::Argument& a : node.inputs) {
      for (const std::uint32_t t : a.tensors) out.insert(graph.tensors[t].storage);
    }
  }
  return out;
}

/// Bytes of one weight that is not trained, for each element; `read`: by a product that autocasting runs in 16 bits.
std::int64_t kept_width(const opgraph::Element& element, const Numerics& numerics, Amp amp, bool read) {
  const bool single = element.floating && element.dtype == graph::DType::fp32;
  if (!single) return element.bytes;
  if (numerics.mixed && amp == Amp::half) return 2;
  return element.bytes + (read ? 2 : 0);
}

}  // namespace

KeptTensors kept_tensors(const opgraph::OpGraph& graph, const Numerics& numerics, Amp amp) {
  std::unordered_set<std::uint64_t> trained, weights;
  for (const opgraph::Gradient& g : graph.gradients) trained.insert(graph.tensors[g.parameter].storage);
  for (const opgraph::Tensor& t : graph.tensors) {
    if (t.role == opgraph::TensorRole::parameter && t.storage != 0) weights.insert(t.storage);
  }
  const opgraph::Sizes sizes(graph, std::max<std::int64_t>(1, graph.samples));
  const std::unordered_set<std::uint64_t> read = read_by_products(graph, numerics.mixed);
  std::unordered_map<std::uint64_t, double> bytes;  // of a storage: its largest tensor
  KeptTensors out;
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
    const opgraph::Tensor& tensor = graph.tensors[t];
    const bool of_weight = tensor.role == opgraph::TensorRole::parameter;
    if ((!of_weight && tensor.role != opgraph::TensorRole::buffer) || tensor.on_host) continue;
    if (trained.contains(tensor.storage)) continue;
    const bool parameter = of_weight || weights.contains(tensor.storage);  // also a view of one
    const auto width = static_cast<double>(
        parameter ? kept_width(tensor.element, numerics, amp, read.contains(tensor.storage)) : tensor.element.bytes);
    const auto [at, is_new] = bytes.try_emplace(tensor.storage, 0);
    const double more = std::max(0.0, std::min(1e17, sizes.elements(t) * width) - at->second);
    at->second += more;
    (parameter ? out.parameter_bytes : out.buffer_bytes) += static_cast<std::int64_t>(more);
    if (!parameter || !is_new) continue;
    ++out.parameters;
    out.elements += opgraph::count(sizes.elements(t));
  }
  return out;
}

}  // namespace distsim::workload
