// Recurrent layers: LSTM and GRU.
#pragma once

#include <string>

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

enum class Cell : std::uint8_t { lstm, gru };
template <>
inline constexpr std::array<std::string_view, 2> kNames<Cell>{"lstm", "gru"};

/// Products of a step: an LSTM has four gates, a GRU three.
inline std::int64_t gates_of(Cell cell) { return cell == Cell::lstm ? 4 : 3; }

/// How cuDNN does the steps: a product and a pointwise kernel for each, or one kernel for all steps that keeps the
/// recurrent weights in registers (CUDNN_RNN_ALGO_STANDARD, CUDNN_RNN_ALGO_PERSIST_STATIC).
enum class RecurrentKernels : std::uint8_t { any, per_step, persistent };
template <>
inline constexpr std::array<std::string_view, 3> kNames<RecurrentKernels>{"any", "per_step", "persistent"};

/// One layer over sequences of equal length, as one call of cuDNN. backward_data gives the gradients of inputs and
/// states, backward_weight those of weights and biases, backward both.
struct Recurrent {
  static constexpr std::string_view kKind = "recurrent";
  static constexpr Work kWork = Work::kernel;
  Cell cell = Cell::lstm;
  std::int64_t batch = 0, length = 0, input = 0, hidden = 0;
  std::int64_t directions = 1;  ///< 2: bidirectional, the outputs side by side
  RecurrentKernels kernels = RecurrentKernels::any;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::setting("cell"), op.cell...);
    visit(field::size("batch"), op.batch...);
    visit(field::size("length"), op.length...);
    visit(field::size("input"), op.input...);
    visit(field::size("hidden"), op.hidden...);
    visit(field::size("directions").within(1, 2), op.directions...);
    visit(field::setting("kernels"), op.kernels...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("pass"), op.pass...);
  }
  /// The products; what the gates do element by element is less than a thousandth of them.
  double useful_flops() const {
    const double steps = real(batch) * real(length) * real(directions);
    return products_of(pass) * 2 * steps * real(gates_of(cell)) * real(hidden) * (real(input) + real(hidden));
  }
  /// "lstm batch 64 length 50 from 512 to 1024 fp16"
  std::string text() const;
};

}  // namespace distsim::graph
