// Dense products. Formula and validity: matrix_kernel.hpp.
//
//   compulsory bytes  batch (m k + k n + m n) * element      (fp8 writes a 16-bit result)
//   alignment         the row pitches k and n of 16-bit and narrower operands must be multiples of 16 bytes for
//                     full-width loads; each halving of the alignment narrows the loads (factors 1, 1.2, 1.7, 2.5 for
//                     16, 8, 4, 2 bytes)
//
// fp32 runs on the plain lanes (TF32 off), tf32 on tensor cores from Ampere on.
#include <algorithm>
#include <cmath>

#include "opmodels/analytic/kernels.hpp"
#include "opmodels/hardware/matrix_kernel.hpp"
#include "opmodels/learned/references.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

struct ProductSizes {
  double batch = 1, m = 0, n = 0, k = 0;
};
ProductSizes sizes_of(const graph::Gemm& g) {
  return {graph::real(g.batch), graph::real(g.m), graph::real(g.n), graph::real(g.k)};
}

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
  return dtype == graph::DType::int8 ? 4.0 : std::max<double>(2.0, graph::real(graph::size_of(dtype)));
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

struct AnalyticProduct {
  bool lanes = false;
  double out_bytes = 0;
  MatrixShape shape;
  MatrixMachine machine;
  MatrixTime time;
};

AnalyticProduct analytic_product(const DeviceRates& device, const ProductSizes& p, graph::DType dtype) {
  AnalyticProduct a;
  a.lanes = uses_vector_lanes(device, dtype);
  const double element = graph::real(graph::size_of(dtype));
  a.out_bytes = p.batch * p.m * p.n * result_bytes(dtype);
  a.shape = {p.batch, p.m, p.n, p.k, p.batch * (p.m * p.k + p.k * p.n) * element + a.out_bytes, element, 1.0};
  if (!a.lanes) a.shape.load_penalty = alignment_penalty(p.n, p.k, element);
  a.machine = matrix_machine(device, device.matrix[static_cast<std::size_t>(dtype)], a.lanes);
  a.time = matrix_time(a.machine, a.shape);
  return a;
}

KernelSample gemm_sample(const DeviceRates& device, const ProductSizes& p, graph::DType dtype) {
  const AnalyticProduct a = analytic_product(device, p, dtype);
  const ProductFacts facts{a.machine, a.shape, a.time, a.out_bytes, a.machine.flops, device.warm};
  return {kernel_of(dtype, a.lanes), features_of(device, facts), a.time.seconds};
}

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

/// On a GPU that the models know.
OpTime product_time_there(const DeviceRates& device, const ProductSizes& p, graph::DType dtype, Spread analytic) {
  const KernelSample sample = gemm_sample(device, p, dtype);
  const OpTime time = learned_time(device, sample, analytic);
  const bool suspect = time.seconds > kSuspectProduct * sample.seconds && dtype != graph::DType::fp8;
  return suspect ? bounded_by_larger(device, p, dtype, time) : time;
}

OpTime product_time(const DeviceRates& device, const ProductSizes& p, graph::DType dtype, Spread analytic) {
  const auto there = [&](const DeviceRates& d) { return product_time_there(d, p, dtype, analytic); };
  const auto kernel = kernel_of(dtype, uses_vector_lanes(device, dtype));
  if (!kernel) return there(device);
  return by_references(device, *kernel, graph::real(graph::size_of(dtype)), analytic, there,
                       [&](const DeviceRates& d) { return analytic_product(d, p, dtype).time.seconds; });
}

Result<OpTime> price(const DeviceRates& device, const graph::Gemm& g) {
  TRY(check_product("gemm", {g.batch, g.m, g.n, g.k}));
  TRY(check_matrix_dtype(device, g.dtype));
  return product_time(device, sizes_of(g), g.dtype, spread_of(g, uses_vector_lanes(device, g.dtype)));
}

std::optional<KernelSample> sample(const DeviceRates& device, const graph::Gemm& g) {
  return gemm_sample(device, sizes_of(g), g.dtype);
}

}  // namespace

double gemm_seconds(const DeviceRates& device, double batch, double m, double n, double k, graph::DType dtype) {
  return product_time(device, {batch, m, n, k}, dtype, {}).seconds;
}

double repeated_gemm_seconds(const DeviceRates& device, double batch, double m, double n, double k,
                             graph::DType dtype) {
  AnalyticProduct a = analytic_product(device, {batch, m, n, k}, dtype);
  const double bytes = a.shape.compulsory_bytes;
  a.machine.hbm = std::max(a.machine.hbm, bytes / memory_seconds(device, bytes));
  return matrix_time(a.machine, a.shape).seconds;
}

OpModelEntry op_model(Of<graph::Gemm>) {
  return {
      .sentence = "Roofline with tile and wave quantisation, split-k, alignment; best of the library's tiles",
      .source = "gemm roofline",
      .limits = "types without a matrix unit on the device",
      .example = graph::Gemm{1, 4096, 4096, 4096, graph::DType::fp16},
      .price = priced_as<graph::Gemm, price>,
      .sample = sampled_as<graph::Gemm, sample>,
  };
}

}  // namespace distsim::opmodels
