// A recurrent layer of D directions over B sequences of T steps, from I inputs to H units, G gates (LSTM 4, GRU 3), in
// the two ways that cuDNN knows.
//
//   input      one product for all steps, (T B) x G H x I in each direction
//   per step   T times: the product B x G H x H of each direction, weights in L2 if they fit there, then one pointwise
//              kernel over the gates; a gap between any two kernels
//   persistent one kernel: the weights D G H H stay in registers, so a step loads none. T times: a barrier of the whole
//              grid, and overlap(product at kStepEfficiency of the matrix rate, the state B H read by every SM from L2,
//              gates read and written in memory)
//   backward   data: the steps in reverse, with the state's gradient B x H x G H (every SM reads B G H), then the
//              inputs' gradient as one product; weight: two products over all T B rows and the biases' column sums
//
// Persistent kernels need their weights in 85 % of the registers of all SMs (256 KiB each from Kepler on). Where the op
// names neither, it is as PyTorch asks cuDNN: persistent only for 16-bit types, one direction and at most 1024 units
// (aten/src/ATen/native/cudnn/RNN.cpp), and only where that is faster.
//
// Sources: Appleyard, Kocisky, Blunsom 2016, "Optimizing Performance of Recurrent Neural Networks on GPUs" (arXiv
// 1604.01946), for one product over all steps and the fused pointwise kernel; Diamos et al. 2016, "Persistent RNNs"
// (ICML), for the persistent kernel: 1152 units in fp32 in the registers of a Titan X, and there 2.8 of 6.1 TFLOP/s with
// 4 sequences, 3.8 us a step. That is a barrier of 1.5 us (two crossings of L2 and the skew of the blocks) and 75 % of
// the plain lanes' rate. Not compared with other measurements: there are no public ones with their GPU and shapes.
// Validity: equal lengths, no projection, one layer (cuDNN can overlap the steps of stacked ones).
#include <algorithm>
#include <cmath>

#include "opmodels/analytic/kernels.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kBarrierSeconds = 1.5e-6;     // of the grid between two steps
constexpr double kStepEfficiency = 0.75;       // of the matrix rate, operands in registers
constexpr double kRegisterBytes = 256 * 1024;  // of an SM
constexpr double kRegistersForWeights = 0.85;  // 5.3 of 6.3 MB on the Titan X
constexpr double kMatrixRows = 16;             // sequences are filled up to a matrix instruction's rows

struct RecurrentSizes {
  double batch, length, input, hidden, directions, gates, element;
  double gate_width() const { return gates * hidden; }
  double rows() const { return batch * length; }
  double weight_bytes() const { return directions * gate_width() * hidden * element; }  // recurrent ones
  double state_bytes() const { return batch * hidden * element; }                       // of one direction
};

RecurrentSizes sizes_of(const graph::Recurrent& op) {
  return {graph::real(op.batch),
          graph::real(op.length),
          graph::real(op.input),
          graph::real(op.hidden),
          graph::real(op.directions),
          graph::real(graph::gates_of(op.cell)),
          graph::real(graph::size_of(op.dtype))};
}

constexpr double kMostPersistentUnits = 1024;

bool fits_registers(const DeviceRates& device, const RecurrentSizes& s) {
  return s.weight_bytes() <= kRegistersForWeights * kRegisterBytes * device.sms;
}

/// Tensors of the state's size that the pointwise part of a step reads and writes in memory. Forward: the input's
/// gates in, the saved gates, cell and output out. Backward: these in, the gates' gradients out.
double state_tensors(const RecurrentSizes& s) { return 2 * s.gates + 3; }

/// All steps by a product and a pointwise kernel each.
double per_step_seconds(const DeviceRates& device, const graph::Recurrent& op, const RecurrentSizes& s, bool forward) {
  const double product = forward
                             ? repeated_gemm_seconds(device, s.directions, s.batch, s.gate_width(), s.hidden, op.dtype)
                             : repeated_gemm_seconds(device, s.directions, s.batch, s.hidden, s.gate_width(), op.dtype);
  const double tensors = state_tensors(s) + (forward ? s.gates : 1);  // and the product's own result
  const double elements = s.directions * s.batch * s.hidden;
  constexpr double kFlops = 20;  // per gate element: sigmoid or tanh on the plain lanes
  const double pointwise = streaming_seconds(device, tensors * elements * s.element, kFlops * s.gates * elements);
  return s.length * (product + pointwise + 2 * device.gap);
}

double persistent_seconds(const DeviceRates& device, const graph::Recurrent& op, const RecurrentSizes& s,
                          bool forward) {
  const bool lanes = uses_vector_lanes(device, op.dtype);
  const double rows = lanes ? s.batch : std::ceil(s.batch / kMatrixRows) * kMatrixRows;
  const double flops = 2 * s.directions * rows * s.gate_width() * s.hidden;
  const double rate = device.matrix[static_cast<std::size_t>(op.dtype)] * kStepEfficiency;
  const double shared = (forward ? 1 : s.gates) * s.state_bytes();  // by every SM of a direction
  const double exchange = device.traits.sms() * shared / device.streaming_l2();
  const double memory = state_tensors(s) * s.directions * s.state_bytes() / device.streaming_hbm();
  return device.floor + s.length * (kBarrierSeconds + overlap(flops / rate, exchange, memory));
}

double steps_seconds(const DeviceRates& device, const graph::Recurrent& op, const RecurrentSizes& s, bool forward) {
  using graph::RecurrentKernels;
  if (op.kernels == RecurrentKernels::persistent) return persistent_seconds(device, op, s, forward);
  const double per_step = per_step_seconds(device, op, s, forward);
  const bool asked = s.element == 2 && s.directions == 1 && s.hidden <= kMostPersistentUnits;
  if (op.kernels == RecurrentKernels::per_step || !asked || !fits_registers(device, s)) return per_step;
  return std::min(per_step, persistent_seconds(device, op, s, forward));
}

double forward_seconds(const DeviceRates& device, const graph::Recurrent& op, const RecurrentSizes& s) {
  return gemm_seconds(device, s.directions, s.rows(), s.gate_width(), s.input, op.dtype) +
         steps_seconds(device, op, s, true);
}

double data_seconds(const DeviceRates& device, const graph::Recurrent& op, const RecurrentSizes& s) {
  return steps_seconds(device, op, s, false) +
         gemm_seconds(device, s.directions, s.rows(), s.input, s.gate_width(), op.dtype);
}

double weight_seconds(const DeviceRates& device, const graph::Recurrent& op, const RecurrentSizes& s) {
  const double gates = s.directions * s.rows() * s.gate_width();
  return gemm_seconds(device, s.directions, s.input, s.gate_width(), s.rows(), op.dtype) +
         gemm_seconds(device, s.directions, s.hidden, s.gate_width(), s.rows(), op.dtype) +
         streaming_seconds(device, gates * s.element, gates);
}

Result<void> check_recurrent(const DeviceRates& device, const graph::Recurrent& op, const RecurrentSizes& s) {
  const std::int64_t widest = std::max(op.input, op.hidden);
  TRY(check_product("recurrent", {op.batch, op.length, op.directions, graph::gates_of(op.cell), op.hidden, widest}));
  TRY(check_matrix_dtype(device, op.dtype));
  if (s.element < 2) {
    return Error{
        "recurrent.dtype: found " + std::string(graph::name_of(op.dtype)) + ", expected fp16, bf16, fp32, tf32 or fp64",
        "", ""};
  }
  if (op.kernels != graph::RecurrentKernels::persistent || fits_registers(device, s)) return {};
  return Error{"recurrent.kernels: found persistent for " + std::to_string(op.hidden) +
                   " units, expected recurrent weights that fit the registers of the GPU, or per_step",
               "", ""};
}

Result<OpTime> price_recurrent(const DeviceRates& device, const graph::Recurrent& op) {
  const RecurrentSizes s = sizes_of(op);
  TRY(check_recurrent(device, op, s));
  double seconds = 0;
  if (op.pass == graph::Pass::forward) seconds += forward_seconds(device, op, s);
  if (op.pass == graph::Pass::backward_data || op.pass == graph::Pass::backward) seconds += data_seconds(device, op, s);
  if (op.pass == graph::Pass::backward_weight || op.pass == graph::Pass::backward)
    seconds += weight_seconds(device, op, s);
  return OpTime{seconds, {0.4, 0.6}};
}

}  // namespace

OpModelEntry op_model(Of<graph::Recurrent>) {
  return {
      .sentence =
          "LSTM or GRU layer: one GEMM for all inputs, then GEMM and pointwise kernel per step, or one "
          "persistent kernel with the weights in registers",
      .source = "recurrent roofline",
      .limits =
          "8-bit types; types without a matrix unit on the device; persistent kernels whose weights exceed the "
          "registers",
      .passes = {graph::Pass::forward, graph::Pass::backward, graph::Pass::backward_data, graph::Pass::backward_weight},
      .example =
          graph::Recurrent{graph::Cell::lstm, 64, 50, 1024, 1024, 1, graph::RecurrentKernels::any, graph::DType::fp16},
      .price = priced_as<graph::Recurrent, price_recurrent>,
  };
}

}  // namespace distsim::opmodels
