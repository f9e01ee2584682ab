#include "opmodels/learned/learned_kernels.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace distsim::opmodels {
namespace {

constexpr std::array<std::string_view, kLearnedKernels> kNames{"product16",   "product8",  "product_lanes",
                                                               "convolution", "streaming", "rowwise"};

struct NamedTile {
  Tile tile;
  std::string_view waves, tail, fill;
};
constexpr std::array<NamedTile, 6> kTiles{{{{256, 128}, "waves_256x128", "tail_256x128", "fill_256x128"},
                                           {{128, 256}, "waves_128x256", "tail_128x256", "fill_128x256"},
                                           {{128, 128}, "waves_128x128", "tail_128x128", "fill_128x128"},
                                           {{128, 64}, "waves_128x64", "tail_128x64", "fill_128x64"},
                                           {{64, 64}, "waves_64x64", "tail_64x64", "fill_64x64"},
                                           {{32, 32}, "waves_32x32", "tail_32x32", "fill_32x32"}}};

/// Finite: what is not there at all counts as a very small share of it.
double lg(double value) { return static_cast<double>(std::log2(std::clamp(static_cast<float>(value), 1e-12F, 1e24F))); }

/// log2 of the largest power of two, up to 128, that divides a row pitch in bytes.
double alignment(double bytes) {
  const auto whole = static_cast<std::uint64_t>(std::min(bytes, 9e15));
  return whole == 0 ? 7 : std::min(7, std::countr_zero(whole));
}

template <class Sink>
void each_device_feature(Sink& sink, const DeviceRates& d, double flops) {
  sink("sms", lg(d.sms));
  sink("balance", lg(flops / d.hbm));  // flops per byte of memory
  sink("l2_balance", lg(d.l2 / d.hbm));
  sink("sm_rate", lg(flops / d.sms / d.clock));  // flops per clock of an SM
  sink("l2_per_sm", lg(d.l2_bytes / d.sms));
  sink("capability", d.capability);
}

template <class Sink>
void each_product_feature(Sink& sink, const DeviceRates& d, const ProductFacts& f) {
  const MatrixShape& s = f.shape;
  const MatrixTime& t = f.time;
  const double flops = 2 * s.batch * s.m * s.n * s.k;
  sink("m", lg(s.m));
  sink("n", lg(s.n));
  sink("k", lg(s.k));
  sink("batch", lg(s.batch));
  sink("intensity", lg(flops / s.compulsory_bytes * f.machine.hbm / f.machine.flops));
  sink("efficiency", lg(flops / f.machine.flops / t.seconds));
  sink("memory_share", lg(t.memory / t.seconds));
  sink("loop_share", lg(t.loop / t.seconds));
  sink("floors", lg(t.seconds / f.machine.floor));
  sink("tile_m", lg(t.tile.m));
  sink("tile_n", lg(t.tile.n));
  sink("split", lg(t.split));
  sink("waves", lg(t.waves));
  for (const NamedTile& named : kTiles) {
    const double across_m = std::ceil(s.m / named.tile.m), across_n = std::ceil(s.n / named.tile.n);
    const double waves = s.batch * across_m * across_n / f.machine.sms;
    sink(named.waves, lg(waves));
    sink(named.tail, waves / std::ceil(waves));
    sink(named.fill, s.m * s.n / (across_m * named.tile.m * across_n * named.tile.n));
  }
  sink("align_n", alignment(s.n * s.element_bytes));
  sink("align_k", alignment(s.k * s.element_bytes));
  sink("left_in_l2", lg(s.batch * s.m * s.k * s.element_bytes / d.l2_bytes));
  sink("right_in_l2", lg(s.batch * s.n * s.k * s.element_bytes / d.l2_bytes));
  sink("out_in_l2", lg(f.out_bytes / d.l2_bytes));
  sink("element_bytes", s.element_bytes);
  sink("warm", f.warm ? 1 : 0);
  each_device_feature(sink, d, f.rate);
}

template <class Sink>
void each_conv_feature(Sink& sink, const DeviceRates& d, const ConvFacts& f) {
  sink("images", lg(f.images));
  sink("channels", lg(f.channels));
  sink("filters", lg(f.filters));
  sink("groups", lg(f.groups));
  sink("height", lg(f.height));
  sink("width", lg(f.width));
  sink("out_height", lg(f.out_height));
  sink("out_width", lg(f.out_width));
  sink("taps_high", f.taps_high);
  sink("taps_wide", f.taps_wide);
  sink("stride", f.stride);
  sink("dilation", f.dilation);
  sink("pad", f.pad);
  sink("winograd", f.winograd_gain);
  sink("pass", f.pass);
  sink("channels_mod", alignment(f.channels));
  sink("filters_mod", alignment(f.filters));
  sink("tile2_fill", f.out_height * f.out_width / (std::ceil(f.out_height / 2) * std::ceil(f.out_width / 2) * 4));
  sink("tile4_fill", f.out_height * f.out_width / (std::ceil(f.out_height / 4) * std::ceil(f.out_width / 4) * 16));
  each_product_feature(sink, d, f.product);
}

template <class Sink>
void each_streaming_feature(Sink& sink, const DeviceRates& d, const StreamingFacts& f) {
  const double bytes = f.elements * (f.reads + f.writes) * f.element_bytes;
  sink("in_l2", lg(bytes / d.l2_bytes));
  sink("per_sm", lg(f.elements / d.sms));
  sink("reads", f.reads);
  sink("writes", f.writes);
  sink("flops", f.flops);
  sink("element_bytes", f.element_bytes);
  sink("floors", lg(f.seconds / d.floor));
  each_device_feature(sink, d, d.vector_fp32);
}

template <class Sink>
void each_row_feature(Sink& sink, const DeviceRates& d, const RowFacts& f) {
  sink("kind", f.kind);
  sink("backward", f.backward);
  sink("rows_per_sm", lg(f.rows / d.sms));
  sink("rows_tail", f.rows / d.sms / std::ceil(f.rows / d.sms));
  sink("cols", lg(f.cols));
  sink("align_cols", alignment(f.cols * f.element_bytes));
  sink("element_bytes", f.element_bytes);
  sink("in_l2", lg(f.bytes / d.l2_bytes));
  sink("elements_per_sm", lg(f.rows * f.cols / d.sms));
  sink("floors", lg(f.seconds / d.floor));
  each_device_feature(sink, d, d.vector_fp32);
}

struct Recorder {
  std::vector<std::string_view> names;
  void operator()(std::string_view name, double) { names.push_back(name); }
};

struct Collector {
  FeatureVector out;
  void operator()(std::string_view, double value) { out.add(value); }
};

/// Any device and shape do: only the names are kept.
std::vector<std::string_view> recorded_names(LearnedKernel kernel) {
  const DeviceRates device{};
  const MatrixMachine machine{};
  const MatrixShape shape{};
  const MatrixTime time{};
  const ProductFacts product{machine, shape, time};
  Recorder recorder;
  switch (kernel) {
    case LearnedKernel::convolution:
      each_conv_feature(recorder, device, ConvFacts{product});
      break;
    case LearnedKernel::streaming:
      each_streaming_feature(recorder, device, StreamingFacts{});
      break;
    case LearnedKernel::rowwise:
      each_row_feature(recorder, device, RowFacts{});
      break;
    default:
      each_product_feature(recorder, device, product);
  }
  CHECK(recorder.names.size() <= FeatureVector::kMax) << "features of " << name_of(kernel);
  return recorder.names;
}

}  // namespace

std::string_view name_of(LearnedKernel kernel) { return kNames[static_cast<std::size_t>(kernel)]; }

std::optional<LearnedKernel> parse_learned_kernel(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<LearnedKernel>(found - kNames.begin());
}

FeatureVector product_features(const DeviceRates& device, const ProductFacts& facts) {
  Collector collector;
  each_product_feature(collector, device, facts);
  return collector.out;
}

FeatureVector conv_features(const DeviceRates& device, const ConvFacts& facts) {
  Collector collector;
  each_conv_feature(collector, device, facts);
  return collector.out;
}

FeatureVector streaming_features(const DeviceRates& device, const StreamingFacts& facts) {
  Collector collector;
  each_streaming_feature(collector, device, facts);
  return collector.out;
}

FeatureVector row_features(const DeviceRates& device, const RowFacts& facts) {
  Collector collector;
  each_row_feature(collector, device, facts);
  return collector.out;
}

std::span<const std::string_view> feature_names(LearnedKernel kernel) {
  static const auto names = [] {
    std::array<std::vector<std::string_view>, kLearnedKernels> all;
    for (std::size_t i = 0; i < kLearnedKernels; ++i) all[i] = recorded_names(static_cast<LearnedKernel>(i));
    return all;
  }();
  return names[static_cast<std::size_t>(kernel)];
}

}  // namespace distsim::opmodels
