#include "opmodels/analytic/gemm_analytic.hpp"

#include <algorithm>
#include <cmath>

#include "opmodels/hardware/matrix_kernel.hpp"
#include "opmodels/learned/learned_models.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

/// Factor on the main loop for operands whose rows do not start on 16-byte boundaries.
double alignment_penalty(double n, double k, double element_bytes) {
  const auto aligned = [&](double bytes) {
    return std::fmod(n * element_bytes, bytes) == 0 && std::fmod(k * element_bytes, bytes) == 0;
  };
  if (aligned(16)) return 1.0;
  if (aligned(8)) return 1.2;
  return aligned(4) ? 1.7 : 2.5;
}

double result_bytes(graph::DType dtype) {
  return dtype == graph::DType::int8 ? 4.0 : std::max<double>(2.0, as_double(graph::size_of(dtype)));
}

/// 10th and 90th percentile of measured / predicted: bf16 and fp16 on five architectures; fp32 linear and bmm (thin
/// batched products run long); fp8.
Spread spread_of(const graph::Gemm& g, bool vector_lanes) {
  if (vector_lanes) return g.batch == 1 ? Spread{0.12, 0.2} : Spread{0.25, 0.8};
  return g.dtype == graph::DType::fp8 ? Spread{0.2, 1.2} : Spread{0.15, 0.2};
}

/// Nothing for tf32, fp64 and int8, of which there are no public measurements to speak of.
std::optional<LearnedKernel> kernel_of(graph::DType dtype, bool lanes) {
  if (dtype == graph::DType::fp32 && lanes) return LearnedKernel::product_lanes;
  if (dtype == graph::DType::fp8) return LearnedKernel::product8;
  const bool half = dtype == graph::DType::fp16 || dtype == graph::DType::bf16;
  return half && !lanes ? std::optional(LearnedKernel::product16) : std::nullopt;
}

constexpr double kSuspect =
    1.2;  // times the analytic time from which the learned one is compared with what larger products take
constexpr double kLargestFall = 1.1;

/// A library may always run a product inside a larger one, so twice a size is not much cheaper. Trees, which know a few
/// odd shapes by heart, do not keep to that by themselves: nearly all of their falls start at a time that lies far
/// above the analytic one. Not for fp8, whose thin products do run on slower kernels than larger ones (aiconfigurator).
OpTime bounded_by_larger(const DeviceRates& device, const ProductSizes& p, graph::DType dtype, OpTime time) {
  for (const ProductSizes& larger :
       {ProductSizes{p.batch, 2 * p.m, p.n, p.k}, {p.batch, p.m, 2 * p.n, p.k}, {p.batch, p.m, p.n, 2 * p.k}}) {
    const double limit = kLargestFall * learned_time(device, gemm_sample(device, larger, dtype), time.spread).seconds;
    time.seconds = std::min(time.seconds, limit);
  }
  return time;
}

OpTime product_time(const DeviceRates& device, const ProductSizes& p, graph::DType dtype, Spread analytic) {
  const KernelSample sample = gemm_sample(device, p, dtype);
  const OpTime time = learned_time(device, sample, analytic);
  const bool suspect = time.seconds > kSuspect * sample.seconds && dtype != graph::DType::fp8;
  return suspect ? bounded_by_larger(device, p, dtype, time) : time;
}

}  // namespace

KernelSample gemm_sample(const DeviceRates& device, const ProductSizes& p, graph::DType dtype) {
  const bool lanes = uses_vector_lanes(device, dtype);
  const double element = as_double(graph::size_of(dtype));
  const double out_bytes = p.batch * p.m * p.n * result_bytes(dtype);
  MatrixShape shape{p.batch, p.m, p.n, p.k, p.batch * (p.m * p.k + p.k * p.n) * element + out_bytes, element, 1.0};
  if (!lanes) shape.load_penalty = alignment_penalty(p.n, p.k, element);
  const MatrixMachine machine = matrix_machine(device, device.matrix[static_cast<std::size_t>(dtype)], lanes);
  const MatrixTime time = matrix_time(machine, shape);
  return {kernel_of(dtype, lanes),
          product_features(device, {machine, shape, time, out_bytes, machine.flops, device.warm}), time.seconds};
}

double gemm_seconds(const DeviceRates& device, double batch, double m, double n, double k, graph::DType dtype) {
  return product_time(device, {batch, m, n, k}, dtype, {}).seconds;
}

Result<OpTime> price_gemm(const DeviceRates& device, const graph::Gemm& g) {
  TRY(check_dims("gemm", {{"batch", g.batch}, {"m", g.m}, {"n", g.n}, {"k", g.k}}));
  TRY(check_matrix_dtype(device, g.dtype));
  const ProductSizes sizes{as_double(g.batch), as_double(g.m), as_double(g.n), as_double(g.k)};
  return product_time(device, sizes, g.dtype, spread_of(g, uses_vector_lanes(device, g.dtype)));
}

}  // namespace distsim::opmodels
