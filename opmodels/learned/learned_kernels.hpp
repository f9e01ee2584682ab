// The kernels that a learned model corrects, and what it looks at. A learned model gives the ratio of measured to
// analytic time, so whatever it predicts stays within bounds of the physics; its features are ratios, tile and wave
// counts, never a GPU's name.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "opmodels/hardware/device_rates.hpp"
#include "opmodels/hardware/matrix_kernel.hpp"

namespace distsim::opmodels {

enum class LearnedKernel : std::uint8_t {
  product16,      ///< gemm, linear, bmm on 16-bit tensor cores
  product8,       ///< the same, fp8
  product_lanes,  ///< the same on plain FMA lanes, fp32
  convolution,    ///< fp32 conv2d on plain lanes
  streaming,      ///< elementwise
  rowwise,        ///< layer, rms and batch norm, softmax
};
inline constexpr std::size_t kLearnedKernels = 6;
std::string_view name_of(LearnedKernel kernel);
std::optional<LearnedKernel> parse_learned_kernel(std::string_view name);

/// Values of one kernel's features, in the order of feature_names().
struct FeatureVector {
  static constexpr std::size_t kMax = 72;
  std::array<float, kMax> values{};
  std::uint32_t count = 0;
  void add(double value) { values[count++] = static_cast<float>(value); }
};

/// One kernel as the learned models see it: which of them has it, its features, and the analytic time that a learned
/// ratio multiplies.
struct KernelSample {
  std::optional<LearnedKernel> kernel;  ///< none: analytic only
  FeatureVector features;
  double seconds = 0;  ///< analytic
};

/// A matrix product as the kernel sees it, with the library's choice according to the analytic model.
struct ProductFacts {
  const MatrixMachine& machine;
  const MatrixShape& shape;
  const MatrixTime& time;
  double out_bytes = 0;
  double rate = 0;    ///< flop/s of the unit, without what an algorithm saves
  bool warm = false;  ///< operands were left in L2 by an identical call just before (a benchmark's loop)
};

struct ConvFacts {
  ProductFacts product;
  const graph::Conv2d& conv;
  graph::Pass pass = graph::Pass::forward;  ///< of this kernel: forward, backward_data or backward_weight
  double winograd_gain = 1;
};

struct StreamingFacts {
  const graph::Elementwise& op;
  double seconds = 0;  ///< analytic
};

/// Kernels that work row by row. The shipped models know them by these numbers.
enum class RowKernel : std::uint8_t { layer_norm = 0, rms_norm = 1, batch_norm = 2, softmax = 3 };
inline constexpr std::size_t kRowKernels = 4;

struct RowFacts {
  RowKernel kernel = RowKernel::layer_norm;
  bool backward = false;
  double rows = 0, cols = 0, element_bytes = 0;
  double bytes = 0;    ///< moved by one kernel
  double seconds = 0;  ///< analytic
};

FeatureVector features_of(const DeviceRates& device, const ProductFacts& facts);
FeatureVector features_of(const DeviceRates& device, const ConvFacts& facts);
FeatureVector features_of(const DeviceRates& device, const StreamingFacts& facts);
FeatureVector features_of(const DeviceRates& device, const RowFacts& facts);

std::span<const std::string_view> feature_names(LearnedKernel kernel);

/// The last features of every kernel describe the device: sms, balance (flops per byte of memory), l2_balance, sm_rate,
/// l2_per_sm, capability.
inline constexpr std::size_t kDeviceFeatures = 6;

}  // namespace distsim::opmodels
