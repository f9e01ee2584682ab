// The kernels of a graph's nodes under a precision: types as autocasting leaves them, with the casts that it adds.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/opgraph/kernels.hpp"
#include "sim/workload/layers/layer.hpp"
#include "sim/workload/opgraph/graph_spec.hpp"

namespace distsim::workload {

/// Whether the model itself has regions of torch.autocast in 16 bits.
bool has_regions(const opgraph::OpGraph& graph);

/// Floating-point operations of products, by the name of their type.
class FlopsOfTypes {
 public:
  void add(const LayerOp& op);
  /// The type of most of them; `otherwise` where there are none.
  Precision most(Precision otherwise) const;

 private:
  std::map<std::string_view, double> flops_;
};

/// How many of a graph's kernels have a model of their own, and what becomes of the others.
struct GraphCoverage {
  std::uint64_t kernels = 0, unlisted = 0;
  double bytes = 0, unlisted_bytes = 0;        ///< read and written by the calls
  std::map<std::string, std::uint64_t> names;  ///< of calls that are not listed
  std::map<std::string, std::uint64_t> host;   ///< calls without a tensor on a device, which are left out
  // Operations of products: of the forward pass, of the backward pass without what is computed again, and of the gradients
  // of a model's inputs, which nobody asks for and the usual count (three times the forward pass) has.
  double forward_flops = 0, backward_flops = 0, unasked_flops = 0;
  FlopsOfTypes types;
  /// Operations of a training step over those of its forward pass: 3 where all is trained.
  double work_of_forward() const;
  /// "graph: 160 of 163 kernels (98.2 %), 99.7 % of the bytes, are priced by models of their ops; ..."
  std::string text() const;
};

struct NodeKernels {
  std::vector<LayerOp> ops;
  bool listed = true;
};

/// Nodes are to be asked for in their order: types follow from one to the next.
class GraphKernels {
 public:
  /// A captured graph in fp32 is autocast where `numerics` is mixed, or, with Amp::half, all of it in 16 bits; regions of
  /// torch.autocast in the model have the types that they state, but with Amp::half. A recorded one keeps its types. Products and convolutions of fp32 run as tf32 where that is the precision.
  GraphKernels(const opgraph::OpGraph& graph, std::int64_t samples, const Numerics& numerics, bool eager,
               Amp amp = Amp::autocast);

  NodeKernels of(const opgraph::Node& node);
  /// The gradient of a parameter is complete: that of a 16-bit copy is cast back.
  void complete(std::uint32_t parameter, std::vector<LayerOp>& ops);
  const opgraph::Sizes& sizes() const { return sizes_; }
  const GraphCoverage& coverage() const { return coverage_; }

 private:
  /// Types of what a node reads and makes. Returns that of its products, where autocasting says which it is.
  std::optional<graph::DType> autocast(const opgraph::Node& node, std::vector<LayerOp>& casts);
  /// The 16-bit type that autocasting computes a node's products in; nothing where it does not.
  std::optional<opgraph::Element> narrow_of(const opgraph::Node& node) const;
  /// A node outside of all regions, or where one disables autocasting.
  std::optional<graph::DType> uncast(const opgraph::Node& node, std::vector<LayerOp>& casts);
  void set_results(const opgraph::Node& node, const opgraph::Element& type);
  void set_type(std::uint32_t tensor, const opgraph::Element& type);
  void cast(std::uint32_t tensor, const opgraph::Element& to, const std::string& label, std::vector<LayerOp>& casts);
  void count(const opgraph::Call& call, const opgraph::Kernels& kernels);

  opgraph::Sizes sizes_;
  Numerics numerics_;
  bool autocasts_, half_, eager_;
  /// Views share the storage, and with it the type, of what they look at; those that only look are no nodes.
  std::vector<std::uint32_t> storage_of_;              ///< of tensors, numbered from 0
  std::vector<std::uint32_t> first_view_, next_view_;  ///< of a storage; of a tensor: another of its storage
  std::vector<bool> cast_already_;                     ///< of storages: there is a 16-bit copy
  GraphCoverage coverage_;
};

/// Largest sum of tensors that are needed at the same time: each from the node that makes it to the last that reads it.
/// Parameters, buffers and gradients of parameters are not counted.
std::int64_t live_bytes(const opgraph::OpGraph& graph, const opgraph::Sizes& sizes);

}  // namespace distsim::workload
