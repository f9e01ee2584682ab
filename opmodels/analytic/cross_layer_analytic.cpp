#include "opmodels/analytic/cross_layer_analytic.hpp"

#include "opmodels/analytic/gemm_analytic.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

double forward_seconds(const DeviceRates& device, const graph::CrossLayer& op, double tensor_pass) {
  const double b = as_double(op.batch), w = as_double(op.width), r = as_double(op.rank);
  const double products = op.rank == 0
                              ? gemm_seconds(device, 1, b, w, w, op.dtype)
                              : gemm_seconds(device, 1, b, r, w, op.dtype) + gemm_seconds(device, 1, b, w, r, op.dtype);
  return products + 2 * streaming_seconds(device, 3 * tensor_pass, b * w);
}

/// Data and weight gradient of a product m x n x k.
double gradient_seconds(const DeviceRates& device, double m, double n, double k, graph::DType dtype) {
  return gemm_seconds(device, 1, m, k, n, dtype) + gemm_seconds(device, 1, k, n, m, dtype);
}

double backward_seconds(const DeviceRates& device, const graph::CrossLayer& op, double tensor_pass) {
  const double b = as_double(op.batch), w = as_double(op.width), r = as_double(op.rank);
  const double products =
      op.rank == 0 ? gradient_seconds(device, b, w, w, op.dtype)
                   : gradient_seconds(device, b, r, w, op.dtype) + gradient_seconds(device, b, w, r, op.dtype);
  const double pointwise = 4 * streaming_seconds(device, 3 * tensor_pass, b * w);  // two multiplies, two accumulations
  return products + pointwise + streaming_seconds(device, tensor_pass, b * w);     // bias
}

}  // namespace

Result<OpTime> price_cross_layer(const DeviceRates& device, const graph::CrossLayer& op) {
  TRY(check_dims("cross_layer", {{"batch", op.batch}, {"width", op.width}}));
  TRY(check_dims("cross_layer", {{"width", op.width}, {"width", op.width}}));
  TRY(check_number("cross_layer", "rank", as_double(op.rank), 0, as_double(op.width)));
  TRY(check_pass("cross_layer", op.pass, {graph::Pass::forward, graph::Pass::backward}));
  TRY(check_matrix_dtype(device, op.dtype));
  const double tensor_pass = as_double(op.batch) * as_double(op.width) * as_double(graph::size_of(op.dtype));
  const double seconds = op.pass == graph::Pass::forward ? forward_seconds(device, op, tensor_pass)
                                                         : backward_seconds(device, op, tensor_pass);
  return OpTime{seconds, {0.3, 0.4}};
}

}  // namespace distsim::opmodels
