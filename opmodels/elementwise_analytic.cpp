// Elementwise kernels. time = floor + overlap(bytes / bandwidth, flops / plain-lane rate).
// Special functions (exp, tanh, erf) should be given as about 20 to 200 flops an element; they matter only where memory is fast.
#include "opmodels/shape_check.hpp"
#include "opmodels/streaming_analytic.hpp"

namespace distsim {

Result<OpTime> price_elementwise(const DeviceRates& device, const Elementwise& op) {
  TRY(check_dims("elementwise", {{"elements", op.elements}}));
  TRY(check_number("elementwise", "reads", op.reads, 0, 1e3));
  TRY(check_number("elementwise", "writes", op.writes, 0, 1e3));
  TRY(check_number("elementwise", "flops", op.flops, 0, 1e6));
  const double elements = as_double(op.elements);
  const double bytes = elements * (op.reads + op.writes) * as_double(size_of(op.dtype));
  return OpTime{streaming_seconds(device, bytes, elements * op.flops), {0.2, 0.25}};
}

}  // namespace distsim
