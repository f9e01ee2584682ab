// Loss and its gradient.
//
//   cross_entropy         log-softmax over the classes (as softmax), then a gather of one class per row; backward reads
//                         log p and writes the gradient
//     fused               forward reads the logits once (maximum and sum as it goes); backward reads them and writes the
//                         gradient in their place
//   binary_cross_entropy  reads prediction and target, writes one value each, then reduces them: two kernels; backward
//   mean_squared_error    reads both and writes the gradient: one kernel
#include "opmodels/analytic/kernels.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

double cross_entropy_seconds(const DeviceRates& device, double rows, double classes, double element, graph::Pass pass) {
  const double gather = streaming_seconds(device, rows * (element + 8), 0);  // one value and one 64-bit label per row
  return gather + softmax_seconds(device, rows, classes, element, pass);
}

double fused_cross_entropy_seconds(const DeviceRates& device, double rows, double classes, double element,
                                   graph::Pass pass) {
  const double tensors = pass == graph::Pass::forward ? 1 : 2;
  return streaming_seconds(device, tensors * rows * classes * element, 20 * rows * classes);
}

double pointwise_loss_seconds(const DeviceRates& device, double elements, double element, graph::Pass pass) {
  const double values = streaming_seconds(device, 3 * elements * element, 10 * elements);
  return pass == graph::Pass::forward ? values + streaming_seconds(device, elements * element, elements) : values;
}

Result<OpTime> price_loss(const DeviceRates& device, const graph::Loss& op) {
  TRY(check_product("loss", {op.rows, op.classes}));
  const double rows = graph::real(op.rows), classes = graph::real(op.classes),
               element = graph::real(graph::size_of(op.dtype));
  const auto seconds = [&] {
    if (op.kind != graph::LossKind::cross_entropy)
      return pointwise_loss_seconds(device, rows * classes, element, op.pass);
    return op.fused ? fused_cross_entropy_seconds(device, rows, classes, element, op.pass)
                    : cross_entropy_seconds(device, rows, classes, element, op.pass);
  };
  return OpTime{seconds(), {0.4, 0.6}};
}

}  // namespace

OpModelEntry op_model(Of<graph::Loss>) {
  return {
      .sentence = "Softmax and gather, or pointwise loss and reduction",
      .source = "loss traffic",
      .passes = {graph::Pass::forward, graph::Pass::backward},
      .example = graph::Loss{graph::LossKind::cross_entropy, 8192, 1000},
      .price = priced_as<graph::Loss, price_loss>,
  };
}

}  // namespace distsim::opmodels
