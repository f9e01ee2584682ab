#include "opmodels/registry.hpp"

#include <array>

#include "opmodels/analytic/attention_analytic.hpp"
#include "opmodels/analytic/conv2d_analytic.hpp"
#include "opmodels/analytic/cross_layer_analytic.hpp"
#include "opmodels/analytic/embedding_bag_analytic.hpp"
#include "opmodels/analytic/gemm_analytic.hpp"
#include "opmodels/analytic/interaction_analytic.hpp"
#include "opmodels/analytic/streaming_analytic.hpp"

namespace distsim::opmodels {
namespace {

/// Turns a model of one alternative into one of Op.
template <class T, Result<OpTime> (*price)(const DeviceRates&, const T&)>
Result<OpTime> on(const DeviceRates& device, const graph::Op& op) {
  return price(device, std::get<T>(op));
}

Result<OpTime> price_absent(const DeviceRates&, const graph::Absent&) { return OpTime{0, {0, 0}}; }
Result<OpTime> price_host_work(const DeviceRates&, const graph::HostWork& op) {
  return OpTime{op.duration.seconds(), {0, 0}};
}
Result<OpTime> price_measured(const DeviceRates&, const graph::Measured& op) {
  return OpTime{op.duration.seconds(), {0, 0}};
}

constexpr graph::Basis kAnalytic = graph::Basis::analytic;

constexpr std::array<OpModelEntry, std::variant_size_v<graph::Op> - 1> kModels{{
    {{"absent", "A rank that takes no part in the task: no time"},
     "absent",
     kAnalytic,
     on<graph::Absent, price_absent>},
    {{"gemm", "Roofline with tile and wave quantisation, split-k, alignment; best of the library's tiles"},
     "gemm roofline",
     kAnalytic,
     on<graph::Gemm, price_gemm>},
    {{"conv2d", "Implicit GEMM on the gemm model; Winograd speed-up for 3x3 fp32; narrow groups are memory-bound"},
     "conv2d roofline",
     kAnalytic,
     on<graph::Conv2d, price_conv2d>},
    {{"embedding_bag",
      "Memory and L2 traffic with expected reuse under index skew; backward by fused, sorted or atomic update"},
     "embedding traffic",
     kAnalytic,
     on<graph::EmbeddingBag, price_embedding_bag>},
    {{"interaction", "Dot interaction: batched GEMM, lower triangle, concat; or one fused kernel"},
     "interaction roofline",
     kAnalytic,
     on<graph::Interaction, price_interaction>},
    {{"cross_layer", "DCN-v2 cross layer: one or two GEMMs and the pointwise kernels"},
     "cross layer roofline",
     kAnalytic,
     on<graph::CrossLayer, price_cross_layer>},
    {{"normalization", "Layer, RMS or batch norm: passes over the tensor"},
     "norm traffic",
     kAnalytic,
     on<graph::Normalization, price_normalization>},
    {{"softmax", "Softmax: passes over the tensor, more of them beyond 1024 columns"},
     "softmax traffic",
     kAnalytic,
     on<graph::Softmax, price_softmax>},
    {{"attention", "Flash kernel at its fraction of the matrix rate, or separate GEMMs, mask and softmax"},
     "attention roofline",
     kAnalytic,
     on<graph::Attention, price_attention>},
    {{"elementwise", "One kernel: bytes over bandwidth, flops over the vector rate"},
     "elementwise traffic",
     kAnalytic,
     on<graph::Elementwise, price_elementwise>},
    {{"loss", "Softmax and gather, or pointwise loss and reduction"},
     "loss traffic",
     kAnalytic,
     on<graph::Loss, price_loss>},
    {{"copy", "d2d at memory bandwidth; h2d, d2h, p2p at the host link's rate"},
     "copy bandwidth",
     kAnalytic,
     on<graph::Copy, price_copy>},
    {{"concat", "Every byte read and written once, 128 pieces per kernel"},
     "concat traffic",
     kAnalytic,
     on<graph::Concat, price_concat>},
    {{"transpose", "Every byte read and written once through shared memory"},
     "transpose traffic",
     kAnalytic,
     on<graph::Transpose, price_transpose>},
    {{"optimizer", "Bytes per parameter by kind, multi-tensor launches"},
     "optimizer traffic",
     kAnalytic,
     on<graph::Optimizer, price_optimizer>},
    {{"host_work", "The given duration"},
     "given duration",
     graph::Basis::measured,
     on<graph::HostWork, price_host_work>},
    {{"measured", "The given duration, e.g. from a trace"},
     "given duration",
     graph::Basis::measured,
     on<graph::Measured, price_measured>},
}};

constexpr auto kInfos = [] {
  std::array<OpModelInfo, kModels.size()> infos{};
  for (std::size_t i = 0; i < kModels.size(); ++i) infos[i] = kModels[i].info;
  return infos;
}();

}  // namespace

std::span<const OpModelEntry> op_model_entries() { return kModels; }
std::span<const OpModelInfo> op_model_registry() { return kInfos; }

}  // namespace distsim::opmodels
