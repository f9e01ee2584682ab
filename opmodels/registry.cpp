#include "opmodels/registry.hpp"

#include <array>

#include "opmodels/attention_analytic.hpp"
#include "opmodels/conv2d_analytic.hpp"
#include "opmodels/cross_layer_analytic.hpp"
#include "opmodels/embedding_bag_analytic.hpp"
#include "opmodels/gemm_analytic.hpp"
#include "opmodels/interaction_analytic.hpp"
#include "opmodels/streaming_analytic.hpp"

namespace distsim {
namespace {

/// Turns a model of one alternative into one of Op.
template <class T, Result<OpTime> (*price)(const DeviceRates&, const T&)>
Result<OpTime> on(const DeviceRates& device, const Op& op) {
  return price(device, std::get<T>(op));
}

Result<OpTime> price_absent(const DeviceRates&, const Absent&) { return OpTime{0, {0, 0}}; }
Result<OpTime> price_host_work(const DeviceRates&, const HostWork& op) { return OpTime{op.duration.seconds(), {0, 0}}; }
Result<OpTime> price_measured(const DeviceRates&, const Measured& op) { return OpTime{op.duration.seconds(), {0, 0}}; }

constexpr Basis kAnalytic = Basis::analytic;

constexpr std::array<OpModelEntry, std::variant_size_v<Op> - 1> kModels{{
    {{"absent", "A rank without a part in the task: no time"}, "absent", kAnalytic, on<Absent, price_absent>},
    {{"gemm", "Roofline with tile and wave quantisation, split-k, alignment; best of the library's tiles"}, "gemm roofline", kAnalytic, on<Gemm, price_gemm>},
    {{"conv2d", "Implicit product on the gemm model; Winograd gain for 3x3 fp32; narrow groups memory bound"}, "conv2d roofline", kAnalytic,
     on<Conv2d, price_conv2d>},
    {{"embedding_bag", "Memory and L2 traffic with expected reuse under index skew; backward by fused, sorted or atomic update"}, "embedding traffic",
     kAnalytic, on<EmbeddingBag, price_embedding_bag>},
    {{"interaction", "Dot interaction: product, lower triangle, concat; or one fused kernel"}, "interaction roofline", kAnalytic,
     on<Interaction, price_interaction>},
    {{"cross_layer", "DCN-v2 cross layer: one or two products and the pointwise kernels"}, "cross layer roofline", kAnalytic,
     on<CrossLayer, price_cross_layer>},
    {{"normalization", "Layer, rms or batch norm by tensor passes"}, "norm traffic", kAnalytic, on<Normalization, price_normalization>},
    {{"softmax", "Softmax by tensor passes; more of them beyond 1024 columns"}, "softmax traffic", kAnalytic, on<Softmax, price_softmax>},
    {{"attention", "Flash kernel at its share of the matrix rate, or products, mask and softmax one by one"}, "attention roofline", kAnalytic,
     on<Attention, price_attention>},
    {{"elementwise", "Bytes over bandwidth, flops over the plain lanes, one kernel"}, "elementwise traffic", kAnalytic, on<Elementwise, price_elementwise>},
    {{"loss", "Softmax and gather, or pointwise loss and reduction"}, "loss traffic", kAnalytic, on<Loss, price_loss>},
    {{"copy", "d2d at memory bandwidth; h2d, d2h, p2p at the host link's rate"}, "copy bandwidth", kAnalytic, on<Copy, price_copy>},
    {{"concat", "Every byte read and written once, 128 pieces a kernel"}, "concat traffic", kAnalytic, on<Concat, price_concat>},
    {{"transpose", "Every byte read and written once through shared memory"}, "transpose traffic", kAnalytic, on<Transpose, price_transpose>},
    {{"optimizer", "Bytes a parameter by kind, multi-tensor launches"}, "optimizer traffic", kAnalytic, on<Optimizer, price_optimizer>},
    {{"host_work", "The duration given with it"}, "given duration", Basis::measured, on<HostWork, price_host_work>},
    {{"measured", "The duration given with it, as from a trace"}, "given duration", Basis::measured, on<Measured, price_measured>},
}};

constexpr auto kInfos = [] {
  std::array<OpModelInfo, kModels.size()> infos{};
  for (std::size_t i = 0; i < kModels.size(); ++i) infos[i] = kModels[i].info;
  return infos;
}();

}  // namespace

std::span<const OpModelEntry> op_model_entries() { return kModels; }
std::span<const OpModelInfo> op_model_registry() { return kInfos; }

}  // namespace distsim
