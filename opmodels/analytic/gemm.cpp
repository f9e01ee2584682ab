// Dense products. Formula and validity: matrix_kernel.hpp.
//
//   compulsory bytes  batch (m k + k n + m n) * element      (fp8 and fp4 write a 16-bit result; scaling factors add a
//                     byte for 32 elements (mx) or 16 (nv), 4 for 128 (blockwise))
//   alignment         the row pitches k and n of 16-bit and narrower operands, of a weight's gradient m and n (a sum over the
//                     rows of both), must be multiples of 16 bytes for full-width loads; each halving of the alignment narrows the loads (factors 1, 1.2, 1.7, 2.5 for
//                     16, 8, 4, 2 bytes). Where the matrices of a batch do not start on 16 bytes either, 16-bit products take
//                     no less than on the plain lanes: those of attention with 3137 and 5185 rows reach 51 to 71 TFLOP/s on
//                     H100 and 100 to 166 on MI300X, with lanes of 67 and 163 (TraceLens); steps of BigScience's models with
//                     heads of 108 and 150 on A100 are longer than with 112 and 144 as if by 15 of 19.5
//
//   blockwise         before Blackwell the tensor cores know no scales: after every 128 of k the plain lanes multiply and
//                     add the partial sums of the block, of which two alternating groups of warps hide a half
//                     (DeepSeek-V3 report, arXiv 2412.19437, 3.3.2). From Blackwell on scales are part of the product
//                     The same for 8-bit products of the backward pass with any scaling: their sums need more than the 14 bits
//                     that those tensor cores add in, so that libraries split them (Transformer Engine's
//                     use_split_accumulator, torchao's use_fast_accum off)
//   grouped           one kernel over the products of all experts, which all SMs share: what an uneven split costs is
//                     half a tile more of rows for each expert. The slowest rank is the workload's concern
//
// fp32 matrix cores (AMD's gfx908 and gfx90a) take single elements, so that rows need no alignment: a head of 50257 words runs
// as fast as one of 50272 (NeuSight on MI210, MIT).
// fp32 runs on the plain lanes (TF32 off), tf32 on tensor cores from Ampere on. The forest for fp8 was trained on layers
// with casts; products whose scaling is stated come without, as other ops, and are analytic.
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
  graph::Scaling scaling = graph::Scaling::none;
  bool grouped = false, uneven = false;
  bool backward = false;
  bool over_rows = false;  ///< a sum over the rows of both operands

  double left_pitch() const { return over_rows ? m : k; }
};
ProductSizes sizes_of(const graph::Gemm& g) {
  return {graph::real(g.batch),
          graph::real(g.m),
          graph::real(g.n),
          graph::real(g.k),
          g.scaling,
          g.grouped,
          g.grouped && g.imbalance > 0,
          g.pass != graph::Pass::forward,
          g.pass == graph::Pass::backward_weight};
}

/// Factor on the main loop for operands whose rows do not start on 16-byte boundaries.
double alignment_penalty(const ProductSizes& p, double element_bytes) {
  const auto aligned = [&](double bytes) {
    return std::fmod(p.n * element_bytes, bytes) == 0 && std::fmod(p.left_pitch() * element_bytes, bytes) == 0;
  };
  if (aligned(16)) return 1.0;
  if (aligned(8)) return 1.2;
  return aligned(4) ? 1.7 : 2.5;
}

double result_bytes(graph::DType dtype) {
  return dtype == graph::DType::int8 ? 4.0 : std::max<double>(2.0, graph::real(graph::size_of(dtype)));
}

/// Bytes of an operand's element with its scaling factors.
double scaled_bytes(graph::DType dtype, graph::Scaling scaling) {
  constexpr double kMx = 1.0 / 32, kBlock = 4.0 / 128;
  const double element = operand_bytes(dtype);  // of fp4 with its factors
  if (scaling == graph::Scaling::mx) return element + kMx;
  return scaling == graph::Scaling::blockwise ? element + kBlock : element;
}

constexpr int kScalesInHardware = 95;   // compute capability: gfx950, and Blackwell from 100 on
constexpr double kPromotedShare = 0.5;  // of the lanes' time that the tensor cores wait
constexpr double kBlockDepth = 128;

bool has_block_scales(const DeviceRates& device) { return device.capability >= kScalesInHardware; }

/// Factor on the main loop where the plain lanes add up blocks: a multiply-add for every element of the result and block.
double promotion_penalty(const DeviceRates& device, graph::DType dtype, const ProductSizes& p) {
  const bool gradient = p.backward && dtype == graph::DType::fp8 && p.scaling != graph::Scaling::none;
  if ((p.scaling != graph::Scaling::blockwise && !gradient) || has_block_scales(device)) return 1;
  const double block = 2 * kBlockDepth / device.matrix[static_cast<std::size_t>(dtype)];
  return 1 + kPromotedShare * 2 / device.vector_fp32 / block;
}

/// 10th and 90th percentile of measured / predicted: bf16 and fp16 on five architectures; fp32 linear and bmm (thin
/// batched products run long); fp8.
Spread spread_of(const graph::Gemm& g, bool vector_lanes) {
  if (vector_lanes) return g.batch == 1 ? Spread{0.12, 0.2} : Spread{0.25, 0.8};
  return g.dtype == graph::DType::fp8 ? Spread{0.2, 1.2} : Spread{0.15, 0.2};
}

/// Nothing for tf32, fp64, int8 and fp4, of which there are no public measurements to speak of, nor for what only later
/// kernels have: scales of blocks, groups.
std::optional<LearnedKernel> kernel_of(const ProductSizes& p, graph::DType dtype, bool lanes) {
  if (p.scaling != graph::Scaling::none || p.grouped) return std::nullopt;
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
  const double element = graph::real(graph::size_of(dtype)), loaded = scaled_bytes(dtype, p.scaling);
  a.out_bytes = p.batch * p.m * p.n * result_bytes(dtype);
  a.shape = {p.batch, p.m, p.n, p.k, p.batch * (p.m * p.k + p.k * p.n) * loaded + a.out_bytes, loaded, 1.0};
  if (!a.lanes && dtype != graph::DType::fp32) a.shape.load_penalty = alignment_penalty(p, element);
  a.shape.loop_penalty = promotion_penalty(device, dtype, p);
  a.shape.uneven = p.uneven;
  a.machine = matrix_machine(device, device.matrix[static_cast<std::size_t>(dtype)], a.lanes);
  a.time = matrix_time(a.machine, a.shape);
  return a;
}

KernelSample gemm_sample(const DeviceRates& device, const ProductSizes& p, graph::DType dtype) {
  const AnalyticProduct a = analytic_product(device, p, dtype);
  const ProductFacts facts{a.machine, a.shape, a.time, a.out_bytes, a.machine.flops, device.warm};
  return {kernel_of(p, dtype, a.lanes), features_of(device, facts), a.time.seconds};
}

/// A library may always run a product inside a larger one, so twice a size is not much cheaper. Trees, which know a few
/// odd shapes by heart, do not keep to that by themselves: nearly all of their falls start at a time that lies far
/// above the analytic one. Not for fp8, whose thin products do run on slower kernels than larger ones (aiconfigurator).
OpTime bounded_by_larger(const DeviceRates& device, const ProductSizes& p, graph::DType dtype, OpTime time) {
  for (double ProductSizes::*const size : {&ProductSizes::m, &ProductSizes::n, &ProductSizes::k}) {
    ProductSizes larger = p;
    larger.*size *= 2;
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

/// 0 where rows and matrices are aligned. Experts' products are no batch of equal strides.
double least_seconds_unaligned(const DeviceRates& device, const ProductSizes& p, graph::DType dtype) {
  const bool half = dtype == graph::DType::fp16 || dtype == graph::DType::bf16;
  if (!half || p.batch <= 1 || p.grouped || alignment_penalty(p, 2) == 1) return 0;
  return device.floor + 2 * p.batch * p.m * p.n * p.k / (device.vector_fp32 * device.traits.vector.main_loop);
}

OpTime product_time(const DeviceRates& device, const ProductSizes& p, graph::DType dtype, Spread analytic) {
  if (const auto other = other_kernels(device, dtype)) {
    const OpTime others = product_time(other->device, p, other->dtype, analytic);
    const OpTime unit = product_time_there(device, p, dtype, analytic);
    return unit.seconds < others.seconds ? unit : others;
  }
  const auto there = [&](const DeviceRates& d) { return product_time_there(d, p, dtype, analytic); };
  const auto kernel = kernel_of(p, dtype, uses_vector_lanes(device, dtype));
  if (!kernel) return there(device);
  const KernelFacts facts{
      p.batch,      p.m,          p.n, p.k, static_cast<double>(dtype), p.uneven ? 1.0 : 0.0, p.over_rows ? 1.0 : 0.0,
      analytic.low, analytic.high};  // neither scaled nor grouped: no forest has seen those
  return by_references(device, *kernel, {graph::real(graph::size_of(dtype)), dtype == graph::DType::bf16}, analytic,
                       facts, there, [&](const DeviceRates& d) { return analytic_product(d, p, dtype).time.seconds; });
}

/// mx and nv are products of scaled blocks in hardware; anything but fp8 and fp4 has no scales.
Result<void> check_scaling(const DeviceRates& device, const graph::Gemm& g) {
  const auto refuse = [&](std::string_view expected) {
    return Error{"gemm.scaling: found " + std::string(graph::name_of(g.scaling)) + " with " +
                     std::string(graph::name_of(g.dtype)) + " on " + device.name + ", expected " +
                     std::string(expected),
                 "", ""};
  };
  if (g.scaling == graph::Scaling::none) return {};
  if (g.dtype == graph::DType::fp4) {
    if (g.scaling == graph::Scaling::nv || g.scaling == graph::Scaling::mx) return {};
    return refuse("nv or mx");
  }
  if (g.dtype != graph::DType::fp8) return refuse("none");
  if (g.scaling == graph::Scaling::nv) return refuse("delayed, current, blockwise or mx");
  if (g.scaling == graph::Scaling::mx && !has_block_scales(device))
    return refuse("delayed, current or blockwise: only Blackwell and CDNA4 multiply scaled blocks");
  return {};
}

Result<OpTime> price_gemm(const DeviceRates& device, const graph::Gemm& g) {
  TRY(check_product("gemm", {g.batch, g.m, g.n, g.k}));
  TRY(check_matrix_dtype(device, g.dtype));
  TRY(check_scaling(device, g));
  const ProductSizes sizes = sizes_of(g);
  OpTime time = product_time(device, sizes, g.dtype, spread_of(g, uses_vector_lanes(device, g.dtype)));
  time.seconds = std::max(time.seconds, least_seconds_unaligned(device, sizes, g.dtype));
  return time;
}

std::optional<KernelSample> sample_gemm(const DeviceRates& device, const graph::Gemm& g) {
  return gemm_sample(device, sizes_of(g), g.dtype);
}

}  // namespace

double gemm_seconds(const DeviceRates& device, double batch, double m, double n, double k, graph::DType dtype) {
  return product_time(device, ProductSizes{batch, m, n, k}, dtype, {}).seconds;
}

double head_product_seconds(const DeviceRates& device, double heads, double m, double n, double k, graph::DType dtype) {
  const ProductSizes sizes{heads, m, n, k};
  return std::max(product_time(device, sizes, dtype, {}).seconds, least_seconds_unaligned(device, sizes, dtype));
}

double repeated_gemm_seconds(const DeviceRates& device, double batch, double m, double n, double k,
                             graph::DType dtype) {
  AnalyticProduct a = analytic_product(device, ProductSizes{batch, m, n, k}, dtype);
  const double bytes = a.shape.compulsory_bytes;
  a.machine.hbm = std::max(a.machine.hbm, bytes / memory_seconds(device, bytes));
  return matrix_time(a.machine, a.shape).seconds;
}

OpModelEntry op_model(Of<graph::Gemm>) {
  return {
      .sentence = "Roofline with tile and wave quantisation, split-k, alignment; best of the library's tiles",
      .source = "gemm roofline",
      .limits = "types without a matrix unit on the device; scalings that its type or the device has not",
      .example = graph::Gemm{1, 4096, 4096, 4096, graph::DType::fp16},
      .price = priced_as<graph::Gemm, price_gemm>,
      .sample = sampled_as<graph::Gemm, sample_gemm>,
  };
}

}  // namespace distsim::opmodels
