// Transpose of `batch` matrices through shared-memory tiles of 32 x 32: read once, written once, at 75 % of the
// streaming rate (tile edges, bank conflicts, half-filled sectors where a side is short).
#include "opmodels/analytic/streaming_analytic.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {
constexpr double kTileEfficiency = 0.75;
}

Result<OpTime> price_transpose(const DeviceRates& device, const graph::Transpose& op) {
  TRY(check_dims("transpose", {{"batch", op.batch}, {"rows", op.rows}, {"cols", op.cols}}));
  const double bytes =
      2 * as_double(op.batch) * as_double(op.rows) * as_double(op.cols) * as_double(graph::size_of(op.dtype));
  return OpTime{device.floor + memory_seconds(device, bytes) / kTileEfficiency, {0.3, 0.4}};
}

}  // namespace distsim::opmodels
