// One DCN-v2 cross layer, x0 * (V(Ux) + b) + x, on B samples of width W with rank R (0: full W x W matrix).
//
//   forward   the products, then bias, multiply and add
//   backward  two products for each of the forward's; gradients of x0 and of the product (multiplies), their
//             accumulation, the bias's column sum
//
// CrossLayer::pointwise_tensors counts what these read and write, as one kernel per operation (TorchRec's
// LowRankCrossNet), as chains that XLA makes one kernel of, or by hand: HugeCTR's MultiCross layer has one multiply-add
// kernel each way between cuBLASLt products with epilogues for the bias, its gradient and the sum of gradients.
// Source: DCN V2, arXiv 2008.13535. Validity: R from 0 to W.
#include "opmodels/analytic/kernels.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

/// Its pointwise kernels, of equal size where there are several.
double pointwise_seconds(const DeviceRates& device, const graph::CrossLayer& op) {
  const double elements = graph::real(op.batch) * graph::real(op.width), kernels = op.pointwise_kernels();
  const double bytes = op.pointwise_tensors() * elements * graph::real(graph::size_of(op.dtype));
  return kernels * streaming_seconds(device, bytes / kernels, elements);
}

double forward_seconds(const DeviceRates& device, const graph::CrossLayer& op) {
  const double b = graph::real(op.batch), w = graph::real(op.width), r = graph::real(op.rank);
  if (op.rank == 0) return gemm_seconds(device, 1, b, w, w, op.dtype);
  return gemm_seconds(device, 1, b, r, w, op.dtype) + gemm_seconds(device, 1, b, w, r, op.dtype);
}

/// Data and weight gradient of a product m x n x k.
double gradient_seconds(const DeviceRates& device, double m, double n, double k, graph::DType dtype) {
  return gemm_seconds(device, 1, m, k, n, dtype) + gemm_seconds(device, 1, k, n, m, dtype);
}

double backward_seconds(const DeviceRates& device, const graph::CrossLayer& op) {
  const double b = graph::real(op.batch), w = graph::real(op.width), r = graph::real(op.rank);
  if (op.rank == 0) return gradient_seconds(device, b, w, w, op.dtype);
  return gradient_seconds(device, b, r, w, op.dtype) + gradient_seconds(device, b, w, r, op.dtype);
}

Result<OpTime> price_cross_layer(const DeviceRates& device, const graph::CrossLayer& op) {
  TRY(check_product("cross_layer", {op.batch, op.width}));
  TRY(check_product("cross_layer", {op.width, op.width}));
  TRY(check_number("cross_layer", "rank", graph::real(op.rank), 0, graph::real(op.width)));
  TRY(check_matrix_dtype(device, op.dtype));
  const double products = op.pass == graph::Pass::forward ? forward_seconds(device, op) : backward_seconds(device, op);
  return OpTime{products + pointwise_seconds(device, op), {0.3, 0.4}};
}

}  // namespace

OpModelEntry op_model(Of<graph::CrossLayer>) {
  return {
      .sentence = "DCN-v2 cross layer: one or two GEMMs each way and the pointwise kernels, fused or one by one",
      .source = "cross layer roofline",
      .limits = "ranks above the width; types without a matrix unit on the device",
      .passes = {graph::Pass::forward, graph::Pass::backward},
      .example =
          graph::CrossLayer{8192, 3456, 512, graph::DType::fp16, graph::Pass::forward, graph::CrossFusion::epilogues},
      .price = priced_as<graph::CrossLayer, price_cross_layer>,
  };
}

}  // namespace distsim::opmodels
