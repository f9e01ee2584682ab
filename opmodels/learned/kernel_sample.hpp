// One kernel as the learned models see it: which family, its features, and the analytic time that a learned ratio
// multiplies.
#pragma once

#include <optional>

#include "opmodels/learned/learned_kernels.hpp"
#include "sim/graph/op.hpp"

namespace distsim::opmodels {

struct KernelSample {
  std::optional<LearnedKernel> kernel;  ///< none: analytic alone
  FeatureVector features;
  double seconds = 0;  ///< analytic
};

// Builders, each beside the analytic model of its op. Sizes have been checked.
struct ProductSizes {
  double batch = 1, m = 0, n = 0, k = 0;
};
KernelSample gemm_sample(const DeviceRates& device, const ProductSizes& sizes, graph::DType dtype);
/// Nothing for gradients in one op (two kernels), for narrow groups and for tensor cores.
std::optional<KernelSample> conv_sample(const DeviceRates& device, const graph::Conv2d& conv);
KernelSample elementwise_sample(const DeviceRates& device, const graph::Elementwise& op);
KernelSample normalization_sample(const DeviceRates& device, const graph::Normalization& op);
KernelSample softmax_sample(const DeviceRates& device, double rows, double cols, double element_bytes,
                            graph::Pass pass);

/// The sample of an op that is one such kernel; nothing for every other op. Precondition: the op's model has priced it.
std::optional<KernelSample> sample_of(const DeviceRates& device, const graph::Op& op);

}  // namespace distsim::opmodels
