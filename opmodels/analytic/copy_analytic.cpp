// Copies by the copy engine or a memcpy kernel. time = start + bytes / rate.
//   d2d: every byte is read and written, 2 bytes of memory traffic      h2d, d2h (pinned), p2p:
//   DeviceSpec::pcie_bandwidth, one direction
// Starting a copy engine costs about twice an empty kernel.
#include "opmodels/analytic/streaming_analytic.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {

Result<OpTime> price_copy(const DeviceRates& device, const graph::Copy& op) {
  TRY(check_dims("copy", {{"bytes", op.bytes}}));
  const double bytes = as_double(op.bytes);
  if (op.kind == graph::CopyKind::d2d) return OpTime{streaming_seconds(device, 2 * bytes, 0), {0.2, 0.25}};
  return OpTime{2 * device.floor + bytes / device.pcie, {0.3, 0.5}};
}

}  // namespace distsim::opmodels
