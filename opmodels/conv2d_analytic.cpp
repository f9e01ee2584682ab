#include "opmodels/conv2d_analytic.hpp"

#include <algorithm>
#include <cmath>

#include "opmodels/matrix_kernel.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim {
namespace {

constexpr double kWinogradGain = 1.6;       // fewer multiplications, less what the transforms cost
constexpr double kWinogradTile = 4;         // output pixels a side; a part-filled tile costs a whole one
constexpr std::int64_t kNarrowGroup = 8;    // channels a group below which no matrix kernel exists
constexpr double kNarrowEfficiency = 0.35;  // share of the plain lanes that direct kernels reach

struct ConvSizes {
  double input, filter, output;  // elements
  double flops;
  double out_pixels, in_pixels;  // N P Q and N H W
  double channels, filters;      // per group
  double taps;
  double groups;
};

ConvSizes sizes_of(const Conv2d& c) {
  ConvSizes s;
  s.groups = as_double(c.groups);
  s.out_pixels = as_double(c.n) * as_double(c.out_h()) * as_double(c.out_w());
  s.in_pixels = as_double(c.n) * as_double(c.h) * as_double(c.w);
  s.channels = as_double(c.c) / s.groups;
  s.filters = as_double(c.k) / s.groups;
  s.taps = as_double(c.r) * as_double(c.s);
  s.input = s.in_pixels * as_double(c.c);
  s.output = s.out_pixels * as_double(c.k);
  s.filter = as_double(c.k) * s.channels * s.taps;
  s.flops = 2 * s.output * s.channels * s.taps;
  return s;
}

Result<void> check_output(const Conv2d& c) {
  const auto reach = [&](std::int64_t in, std::int64_t filter) { return in + 2 * c.pad - c.dilation * (filter - 1) >= 1; };
  if (reach(c.h, c.r) && reach(c.w, c.s)) return {};
  return Error{"conv2d: found a filter that is larger than the padded input, expected out_h and out_w of at least 1", "", ""};
}

Result<void> check_groups(const Conv2d& c) {
  if (c.c % c.groups == 0 && c.k % c.groups == 0) return {};
  return Error{"conv2d.groups: found " + std::to_string(c.groups) + ", expected a divisor of both c = " + std::to_string(c.c) +
                   " and k = " + std::to_string(c.k), "", ""};
}

constexpr std::int64_t kMaxExtent = 1 << 20;  // of pad, dilation, stride and filter sides: keeps out_h() far from overflow

Result<void> check_extents(const Conv2d& c) {
  TRY(check_number("conv2d", "pad", as_double(c.pad), 0, as_double(kMaxExtent)));
  TRY(check_number("conv2d", "stride", as_double(c.stride), 1, as_double(kMaxExtent)));
  TRY(check_number("conv2d", "dilation", as_double(c.dilation), 1, as_double(kMaxExtent)));
  TRY(check_number("conv2d", "r", as_double(c.r), 1, as_double(kMaxExtent)));
  TRY(check_number("conv2d", "s", as_double(c.s), 1, as_double(kMaxExtent)));
  return {};
}

Result<void> check(const Conv2d& c) {
  TRY(check_dims("conv2d", {{"n", c.n}, {"c", c.c}, {"h", c.h}, {"w", c.w}, {"groups", c.groups}}));
  TRY(check_extents(c));
  TRY(check_output(c));
  TRY(check_dims("conv2d", {{"n", c.n}, {"k", c.k}, {"out_h", c.out_h()}, {"out_w", c.out_w()}, {"c", c.c}, {"r", c.r}, {"s", c.s}}));
  TRY(check_groups(c));
  return check_pass("conv2d", c.pass, {Pass::forward, Pass::backward, Pass::backward_data, Pass::backward_weight});
}

MatrixShape product_of(const ConvSizes& s, Pass pass) {
  switch (pass) {
    case Pass::backward_data: return {s.groups, s.in_pixels, s.channels, std::max(1.0, s.filters * s.taps * s.out_pixels / s.in_pixels)};
    case Pass::backward_weight: return {s.groups, s.filters, s.channels * s.taps, s.out_pixels};
    default: return {s.groups, s.out_pixels, s.filters, s.channels * s.taps};
  }
}

/// Not for weight gradients: the sum over pixels leaves no small tile to transform.
bool winograd_fits(const Conv2d& c, Pass pass, bool lanes) {
  return lanes && pass != Pass::backward_weight && c.dtype == DType::fp32 && c.r == 3 && c.s == 3 && c.stride == 1 && c.dilation == 1 && c.groups == 1 && c.c >= 32;
}

double tile_fill(std::int64_t side) { return as_double(side) / (std::ceil(as_double(side) / kWinogradTile) * kWinogradTile); }

/// At least 1: where tiles are mostly empty, the library takes the plain product.
double winograd_gain(const Conv2d& c) { return std::max(1.0, kWinogradGain * tile_fill(c.out_h()) * tile_fill(c.out_w())); }

/// 16-byte loads need this many bytes of adjacent channels.
double channel_penalty(const ConvSizes& s, double element) {
  const double bytes = std::fmod(s.channels * element, 16.0);
  if (bytes == 0) return 1.0;
  return std::fmod(bytes, 8.0) == 0 ? 1.2 : 1.7;
}

double narrow_seconds(const DeviceRates& device, const ConvSizes& s, double element) {
  return streaming_seconds(device, (s.input + s.filter + s.output) * element, s.flops / kNarrowEfficiency);
}

double kernel_seconds(const DeviceRates& device, const Conv2d& c, const ConvSizes& s, Pass pass) {
  const double element = as_double(size_of(c.dtype));
  if (c.groups > 1 && c.c / c.groups < kNarrowGroup) return narrow_seconds(device, s, element);
  const bool lanes = uses_vector_lanes(device, c.dtype);
  const bool winograd = winograd_fits(c, pass, lanes);
  MatrixShape shape = product_of(s, pass);
  shape.compulsory_bytes = (s.input + s.filter + s.output) * element * (winograd ? 2 : 1);
  shape.element_bytes = element;
  if (pass != Pass::backward_weight) shape.max_split = 1;  // cuDNN splits the sum over pixels, not the one over channels
  shape.load_penalty = lanes ? 1.0 : channel_penalty(s, element);
  const double rate = device.matrix[static_cast<std::size_t>(c.dtype)] * (winograd ? winograd_gain(c) : 1);
  const double seconds = matrix_seconds(matrix_machine(device, rate, lanes), shape);
  const bool relayout = !lanes && !c.channels_last;
  return relayout ? seconds + 2 * device.floor + memory_seconds(device, 2 * (s.input + s.output) * element) : seconds;
}

}  // namespace

Result<OpTime> price_conv2d(const DeviceRates& device, const Conv2d& c) {
  TRY(check(c));
  TRY(check_matrix_dtype(device, c.dtype));
  const ConvSizes sizes = sizes_of(c);
  const double seconds = c.pass == Pass::backward
                             ? kernel_seconds(device, c, sizes, Pass::backward_data) + kernel_seconds(device, c, sizes, Pass::backward_weight)
                             : kernel_seconds(device, c, sizes, c.pass);
  return OpTime{seconds, c.pass == Pass::forward ? Spread{0.3, 1.0} : Spread{0.4, 1.5}};  // the choice of algorithm is cuDNN's
}

}  // namespace distsim
