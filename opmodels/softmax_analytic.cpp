// Softmax over the last dimension.
//   cols <= 1024: the row stays in registers; forward reads x and writes y, backward reads y and dy and writes dx
//   cols >  1024: a block sweeps the row for the maximum, the sum and the values: forward 3 reads and 1 write, backward 4 reads and 1 write;
//                 the later sweeps partly hit L2, counted as half
// Source of the split at 1024: PyTorch's persistent softmax (aten/src/ATen/native/cuda/PersistentSoftmax).
#include "opmodels/shape_check.hpp"
#include "opmodels/streaming_analytic.hpp"

namespace distsim {
namespace {

constexpr double kPersistentCols = 1024;

double passes_of(double cols, Pass pass) {
  const bool forward = pass == Pass::forward;
  if (cols <= kPersistentCols) return forward ? 2.0 : 3.0;
  return forward ? 3.0 : 4.0;
}

}  // namespace

double softmax_seconds(const DeviceRates& device, double rows, double cols, double element_bytes, Pass pass) {
  const double elements = rows * cols;
  return streaming_seconds(device, elements * passes_of(cols, pass) * element_bytes, elements * 20);
}

Result<OpTime> price_softmax(const DeviceRates& device, const Softmax& op) {
  TRY(check_dims("softmax", {{"rows", op.rows}, {"cols", op.cols}}));
  TRY(check_pass("softmax", op.pass, {Pass::forward, Pass::backward}));
  return OpTime{softmax_seconds(device, as_double(op.rows), as_double(op.cols), as_double(size_of(op.dtype)), op.pass), {0.3, 0.35}};
}

}  // namespace distsim
