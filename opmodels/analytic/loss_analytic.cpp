// Loss and its gradient.
//   cross_entropy         log-softmax over the classes (as softmax), then a gather of one class a row; backward reads
//   log p and writes the gradient binary_cross_entropy, reads prediction and target, writes one value each, then
//   reduces them: two kernels; backward reads both and writes the mean_squared_error    gradient: one kernel
#include "opmodels/analytic/streaming_analytic.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

double cross_entropy_seconds(const DeviceRates& device, double rows, double classes, double element, graph::Pass pass) {
  const double gather = streaming_seconds(device, rows * (element + 8), 0);  // one value and one 64-bit label a row
  return gather + softmax_seconds(device, rows, classes, element, pass);
}

double pointwise_loss_seconds(const DeviceRates& device, double elements, double element, graph::Pass pass) {
  const double values = streaming_seconds(device, 3 * elements * element, 10 * elements);
  return pass == graph::Pass::forward ? values + streaming_seconds(device, elements * element, elements) : values;
}

}  // namespace

Result<OpTime> price_loss(const DeviceRates& device, const graph::Loss& op) {
  TRY(check_dims("loss", {{"rows", op.rows}, {"classes", op.classes}}));
  TRY(check_pass("loss", op.pass, {graph::Pass::forward, graph::Pass::backward}));
  const double rows = as_double(op.rows), classes = as_double(op.classes),
               element = as_double(graph::size_of(op.dtype));
  const double seconds = op.kind == graph::LossKind::cross_entropy
                             ? cross_entropy_seconds(device, rows, classes, element, op.pass)
                             : pointwise_loss_seconds(device, rows * classes, element, op.pass);
  return OpTime{seconds, {0.4, 0.6}};
}

}  // namespace distsim::opmodels
