// Ops that no model knows: one kernel that streams what it must read and write.
#include "opmodels/registry.hpp"

namespace distsim::opmodels {
namespace {

/// From half of a kernel that streams at the memory's rate to three times as long: several kernels, or scattered accesses.
constexpr Spread kAnyKernel{0.5, 2.0};

Result<OpTime> price_unlisted(const DeviceRates& device, const graph::Unlisted& op) {
  const double bytes = graph::real(op.read_bytes) + graph::real(op.written_bytes);
  return OpTime{streaming_seconds(device, bytes, graph::real(op.flops)), kAnyKernel};
}

}  // namespace

OpModelEntry op_model(Of<graph::Unlisted>) {
  return {
      .sentence =
          "One kernel of an op that no model knows: bytes over bandwidth, flops over the vector rate, a wide range",
      .source = "bytes and flops only",
      .example = graph::Unlisted{100'000'000, 100'000'000, 100'000'000},
      .price = priced_as<graph::Unlisted, price_unlisted>,
  };
}

}  // namespace distsim::opmodels
