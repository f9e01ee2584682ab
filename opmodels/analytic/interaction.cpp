// DLRM's dot interaction of F vectors of length D, B samples.
//
//   unfused forward   product F x F x D per sample, gather of the F(F-1)/2 lower entries, concat with the dense vector
//   unfused backward  split, scatter of the triangle's gradient into F x F (a generic index_put sorts its indices), two
//                     products, sum with the dense vector's gradient
//   fused             one kernel: inputs in, D + F(F-1)/2 values per sample out; the product stays on chip (backward:
//                     two products)
//
// Source: DLRM reference (arXiv 1906.00091), FBGEMM and HugeCTR fused interaction kernels.
#include "opmodels/analytic/kernels.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kFusedEfficiency =
    0.25;  // of the matrix peak: F x F tiles of about 27 x 27 fill a quarter of a 32 x 32 fragment's work
constexpr double kFusedBandwidth = 0.53;  // of the streaming rate: 58 us forward, 121 us backward for 6912 samples on
                                          // an A100 (HugeCTR's profiler, DLRM)

/// Bytes that PyTorch's index_put moves per entry to sort 64-bit positions with 64-bit values: 8 passes, each of which
/// reads twice and writes once.
constexpr double kIndexPutBytes = 8 * 3 * 16;

struct InteractionSizes {
  double batch, features, dim, element;
  double triangle() const { return features * (features - 1) / 2; }
  double input() const { return batch * features * dim * element; }  // bytes
  double product() const { return batch * features * features * element; }
  double output() const { return batch * (dim + triangle()) * element; }
};

double fused_seconds(const DeviceRates& device, const InteractionSizes& s, graph::DType dtype, double products) {
  const double flops = products * 2 * s.batch * s.features * s.features * s.dim;
  const double rate = device.matrix[static_cast<std::size_t>(dtype)] * kFusedEfficiency;
  const double traffic = products * s.input() + s.output();
  return device.floor + overlap(memory_seconds(device, traffic) / kFusedBandwidth, flops / rate);
}

double unfused_forward(const DeviceRates& device, const InteractionSizes& s, graph::DType dtype) {
  const double product = gemm_seconds(device, s.batch, s.features, s.features, s.dim, dtype);
  const double gather = streaming_seconds(device, s.product() + s.batch * s.triangle() * s.element, 0);
  const double concat = streaming_seconds(device, 2 * s.output(), 0);
  return product + gather + concat;
}

double unfused_backward(const DeviceRates& device, const InteractionSizes& s, graph::DType dtype) {
  const double split = streaming_seconds(device, 2 * s.output(), 0);
  const double zero = streaming_seconds(device, s.product(), 0);
  const double entries = s.batch * s.triangle();
  const double scatter = 6 * device.floor + entries * (kIndexPutBytes + 3 * s.element) / device.streaming_hbm();
  const double products = 2 * gemm_seconds(device, s.batch, s.features, s.dim, s.features, dtype);
  const double sums =
      2 * streaming_seconds(device, 3 * s.input(), 0);  // the two products' results, then the dense vector's gradient
  return split + zero + scatter + products + sums;
}

Result<OpTime> price_interaction(const DeviceRates& device, const graph::Interaction& op) {
  TRY(check_product("interaction", {op.batch, op.features, op.features, op.dim}));
  TRY(check_matrix_dtype(device, op.dtype));
  const InteractionSizes sizes{graph::real(op.batch), graph::real(op.features), graph::real(op.dim),
                               graph::real(graph::size_of(op.dtype))};
  const bool forward = op.pass == graph::Pass::forward;
  if (op.fused) return OpTime{fused_seconds(device, sizes, op.dtype, forward ? 1 : 2), {0.4, 0.6}};
  return OpTime{forward ? unfused_forward(device, sizes, op.dtype) : unfused_backward(device, sizes, op.dtype),
                {0.4, 0.6}};
}

}  // namespace

OpModelEntry op_model(Of<graph::Interaction>) {
  return {
      .sentence = "Dot interaction: batched GEMM, lower triangle, concat; or one fused kernel",
      .source = "interaction roofline",
      .limits = "types without a matrix unit on the device",
      .passes = {graph::Pass::forward, graph::Pass::backward},
      .example = graph::Interaction{8192, 27, 128, graph::DType::fp16},
      .price = priced_as<graph::Interaction, price_interaction>,
  };
}

}  // namespace distsim::opmodels
