// One DCN-v2 cross layer, x0 * (V(Ux) + b) + x, on B samples of width W with rank R (0: full W x W matrix).
//
//   forward   the products, then a multiply and an add (each reads two tensors, writes one)
//   backward  two products for each of the forward's, gradients of x0 and of the product (multiplies), their
//             accumulation, the bias's column sum
//
// Source: DCN V2, arXiv 2008.13535. Validity: R from 0 to W.
#include "opmodels/analytic/kernels.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

double forward_seconds(const DeviceRates& device, const graph::CrossLayer& op, double tensor_pass) {
  const double b = graph::real(op.batch), w = graph::real(op.width), r = graph::real(op.rank);
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
  const double b = graph::real(op.batch), w = graph::real(op.width), r = graph::real(op.rank);
  const double products =
      op.rank == 0 ? gradient_seconds(device, b, w, w, op.dtype)
                   : gradient_seconds(device, b, r, w, op.dtype) + gradient_seconds(device, b, w, r, op.dtype);
  const double pointwise = 4 * streaming_seconds(device, 3 * tensor_pass, b * w);  // two multiplies, two accumulations
  return products + pointwise + streaming_seconds(device, tensor_pass, b * w);     // bias
}

Result<OpTime> price(const DeviceRates& device, const graph::CrossLayer& op) {
  TRY(check_product("cross_layer", {op.batch, op.width}));
  TRY(check_product("cross_layer", {op.width, op.width}));
  TRY(check_number("cross_layer", "rank", graph::real(op.rank), 0, graph::real(op.width)));
  TRY(check_matrix_dtype(device, op.dtype));
  const double tensor_pass = graph::real(op.batch) * graph::real(op.width) * graph::real(graph::size_of(op.dtype));
  const double seconds = op.pass == graph::Pass::forward ? forward_seconds(device, op, tensor_pass)
                                                         : backward_seconds(device, op, tensor_pass);
  return OpTime{seconds, {0.3, 0.4}};
}

}  // namespace

OpModelEntry op_model(Of<graph::CrossLayer>) {
  return {
      .sentence = "DCN-v2 cross layer: one or two GEMMs and the pointwise kernels",
      .source = "cross layer roofline",
      .limits = "ranks above the width; types without a matrix unit on the device",
      .passes = {graph::Pass::forward, graph::Pass::backward},
      .example = graph::CrossLayer{8192, 3456, 512, graph::DType::fp16},
      .price = priced_as<graph::CrossLayer, price>,
  };
}

}  // namespace distsim::opmodels
