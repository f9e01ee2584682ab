#include "opmodels/learned/kernel_sample.hpp"

#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

std::optional<KernelSample> sample_of(const DeviceRates& device, const graph::Op& op) {
  if (const auto* gemm = std::get_if<graph::Gemm>(&op)) {
    return gemm_sample(device, {as_double(gemm->batch), as_double(gemm->m), as_double(gemm->n), as_double(gemm->k)},
                       gemm->dtype);
  }
  if (const auto* conv = std::get_if<graph::Conv2d>(&op)) return conv_sample(device, *conv);
  if (const auto* elementwise = std::get_if<graph::Elementwise>(&op)) return elementwise_sample(device, *elementwise);
  if (const auto* norm = std::get_if<graph::Normalization>(&op)) return normalization_sample(device, *norm);
  if (const auto* softmax = std::get_if<graph::Softmax>(&op)) {
    return softmax_sample(device, as_double(softmax->rows), as_double(softmax->cols),
                          as_double(graph::size_of(softmax->dtype)), softmax->pass);
  }
  return std::nullopt;
}

}  // namespace distsim::opmodels
