// Dense optimizer, multi-tensor kernels: time = kernels * floor + bytes / bandwidth. Bytes per parameter, with g the
// gradient's size and w the weight's, which is that of the optimizer's state as well:
//
//   sgd       g + 2w                  read gradient, read and write weight
//   momentum  g + 2w + 2w             plus read and write of the velocity
//   adagrad   g + 2w + 2w             plus the squared sum
//   adam      g + 2w + 4w             plus both moments
//   lamb      g + 2w + 4w + (4+4+4)   update written, then norms of update and weight read, then the update read again
//   lars      g + 2w + 2w + (g + w)   plus a sweep for the two norms
//
// With master weights, w is the fp32 master copy (4 bytes) and a 16-bit copy is written as well (+2).
// One launch takes up to about 100 tensors and 320 chunks of 65,536 elements (Apex and PyTorch multi_tensor_apply).
#include <algorithm>
#include <cmath>

#include "opmodels/analytic/kernels.hpp"
#include "opmodels/registry.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kTensorsPerLaunch = 100;
constexpr double kParametersPerLaunch = 320.0 * 65536.0;

double bytes_per_parameter(const graph::Optimizer& op) {
  const double g = graph::real(graph::size_of(op.gradient));
  const double w = op.master_weights ? 4 : std::max(2.0, graph::real(graph::size_of(op.weight)));
  const double base = g + 2 * w + (op.master_weights ? 2 : 0);
  switch (op.kind) {
    case graph::OptimizerKind::sgd:
      return base;
    case graph::OptimizerKind::momentum:
      return base + 2 * w;
    case graph::OptimizerKind::adagrad:
      return base + 2 * w;
    case graph::OptimizerKind::adam:
      return base + 4 * w;
    case graph::OptimizerKind::lamb:
      return base + 4 * w + 12;
    case graph::OptimizerKind::lars:
      return base + 2 * w + g + w;
  }
  return base;
}

/// Sweeps over all parameters: the norms of lamb and lars need kernels of their own.
double sweeps(graph::OptimizerKind kind) {
  if (kind == graph::OptimizerKind::lamb) return 4;  // update, two norms, apply
  return kind == graph::OptimizerKind::lars ? 3 : 1;
}

Result<OpTime> price_optimizer(const DeviceRates& device, const graph::Optimizer& op) {
  const double parameters = graph::real(op.parameters);
  const double launches =
      std::max(std::ceil(graph::real(op.tensors) / kTensorsPerLaunch), std::ceil(parameters / kParametersPerLaunch));
  const double bytes = optimizer_bytes(op);
  // Optimizer state is touched once an iteration: nothing of it is in L2.
  const double seconds = launches * sweeps(op.kind) * device.floor + bytes / device.streaming_hbm();
  return OpTime{seconds, {0.25, 0.4}};
}

}  // namespace

double optimizer_bytes(const graph::Optimizer& op) { return graph::real(op.parameters) * bytes_per_parameter(op); }

OpModelEntry op_model(Of<graph::Optimizer>) {
  return {
      .sentence = "Bytes per parameter by kind, multi-tensor launches",
      .source = "optimizer traffic",
      .example = graph::Optimizer{graph::OptimizerKind::adam, 100'000'000, 100},
      .price = priced_as<graph::Optimizer, price_optimizer>,
  };
}

}  // namespace distsim::opmodels
