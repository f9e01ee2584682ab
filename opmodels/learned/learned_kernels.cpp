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

// Each kernel's features with their names, in the order in which the models' files list them.

template <class Sink>
void each_feature(Sink& sink, const DeviceRates& d, double flops) {
  sink("sms", lg(d.sms));
  sink("balance", lg(flops / d.hbm));  // flops per byte of memory
  sink("l2_balance", lg(d.l2 / d.hbm));
  sink("sm_rate", lg(flops / d.sms / d.clock));  // flops per clock of an SM
  sink("l2_per_sm", lg(d.l2_bytes / d.sms));
  sink("capability", d.capability);
}

template <class Sink>
void each_feature(Sink& sink, const DeviceRates& d, const ProductFacts& f) {
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
  each_feature(sink, d, f.rate);
}

/// As the shipped models know them.
double code_of(graph::Pass pass) {
  if (pass == graph::Pass::backward_data) return 1;
  return pass == graph::Pass::backward_weight ? 2 : 0;
}

template <class Sink>
void each_feature(Sink& sink, const DeviceRates& d, const ConvFacts& f) {
  const graph::Conv2d& c = f.conv;
  const double groups = graph::real(c.groups), channels = graph::real(c.c) / groups,
               filters = graph::real(c.k) / groups;
  const double out_h = graph::real(c.out_h()), out_w = graph::real(c.out_w());
  sink("images", lg(graph::real(c.n)));
  sink("channels", lg(channels));
  sink("filters", lg(filters));
  sink("groups", lg(groups));
  sink("height", lg(graph::real(c.h)));
  sink("width", lg(graph::real(c.w)));
  sink("out_height", lg(out_h));
  sink("out_width", lg(out_w));
  sink("taps_high", graph::real(c.r));
  sink("taps_wide", graph::real(c.s));
  sink("stride", graph::real(c.stride));
  sink("dilation", graph::real(c.dilation));
  sink("pad", graph::real(c.pad));
  sink("winograd", f.winograd_gain);
  sink("pass", code_of(f.pass));
  sink("channels_mod", alignment(channels));
  sink("filters_mod", alignment(filters));
  sink("tile2_fill", out_h * out_w / (std::ceil(out_h / 2) * std::ceil(out_w / 2) * 4));
  sink("tile4_fill", out_h * out_w / (std::ceil(out_h / 4) * std::ceil(out_w / 4) * 16));
  each_feature(sink, d, f.product);
}

template <class Sink>
void each_feature(Sink& sink, const DeviceRates& d, const StreamingFacts& f) {
  const double elements = graph::real(f.op.elements), element_bytes = graph::real(graph::size_of(f.op.dtype));
  const double bytes = elements * (f.op.reads + f.op.writes) * element_bytes;
  sink("in_l2", lg(bytes / d.l2_bytes));
  sink("per_sm", lg(elements / d.sms));
  sink("reads", f.op.reads);
  sink("writes", f.op.writes);
  sink("flops", f.op.flops);
  sink("element_bytes", element_bytes);
  sink("floors", lg(f.seconds / d.floor));
  each_feature(sink, d, d.vector_fp32);
}

template <class Sink>
void each_feature(Sink& sink, const DeviceRates& d, const RowFacts& f) {
  sink("kind", static_cast<double>(f.kernel));
  sink("backward", f.backward ? 1 : 0);
  sink("rows_per_sm", lg(f.rows / d.sms));
  sink("rows_tail", f.rows / d.sms / std::ceil(f.rows / d.sms));
  sink("cols", lg(f.cols));
  sink("align_cols", alignment(f.cols * f.element_bytes));
  sink("element_bytes", f.element_bytes);
  sink("in_l2", lg(f.bytes / d.l2_bytes));
  sink("elements_per_sm", lg(f.rows * f.cols / d.sms));
  sink("floors", lg(f.seconds / d.floor));
  each_feature(sink, d, d.vector_fp32);
}

template <class Facts>
FeatureVector collected(const DeviceRates& device, const Facts& facts) {
  FeatureVector out;
  const auto collect = [&](std::string_view, double value) { out.add(value); };
  each_feature(collect, device, facts);
  return out;
}

template <class Facts>
std::vector<std::string_view> names_of(const Facts& facts) {
  std::vector<std::string_view> names;
  const auto record = [&](std::string_view name, double) { names.push_back(name); };
  each_feature(record, DeviceRates{}, facts);
  CHECK(names.size() <= FeatureVector::kMax) << names.size() << " features";
  return names;
}

/// Any device and shape will do: only the names are kept.
std::vector<std::string_view> names_of_kernel(LearnedKernel kernel) {
  const MatrixMachine machine{};
  const MatrixShape shape{};
  const MatrixTime time{};
  const ProductFacts product{machine, shape, time};
  switch (kernel) {
    case LearnedKernel::product16:
    case LearnedKernel::product8:
    case LearnedKernel::product_lanes:
      return names_of(product);
    case LearnedKernel::convolution:
      return names_of(ConvFacts{product, graph::Conv2d{}});
    case LearnedKernel::streaming:
      return names_of(StreamingFacts{graph::Elementwise{}});
    case LearnedKernel::rowwise:
      return names_of(RowFacts{});
  }
  CHECK(false) << "learned kernel";
  return {};
}

}  // namespace

std::string_view name_of(LearnedKernel kernel) { return kNames[static_cast<std::size_t>(kernel)]; }

std::optional<LearnedKernel> parse_learned_kernel(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<LearnedKernel>(found - kNames.begin());
}

FeatureVector features_of(const DeviceRates& device, const ProductFacts& facts) { return collected(device, facts); }
FeatureVector features_of(const DeviceRates& device, const ConvFacts& facts) { return collected(device, facts); }
FeatureVector features_of(const DeviceRates& device, const StreamingFacts& facts) { return collected(device, facts); }
FeatureVector features_of(const DeviceRates& device, const RowFacts& facts) { return collected(device, facts); }

std::span<const std::string_view> feature_names(LearnedKernel kernel) {
  static const auto names = [] {
    std::array<std::vector<std::string_view>, kLearnedKernels> all;
    for (std::size_t i = 0; i < kLearnedKernels; ++i) all[i] = names_of_kernel(static_cast<LearnedKernel>(i));
    return all;
  }();
  return names[static_cast<std::size_t>(kernel)];
}

}  // namespace distsim::opmodels
