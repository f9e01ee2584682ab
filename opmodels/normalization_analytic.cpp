// Normalisation. Tensor passes (reads plus writes of rows x cols):
//   layer, rms forward   x twice (statistics, then values; the second read of a row mostly hits L1 or L2), y once
//   layer, rms backward  dx kernel: x, dy, dx; weight-gradient kernel: x, dy again
//   batch forward        x for the statistics, x again, y      (a whole-tensor reduction lies between: nothing is still in cache)
//   batch backward       x and dy for the two sums, x and dy again, dx
// A fused activation saves the separate kernel, not a pass here.
#include "opmodels/shape_check.hpp"
#include "opmodels/streaming_analytic.hpp"

namespace distsim {
namespace {

struct Passes {
  double tensors;  ///< of rows x cols elements, in all kernels
  double kernels;
};

Passes passes_of(NormKind kind, Pass pass) {
  const bool forward = pass == Pass::forward;
  if (kind == NormKind::batch) return forward ? Passes{3.0, 2} : Passes{5.0, 2};
  return forward ? Passes{2.4, 1} : Passes{5.0, 2};
}

}  // namespace

Result<OpTime> price_normalization(const DeviceRates& device, const Normalization& op) {
  TRY(check_dims("normalization", {{"rows", op.rows}, {"cols", op.cols}}));
  TRY(check_pass("normalization", op.pass, {Pass::forward, Pass::backward}));
  const Passes passes = passes_of(op.kind, op.pass);
  const double elements = as_double(op.rows) * as_double(op.cols);
  const double bytes = elements * passes.tensors * as_double(size_of(op.dtype)) / passes.kernels;
  const double one = streaming_seconds(device, bytes, elements * 10 / passes.kernels);
  return OpTime{passes.kernels * one, {0.3, 0.4}};
}

}  // namespace distsim
