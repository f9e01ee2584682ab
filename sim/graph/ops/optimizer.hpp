// Dense optimizer updates.
#pragma once

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

enum class OptimizerKind : std::uint8_t { sgd, momentum, adagrad, adam, lamb, lars };
template <>
inline constexpr std::array<std::string_view, 6> kNames<OptimizerKind>{"sgd",  "momentum", "adagrad",
                                                                       "adam", "lamb",     "lars"};

/// Update of `parameters` in `tensors` tensors, multi-tensor kernels.
struct Optimizer {
  static constexpr std::string_view kKind = "optimizer";
  static constexpr Work kWork = Work::kernel;
  OptimizerKind kind = OptimizerKind::sgd;
  std::int64_t parameters = 0;
  std::int64_t tensors = 1;
  DType gradient = DType::fp32;
  bool master_weights = false;  ///< an fp32 master copy next to 16-bit weights
  DType weight = DType::fp32;   ///< of weights and optimizer state, where there is no master copy

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::setting("kind"), op.kind...);
    visit(field::size("parameters").counting("parameter"), op.parameters...);
    visit(field::size("tensors").labelled("in").counting("tensor"), op.tensors...);
    visit(field::setting("gradient"), op.gradient...);
    visit(field::setting("master_weights"), op.master_weights...);
    visit(field::setting("weight").later(), op.weight...);
  }
  double useful_flops() const { return real(parameters) * flops_per_parameter(); }

 private:
  double flops_per_parameter() const {
    switch (kind) {
      case OptimizerKind::sgd:
        return 2;  // w -= lr g
      case OptimizerKind::momentum:
        return 4;  // v = mu v + g; w -= lr v
      case OptimizerKind::adagrad:
        return 6;  // s += g g; w -= lr g / (sqrt s + eps)
      case OptimizerKind::adam:
        return 12;  // both moments, bias corrections, update
      case OptimizerKind::lamb:
        return 18;  // adam, two norms, trust ratio
      case OptimizerKind::lars:
        return 10;  // momentum, two norms, trust ratio
    }
    return 0;
  }
};

}  // namespace distsim::graph
