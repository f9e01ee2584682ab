// A served model as a graph of a framework's calls (docs/graph_format.md), and what its layers take on a device.
//
// A layer is a run of neighbouring calls of one module. Its kernels take the sum of what the op models give each of them.
// Where a framework launches them one by one, the host is the second line of work: with h(l) its time for all calls and
// launches up to layer l (FrameworkSpec::Host), k(l) the kernels of layer l,
//     end(l) = max(end(l - 1), h(l)) + k(l),     time(l) = end(l) - end(l - 1),
// so that small layers take what the host needs for them and large ones hide it. The host begins with the model; a request
// that is taken up again at a later layer has the same times.
//
// What a layer keeps busy of the SMs and of memory is the share of its time that goes with them (graph::BoundShares), of
// the launching thread h / time. Its energy above idle is
//     limit x (static x time + sum over kernels of what their units draw above static) - idle power x time
// by their time of full power (graph::Cost::busy) and the shares of topology/devices/device_spec.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "opmodels/op_models.hpp"
#include "sim/opgraph/op_graph.hpp"
#include "sim/serving/emulator/scenario.hpp"
#include "sim/workload/specs/framework_spec.hpp"
#include "sim/workload/specs/model_spec.hpp"

namespace distsim::serving {

struct GraphOptions {
  workload::Precision precision = workload::Precision::fp32;  ///< fp16, bf16: weights and activations are stored so
  bool fused = false;                                         ///< see GraphModel::price
  const workload::FrameworkSpec* framework = nullptr;         ///< whose host launches kernels; null: kernels alone
  double idle_watts = 0;                                      ///< of the device
};

/// The op models of a device. Element-wise kernels of inference move little data, from one kernel to the next through
/// the L2: `plain`, the analytic models, have their floor and their rates. The learned ones were trained on timings of
/// single calls, whose floor is that of the timing: 12 us, where the layers of ResNet18 at batch 1 take 3 to 4.
struct DevicePrices {
  opmodels::OpModels all, plain;
  const opmodels::OpModels& of(const graph::Op& op) const {
    return std::holds_alternative<graph::Elementwise>(op) ? plain : all;
  }
};

struct PricedLayer {
  std::string name;  ///< of the module
  double kernel_ps = 0, time_ps = 0, host_ps = 0;
  double joules = 0;  ///< above idle
  Demand demand;
};

class GraphModel {
 public:
  /// Errors: a file that is no graph; one that was recorded with collectives; a backward pass.
  static Result<GraphModel> read(const std::string& path, workload::Precision precision);

  std::uint32_t layers() const { return static_cast<std::uint32_t>(layer_ends_.size()); }
  /// Parameters and buffers.
  std::int64_t weight_bytes() const { return weight_bytes_; }
  std::int64_t input_bytes() const { return input_bytes_; }    ///< of one request
  std::int64_t output_bytes() const { return output_bytes_; }  ///< of one request: of the last call
  /// Tensors of one request that are there after each layer and needed by a later one.
  const std::vector<std::int64_t>& state_after() const { return state_after_; }
  /// Of each layer those that it needs: they wrote what it reads, or read or wrote what it writes. Bytes are those of the
  /// tensors of one request that it reads.
  const std::vector<std::vector<LayerGraph::Need>>& needs() const { return needs_; }
  /// The only batch that it has sizes for; 0: any.
  std::int64_t only_batch() const { return graph_->any_batch ? 0 : graph_->samples; }

  /// Of a batch. With `fused`, as by an inference runtime: batch normalisation after a convolution is part of its
  /// weights, and element-wise calls that read what a product or a convolution has just written are part of that kernel.
  /// Errors: an op that the device does not have.
  Result<std::vector<PricedLayer>> price(const DevicePrices& device, std::int64_t batch,
                                         const GraphOptions& options) const;
  /// "160 of 163 kernels (98.2 %), 99.7 % of their bytes, are priced by models of their ops; estimated from bytes: ...", at
  /// batch 1; nothing where all are, and none is left out.
  std::string estimated(const GraphOptions& options) const;

 private:
  void cut_layers();
  void size_states();
  void find_needs();
  std::vector<char> fused_calls() const;

  std::shared_ptr<const opgraph::OpGraph> graph_;
  std::vector<std::uint32_t> layer_ends_;  ///< one past the last call of each layer
  std::vector<std::int64_t> state_after_;
  std::vector<std::vector<LayerGraph::Need>> needs_;  ///< by layer
  std::int64_t weight_bytes_ = 0, input_bytes_ = 0, output_bytes_ = 0;
};

}  // namespace distsim::serving
