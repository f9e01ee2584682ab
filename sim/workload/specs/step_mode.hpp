// What a predicted step consists of, as in `model.mode`.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "sim/workload/specs/model_spec.hpp"

namespace distsim::workload {

enum class StepMode : std::uint8_t {
  train,             ///< forward, backward, gradients summed over replicas, optimizer
  forward_backward,  ///< the same without the optimizer
  inference,         ///< the forward pass alone, without dropout and loss, and with nothing kept for a backward pass
};
std::string_view name_of(StepMode mode);

/// The keys `model.mode` and `model.correction`.
struct StepSpec {
  StepMode mode = StepMode::train;
  bool corrects_graphs = false;  ///< by what was learned of the graphs of measured iterations
};

inline StepMode mode_of(const ModelSpec& model) { return model.as<StepSpec>().mode; }
inline bool corrects_graphs(const ModelSpec& model) { return model.as<StepSpec>().corrects_graphs; }

/// The section of a family that has a member `dropout`, as its step runs it: what only training has is left out.
template <class Spec>
Spec as_run(const ModelSpec& model) {
  Spec spec = model.as<Spec>();
  if (mode_of(model) != StepMode::inference) return spec;
  spec.dropout = false;
  if constexpr (requires { spec.mtp_layers; }) spec.mtp_layers = 0;
  return spec;
}

/// Refuses another mode than `train`, for families whose step is one of training; `what` names such a family.
Result<void> only_training(const ModelSpec& model, std::string_view what);

}  // namespace distsim::workload
