#include "opmodels/analytic/flash_attention.hpp"

#include <algorithm>
#include <cmath>

#include "opmodels/hardware/matrix_kernel.hpp"

namespace distsim::opmodels {
namespace {

using graph::AttentionLibrary;

constexpr double kBlock = 128;        // queries, and keys
constexpr double kWidthStep = 32;     // what head sizes are padded to
constexpr double kExponentials = 16;  // a clock and SM, of all generations since Volta
constexpr double kForwardOps = 1;     // lane operations a score beside the exponential
constexpr double kBackwardOps = 14;   // estimate between the backward rates of A100 (13) and H100 (17)
constexpr double kDropoutOps = 4;     // Philox: about 60 operations for 16 random bytes
constexpr double kHopper = 90, kBlackwell = 100, kConsumer = 120, kCdna3 = 94, kCdnaEnd = 100;

bool is_cdna(const DeviceRates& d) { return d.capability >= kCdna3 && d.capability < kCdnaEnd; }
bool is_hopper(const DeviceRates& d) { return d.capability >= kHopper && d.capability < kCdna3; }
bool is_blackwell(const DeviceRates& d) { return d.capability >= kBlackwell && d.capability < kConsumer; }

/// Shares of a library on an architecture.
struct Kernels {
  double forward, backward;  ///< of the matrix rate that products reach
  double exposed;            ///< of the softmax's time that adds to theirs
};

Kernels kernels_of(const DeviceRates& device, AttentionLibrary library) {
  if (is_cdna(device)) return {0.63, 0.39, 1};
  switch (library) {
    case AttentionLibrary::flash4:
      return {0.93, 0.60, 0.18};
    case AttentionLibrary::cudnn:
      if (is_blackwell(device)) return {0.93, 0.63, 0.34};
      return is_hopper(device) ? Kernels{0.90, 0.74, 0.80} : Kernels{0.93, 0.82, 0.70};
    case AttentionLibrary::flash3:
      return {0.93, 0.74, 0.69};
    case AttentionLibrary::flash1:  // on GPUs that came after it no better than what followed it
      return is_blackwell(device) ? Kernels{0.28, 0.23, 1.45} : Kernels{0.50, is_hopper(device) ? 0.42 : 0.45, 1.45};
    case AttentionLibrary::flash2:
    case AttentionLibrary::best:
      break;
  }
  if (is_hopper(device)) return {0.525, 0.42, 0.95};
  if (is_blackwell(device)) return {0.28, 0.23, 0.95};
  return device.capability >= 80 ? Kernels{0.945, 0.83, 0.70} : Kernels{0.50, 0.45, 1};
}

double padded(double width) { return std::ceil(width / kWidthStep) * kWidthStep; }

double blocks_of(double queries) { return std::ceil(queries / kBlock); }

/// Queries of a head that blocks work on: whole blocks, as a block's products are as large for its last few queries.
/// Fewer than one block's have kernels of their own, as of decoding.
double rows_of(double queries) { return queries < kBlock ? queries : blocks_of(queries) * kBlock; }

/// Scores of a head that blocks work on: of all their rows, and a block of keys more a row at each edge of the mask. A
/// window is no more than the mask without it.
double touched_scores(const graph::Attention& op) {
  const double rows = rows_of(graph::real(op.q_len)), kv = graph::real(op.kv_len);
  const auto touched = [&](std::int64_t window, int edges) {
    graph::Attention masked = op;
    masked.window = window;
    const double counted = masked.scores_of_head() * rows / graph::real(op.q_len);
    return std::min(rows * kv, counted + edges * rows * std::min(kBlock, kv));
  };
  const int diagonal = op.causal ? 1 : 0;
  return std::min(touched(0, diagonal), touched(op.window, diagonal + 1));
}

/// Bytes of Q, K, V and O, and backward of O, dO and the gradients; keys and values are of fewer heads. Gradients of
/// keys that several heads share are summed in registers.
double traffic(const graph::Attention& op, bool forward) {
  const double queries = graph::real(op.batch) * graph::real(op.heads) * graph::real(op.q_len);
  const double keys =
      graph::real(op.batch) * graph::real(op.kv_heads > 0 ? op.kv_heads : op.heads) * graph::real(op.kv_len);
  const double q = queries * graph::real(op.head_dim), o = queries * op.values();
  const double kv = keys * (graph::real(op.head_dim) + op.values());
  const double element = graph::real(graph::size_of(op.dtype));
  return element * (forward ? q + kv + o : 2 * q + 2 * kv + 2 * o);
}

}  // namespace

AttentionLibrary library_on(const DeviceRates& device, AttentionLibrary asked) {
  if (is_cdna(device) || device.capability < 75) return AttentionLibrary::flash2;
  if (device.capability < 80) return AttentionLibrary::flash1;
  if (asked == AttentionLibrary::flash4 && is_blackwell(device)) return asked;
  if (asked == AttentionLibrary::flash3 && is_hopper(device)) return asked;
  if (asked == AttentionLibrary::flash1 || asked == AttentionLibrary::cudnn) return asked;
  if (asked == AttentionLibrary::flash2) return asked;
  if (asked != AttentionLibrary::best) return AttentionLibrary::flash2;  // a library that does not run here
  return is_blackwell(device) || is_hopper(device) ? AttentionLibrary::cudnn : AttentionLibrary::flash2;
}

std::optional<AttentionLibrary> library_in_place(const DeviceRates& device, const graph::Attention& op) {
  if (!op.flash || op.library == AttentionLibrary::best) return std::nullopt;
  const AttentionLibrary runs = library_on(device, op.library);
  return runs == op.library ? std::nullopt : std::optional(runs);
}

double flash_compute_seconds(const DeviceRates& device, const graph::Attention& op) {
  const bool forward = op.pass == graph::Pass::forward;
  const Kernels kernels = kernels_of(device, library_on(device, op.library));
  const double d = padded(graph::real(op.head_dim)), v = padded(op.values());
  const double heads = graph::real(op.batch) * graph::real(op.heads), scores = heads * touched_scores(op);
  const double products = 2 * (forward ? d + v : 3 * d + 2 * v) / device.matrix[static_cast<std::size_t>(op.dtype)] /
                          (forward ? kernels.forward : kernels.backward);
  const double lane_ops = (forward ? kForwardOps : kBackwardOps) + (op.dropout ? kDropoutOps : 0);
  const double softmax = 1 / (kExponentials * device.sms * device.clock) + 2 * lane_ops / device.vector_fp32;
  const double waves = heads * blocks_of(graph::real(op.q_len)) / device.sms;
  return scores * (products + kernels.exposed * softmax) * quantised_waves(waves) / waves +
         std::ceil(waves) * device.traits.tensor.wave_seconds;
}

double flash_seconds(const DeviceRates& device, const graph::Attention& op) {
  const bool forward = op.pass == graph::Pass::forward;
  const double launches = forward ? 1 : 2;  // backward: row sums of dO * O first
  const double memory = memory_seconds(device, traffic(op, forward));
  return launches * device.floor + overlap(memory, flash_compute_seconds(device, op));
}

}  // namespace distsim::opmodels
