// Scan of a Mamba-2 layer, chunk by chunk: 5 kernels forward (decays, states of chunks, passing them on, C B^T, outputs),
// 9 backward, which works out the states again and has two products for each (state-spaces/mamba, ssd_combined).
//
//   flops    StateSpaceScan::useful_flops(), backward twice that and the states once more
//   bytes    x and y, B and C, the decays in fp32; the states of chunks in fp32, written, passed on (read and written) and
//            read. Backward the same with gradients: twice
//   time     kernels * floor + overlap(memory, flops / (share of the matrix rate))
//
// The shares are estimates: Triton kernels of small products, between matrix kernels and FlashAttention 2.
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kScanForward = 0.40, kScanBackward = 0.35;  // of the matrix rate
constexpr double kStatePasses = 4;

double scan_bytes(const graph::StateSpaceScan& s) {
  const double element = graph::real(graph::size_of(s.dtype)), heads = graph::real(s.heads);
  const double inner = heads * graph::real(s.head_dim), state = graph::real(s.state);
  const double vectors = (2 * inner + 2 * graph::real(s.groups) * state) * element + 4 * heads;
  return s.tokens() * (vectors + kStatePasses * 4 * inner * state / graph::real(s.chunk));
}

Result<OpTime> price_state_space_scan(const DeviceRates& device, const graph::StateSpaceScan& s) {
  TRY(check_product("state_space_scan", {s.batch, s.length, s.heads, s.head_dim, s.state}));
  TRY(check_matrix_dtype(device, s.dtype));
  if (s.heads % s.groups != 0)
    return Error{"state_space_scan.groups: found " + std::to_string(s.groups) + ", expected a divisor of heads (" +
                     std::to_string(s.heads) + ")",
                 "", ""};
  const bool forward = s.pass == graph::Pass::forward;
  const double rate = device.matrix[static_cast<std::size_t>(s.dtype)] * (forward ? kScanForward : kScanBackward);
  const double states = 4 * s.tokens() * graph::real(s.heads) * graph::real(s.head_dim) * graph::real(s.state);
  const double flops = s.useful_flops() + (forward ? 0 : states);
  const double bytes = (forward ? 1 : 2) * scan_bytes(s);
  return OpTime{(forward ? 5 : 9) * device.floor + overlap(memory_seconds(device, bytes), flops / rate), {0.4, 0.5}};
}

}  // namespace

OpModelEntry op_model(Of<graph::StateSpaceScan>) {
  return {
      .sentence = "Mamba-2 scan: products of chunks at their share of the matrix rate, states through memory",
      .source = "scan roofline",
      .limits = "types without a matrix unit on the device",
      .passes = {graph::Pass::forward, graph::Pass::backward},
      .example = graph::StateSpaceScan{4, 4096, 64, 64, 128, 8},
      .price = priced_as<graph::StateSpaceScan, price_state_space_scan>,
  };
}

}  // namespace distsim::opmodels
