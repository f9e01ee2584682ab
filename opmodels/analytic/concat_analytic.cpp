// Concatenate or split. Each byte is read once and written once; a kernel takes up to 128 pieces (their descriptors
// travel as kernel arguments), and unequal pieces leave some blocks idle: 85 % of the streaming rate.
#include <cmath>

#include "opmodels/analytic/streaming_analytic.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {
constexpr double kPiecesPerKernel = 128;
constexpr double kRaggedEfficiency = 0.85;
}  // namespace

Result<OpTime> price_concat(const DeviceRates& device, const graph::Concat& op) {
  TRY(check_dims("concat", {{"bytes", op.bytes}}));
  TRY(check_dims("concat", {{"pieces", op.pieces}}));
  const double kernels = std::ceil(as_double(op.pieces) / kPiecesPerKernel);
  const double seconds = kernels * device.floor + memory_seconds(device, 2 * as_double(op.bytes)) / kRaggedEfficiency;
  return OpTime{seconds, {0.3, 0.4}};
}

}  // namespace distsim::opmodels
