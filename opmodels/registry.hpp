// The registry of op models: an entry for every op, made in the op's own file of opmodels/analytic. A new model is that
// file and its line below; an op of graph::Op without a line does not compile, a line without an entry does not link.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "opmodels/learned/learned_kernels.hpp"
#include "opmodels/op_models.hpp"
#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

struct OpModelEntry {
  std::string_view kind;            ///< "gemm"
  std::string_view sentence;        ///< what the model does, in one sentence
  std::string_view source;          ///< Cost::source of what it returns
  std::string_view limits;          ///< what it refuses beyond the bounds of the op's fields; empty: nothing
  std::vector<graph::Pass> passes;  ///< that have a price; empty: the op has no pass, or any will do
  graph::Op example;                ///< a typical one, whose sizes can grow
  graph::Basis basis = graph::Basis::analytic;
  /// Called with the op's own alternative, all of whose fields are within their bounds.
  Result<OpTime> (*price)(const DeviceRates& device, const graph::Op& op) = nullptr;
  /// The op as one kernel of a learned model; null where there are none, nothing where this op is none.
  std::optional<KernelSample> (*sample)(const DeviceRates& device, const graph::Op& op) = nullptr;
};

/// Names a shape without one at hand.
template <class Shape>
struct Of {};

OpModelEntry op_model(Of<graph::Absent>);
OpModelEntry op_model(Of<graph::Gemm>);
OpModelEntry op_model(Of<graph::Conv2d>);
OpModelEntry op_model(Of<graph::EmbeddingBag>);
OpModelEntry op_model(Of<graph::Interaction>);
OpModelEntry op_model(Of<graph::CrossLayer>);
OpModelEntry op_model(Of<graph::Normalization>);
OpModelEntry op_model(Of<graph::Softmax>);
OpModelEntry op_model(Of<graph::Attention>);
OpModelEntry op_model(Of<graph::Elementwise>);
OpModelEntry op_model(Of<graph::Loss>);
OpModelEntry op_model(Of<graph::Copy>);
OpModelEntry op_model(Of<graph::Concat>);
OpModelEntry op_model(Of<graph::Transpose>);
OpModelEntry op_model(Of<graph::Optimizer>);
OpModelEntry op_model(Of<graph::HostWork>);
OpModelEntry op_model(Of<graph::Measured>);
OpModelEntry op_model(Of<graph::Collective>);
OpModelEntry op_model(Of<graph::Recurrent>);
OpModelEntry op_model(Of<graph::StateSpaceScan>);
OpModelEntry op_model(Of<graph::Sequence>);
OpModelEntry op_model(Of<graph::Unlisted>);

/// In the order of the alternatives of Op, so that op.index() finds the entry.
std::span<const OpModelEntry> op_model_entries();

/// The op as one kernel of a learned model; nothing where it is none. Precondition: its model has priced it.
std::optional<KernelSample> sample_of(const DeviceRates& device, const graph::Op& op);

/// A price or a sample of one shape as one of any op.
template <class Shape, auto price>
Result<OpTime> priced_as(const DeviceRates& device, const graph::Op& op) {
  return price(device, std::get<Shape>(op));
}
template <class Shape, auto sample>
std::optional<KernelSample> sampled_as(const DeviceRates& device, const graph::Op& op) {
  return sample(device, std::get<Shape>(op));
}

}  // namespace distsim::opmodels
