// 2-d convolution as an implicit matrix product per group (matrix_kernel.hpp), with P = out_h, Q = out_w:
//
//   forward          m = N P Q,     n = K/groups,      k = C/groups R S
//   backward_data    m = N H W,     n = C/groups,      k = K/groups R S * PQ/(HW)    (only taps that meet an output)
//   backward_weight  m = K/groups,  n = C/groups R S,  k = N P Q
//   backward         data and weight gradient, one after the other
//
// Winograd: 3x3, stride 1, dilation 1 on plain fp32 lanes multiplies less; the gain is kept to what cuDNN reaches, and
// the tile transforms move the tensors once more. Depthwise and narrow groups (fewer than 8 channels in a group) have
// no matrix kernel: memory-bound, plain lanes. NCHW on tensor cores pays a transpose of input and output. Validity:
// out_h and out_w at least 1, C and K divisible by groups. Source: cuDNN documentation; Lavin & Gray, arXiv 1509.09308
// (Winograd).
#include <algorithm>
#include <cmath>

#include "opmodels/hardware/matrix_kernel.hpp"
#include "opmodels/learned/references.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kWinogradGain = 1.6;       // fewer multiplications, less what the transforms cost
constexpr double kWinogradTile = 4;         // output pixels a side; a part-filled tile costs a whole one
constexpr std::int64_t kNarrowGroup = 8;    // channels per group below which no matrix kernel exists
constexpr double kNarrowEfficiency = 0.35;  // share of the plain lanes that direct kernels reach

struct ConvSizes {
  double input, filter, output;  // elements
  double flops;
  double out_pixels, in_pixels;  // N P Q and N H W
  double channels, filters;      // per group
  double taps;
  double groups;
};

ConvSizes sizes_of(const graph::Conv2d& c) {
  ConvSizes s;
  s.groups = graph::real(c.groups);
  s.out_pixels = graph::real(c.n) * graph::real(c.out_h()) * graph::real(c.out_w());
  s.in_pixels = graph::real(c.n) * graph::real(c.h) * graph::real(c.w);
  s.channels = graph::real(c.c) / s.groups;
  s.filters = graph::real(c.k) / s.groups;
  s.taps = graph::real(c.r) * graph::real(c.s);
  s.input = s.in_pixels * graph::real(c.c);
  s.output = s.out_pixels * graph::real(c.k);
  s.filter = graph::real(c.k) * s.channels * s.taps;
  s.flops = 2 * s.output * s.channels * s.taps;
  return s;
}

Result<void> check_output(const graph::Conv2d& c) {
  const auto reach = [&](std::int64_t in, std::int64_t filter) {
    return in + 2 * c.pad - c.dilation * (filter - 1) >= 1;
  };
  if (reach(c.h, c.r) && reach(c.w, c.s)) return {};
  return Error{"conv2d: found a filter that is larger than the padded input, expected out_h and out_w of at least 1",
               "", ""};
}

Result<void> check_groups(const graph::Conv2d& c) {
  if (c.c % c.groups == 0 && c.k % c.groups == 0) return {};
  return Error{"conv2d.groups: found " + std::to_string(c.groups) +
                   ", expected a divisor of both c = " + std::to_string(c.c) + " and k = " + std::to_string(c.k),
               "", ""};
}

Result<void> check(const graph::Conv2d& c) {
  TRY(check_product("conv2d", {c.n, c.c, c.h, c.w, c.groups}));
  TRY(check_output(c));
  TRY(check_product("conv2d", {c.n, c.k, c.out_h(), c.out_w(), c.c, c.r, c.s}));
  return check_groups(c);
}

MatrixShape product_of(const ConvSizes& s, graph::Pass pass) {
  switch (pass) {
    case graph::Pass::backward_data:
      return {s.groups, s.in_pixels, s.channels, std::max(1.0, s.filters * s.taps * s.out_pixels / s.in_pixels)};
    case graph::Pass::backward_weight:
      return {s.groups, s.filters, s.channels * s.taps, s.out_pixels};
    default:
      return {s.groups, s.out_pixels, s.filters, s.channels * s.taps};
  }
}

/// Not for weight gradients: the sum over pixels leaves no small tile to transform.
bool winograd_fits(const graph::Conv2d& c, graph::Pass pass, bool lanes) {
  return lanes && pass != graph::Pass::backward_weight && c.dtype == graph::DType::fp32 && c.r == 3 && c.s == 3 &&
         c.stride == 1 && c.dilation == 1 && c.groups == 1 && c.c >= 32;
}

double tile_fill(std::int64_t side) {
  return graph::real(side) / (std::ceil(graph::real(side) / kWinogradTile) * kWinogradTile);
}

/// At least 1: where tiles are mostly empty, the library takes the plain product.
double winograd_gain(const graph::Conv2d& c) {
  return std::max(1.0, kWinogradGain * tile_fill(c.out_h()) * tile_fill(c.out_w()));
}

/// 16-byte loads need this many bytes of adjacent channels.
double channel_penalty(const ConvSizes& s, double element) {
  const double bytes = std::fmod(s.channels * element, 16.0);
  if (bytes == 0) return 1.0;
  return std::fmod(bytes, 8.0) == 0 ? 1.2 : 1.7;
}

double narrow_seconds(const DeviceRates& device, const ConvSizes& s, double element) {
  return streaming_seconds(device, (s.input + s.filter + s.output) * element, s.flops / kNarrowEfficiency);
}

bool is_narrow(const graph::Conv2d& c) { return c.groups > 1 && c.c / c.groups < kNarrowGroup; }

MatrixShape shape_of(const graph::Conv2d& c, const ConvSizes& s, graph::Pass pass, bool lanes, bool winograd) {
  const double element = graph::real(graph::size_of(c.dtype));
  MatrixShape shape = product_of(s, pass);
  shape.compulsory_bytes = (s.input + s.filter + s.output) * element * (winograd ? 2 : 1);
  shape.element_bytes = element;
  if (pass != graph::Pass::backward_weight)
    shape.max_split = 1;  // cuDNN splits the sum over pixels, not the one over channels
  shape.load_penalty = lanes ? 1.0 : channel_penalty(s, element);
  return shape;
}

/// One kernel on the gemm model; without the change of layout.
KernelSample product_sample(const DeviceRates& device, const graph::Conv2d& c, const ConvSizes& s, graph::Pass pass) {
  const bool lanes = uses_vector_lanes(device, c.dtype);
  const bool winograd = winograd_fits(c, pass, lanes);
  const MatrixShape shape = shape_of(c, s, pass, lanes, winograd);
  const double gain = winograd ? winograd_gain(c) : 1;
  const MatrixMachine machine = matrix_machine(device, device.matrix[static_cast<std::size_t>(c.dtype)] * gain, lanes);
  const MatrixTime time = matrix_time(machine, shape);
  const ConvFacts facts{
      {machine, shape, time, s.output * shape.element_bytes, machine.flops / gain, device.warm}, c, pass, gain};
  return {LearnedKernel::convolution, features_of(device, facts), time.seconds};
}

/// On plain fp32 lanes of a GPU that the models know; never much dearer than twice the images, channels or filters.
OpTime lanes_time_there(const DeviceRates& device, const graph::Conv2d& c, const ConvSizes& s, graph::Pass pass,
                        Spread spread) {
  const KernelSample sample = product_sample(device, c, s, pass);
  OpTime time = learned_time(device, sample, spread);
  if (time.seconds <= kSuspectProduct * sample.seconds) return time;
  for (std::int64_t graph::Conv2d::*size : {&graph::Conv2d::n, &graph::Conv2d::c, &graph::Conv2d::k}) {
    graph::Conv2d larger = c;
    larger.*size *= 2;
    time.seconds = std::min(
        time.seconds,
        kLargestFall * learned_time(device, product_sample(device, larger, sizes_of(larger), pass), spread).seconds);
  }
  return time;
}

OpTime lanes_time(const DeviceRates& device, const graph::Conv2d& c, const ConvSizes& s, graph::Pass pass,
                  Spread spread) {
  const auto there = [&](const DeviceRates& d) { return lanes_time_there(d, c, s, pass, spread); };
  if (c.dtype != graph::DType::fp32) return there(device);
  const KernelFacts facts{graph::real(c.n),
                          graph::real(c.c),
                          graph::real(c.h),
                          graph::real(c.w),
                          graph::real(c.k),
                          graph::real(c.r),
                          graph::real(c.s),
                          graph::real(c.stride),
                          graph::real(c.pad),
                          graph::real(c.dilation),
                          graph::real(c.groups),
                          c.channels_last ? 1.0 : 0.0,
                          static_cast<double>(c.pass),
                          static_cast<double>(pass),
                          spread.low,
                          spread.high};
  return by_references(device, LearnedKernel::convolution, graph::real(graph::size_of(c.dtype)), spread, facts, there,
                       [&](const DeviceRates& d) { return product_sample(d, c, s, pass).seconds; });
}

/// Sums one or both gradients; what is learned holds for plain fp32 lanes.
OpTime kernel_time(const DeviceRates& device, const graph::Conv2d& c, const ConvSizes& s, graph::Pass pass,
                   Spread spread) {
  const double element = graph::real(graph::size_of(c.dtype));
  if (is_narrow(c)) return {narrow_seconds(device, s, element), spread};
  if (uses_vector_lanes(device, c.dtype)) return lanes_time(device, c, s, pass, spread);
  const auto other = other_kernels(device, c.dtype);
  const KernelSample sample = product_sample(device, c, s, pass);
  const double relayout =
      c.channels_last ? 0 : 2 * device.floor + memory_seconds(device, 2 * (s.input + s.output) * element);
  const OpTime unit{sample.seconds + relayout, spread};
  if (!other) return unit;
  graph::Conv2d there = c;
  there.dtype = other->dtype;
  const OpTime others = kernel_time(other->device, there, s, pass, spread);
  return unit.seconds < others.seconds ? unit : others;
}

Result<OpTime> price_conv2d(const DeviceRates& device, const graph::Conv2d& c) {
  TRY(check(c));
  TRY(check_matrix_dtype(device, c.dtype));
  const ConvSizes sizes = sizes_of(c);
  const Spread spread =
      c.pass == graph::Pass::forward ? Spread{0.3, 1.0} : Spread{0.4, 1.5};  // the choice of algorithm is cuDNN's
  if (c.pass != graph::Pass::backward) return kernel_time(device, c, sizes, c.pass, spread);
  return sum_of(kernel_time(device, c, sizes, graph::Pass::backward_data, spread),
                kernel_time(device, c, sizes, graph::Pass::backward_weight, spread));
}

/// Nothing for gradients in one op (two kernels), for narrow groups and for tensor cores.
std::optional<KernelSample> sample_conv2d(const DeviceRates& device, const graph::Conv2d& c) {
  if (c.pass == graph::Pass::backward || is_narrow(c) || !uses_vector_lanes(device, c.dtype)) return std::nullopt;
  return product_sample(device, c, sizes_of(c), c.pass);
}

}  // namespace

OpModelEntry op_model(Of<graph::Conv2d>) {
  return {
      .sentence = "Implicit GEMM on the gemm model; Winograd speed-up for 3x3 fp32; narrow groups are memory-bound",
      .source = "conv2d roofline",
      .limits = "filters larger than the padded input; groups that do not divide c and k; types without a matrix unit",
      .passes = {graph::Pass::forward, graph::Pass::backward, graph::Pass::backward_data, graph::Pass::backward_weight},
      .example = graph::Conv2d{32, 64, 56, 56, 64, 3, 3, 1, 1},
      .price = priced_as<graph::Conv2d, price_conv2d>,
      .sample = sampled_as<graph::Conv2d, sample_conv2d>,
  };
}

}  // namespace distsim::opmodels
