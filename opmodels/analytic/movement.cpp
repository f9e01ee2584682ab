// What moves bytes and computes nothing.
//
//   copy       start + bytes / rate. d2d: every byte is read and written, 2 bytes of memory traffic; h2d, d2h (pinned)
//              and p2p: DeviceSpec::pcie_bandwidth, one direction (DeviceSpec knows no NVLink; links are the
//              topology's)
//   concat     concatenate or split: each byte is read once and written once; a kernel takes up to 128 pieces (their
//              descriptors travel as kernel arguments), and unequal pieces leave some blocks idle
//   transpose  `batch` matrices through shared-memory tiles of 32 x 32, read once and written once
#include <cmath>

#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kEngineStart = 2;          // empty kernels' time that starting a copy engine takes
constexpr double kPiecesPerKernel = 128;    // PyTorch's CatArrayBatchedCopy (aten/src/ATen/native/cuda/Shape.cu)
constexpr double kRaggedEfficiency = 0.85;  // of the streaming rate, over unequal pieces
constexpr double kTileEfficiency = 0.75;    // of the streaming rate: tile edges, bank conflicts, half-filled sectors

Result<OpTime> price_copy(const DeviceRates& device, const graph::Copy& op) {
  const double bytes = graph::real(op.bytes);
  if (op.kind == graph::CopyKind::d2d) return OpTime{streaming_seconds(device, 2 * bytes, 0), {0.2, 0.25}};
  return OpTime{kEngineStart * device.floor + bytes / device.pcie, {0.3, 0.5}};
}

Result<OpTime> price_concat(const DeviceRates& device, const graph::Concat& op) {
  const double kernels = std::ceil(graph::real(op.pieces) / kPiecesPerKernel);
  const double seconds = kernels * device.floor + memory_seconds(device, 2 * graph::real(op.bytes)) / kRaggedEfficiency;
  return OpTime{seconds, {0.3, 0.4}};
}

Result<OpTime> price_transpose(const DeviceRates& device, const graph::Transpose& op) {
  TRY(check_product("transpose", {op.batch, op.rows, op.cols}));
  const double bytes =
      2 * graph::real(op.batch) * graph::real(op.rows) * graph::real(op.cols) * graph::real(graph::size_of(op.dtype));
  return OpTime{device.floor + memory_seconds(device, bytes) / kTileEfficiency, {0.3, 0.4}};
}

}  // namespace

OpModelEntry op_model(Of<graph::Copy>) {
  return {
      .sentence = "d2d at memory bandwidth; h2d, d2h, p2p at the host link's rate",
      .source = "copy bandwidth",
      .example = graph::Copy{graph::CopyKind::h2d, 100'000'000},
      .price = priced_as<graph::Copy, price_copy>,
  };
}

OpModelEntry op_model(Of<graph::Concat>) {
  return {
      .sentence = "Every byte read and written once, 128 pieces per kernel",
      .source = "concat traffic",
      .example = graph::Concat{100'000'000, 4},
      .price = priced_as<graph::Concat, price_concat>,
  };
}

OpModelEntry op_model(Of<graph::Transpose>) {
  return {
      .sentence = "Every byte read and written once through shared memory",
      .source = "transpose traffic",
      .example = graph::Transpose{4096, 4096},
      .price = priced_as<graph::Transpose, price_transpose>,
  };
}

}  // namespace distsim::opmodels
