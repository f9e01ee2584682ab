// Ops whose time is not for an op model to predict: given durations, nothing at all, and what other models price.
#include "opmodels/registry.hpp"

namespace distsim::opmodels {
namespace {

Result<OpTime> price_absent(const DeviceRates&, const graph::Absent&) { return OpTime{0, {0, 0}}; }

// What a framework's host costs and an experiment's input times say of another host than theirs; chosen: the fitted
// host scales of docs/calibration.md differ by more from one framework to the next.
constexpr Spread kHostSpread{0.1, 0.15};
constexpr Spread kRunToRun{0.05, 0.05};  // clock and temperature move one kernel on one GPU by about that; chosen

/// Of a profile or an experiment: said, not measured here.
Result<OpTime> price_host(const DeviceRates&, const graph::HostWork& op) {
  return OpTime{op.duration.seconds(), kHostSpread};
}

Result<OpTime> price_measured(const DeviceRates&, const graph::Measured& op) {
  return OpTime{op.duration.seconds(), kRunToRun};
}

Result<OpTime> price_collective(const DeviceRates&, const graph::Collective&) {
  return Error{"collective: found in the op models, expected in the collective models", "", ""};
}

Result<OpTime> price_sequence(const DeviceRates&, const graph::Sequence&) {
  return Error{"sequence: found in the op models, expected the ops that it consists of", "", ""};
}

}  // namespace

OpModelEntry op_model(Of<graph::Absent>) {
  return {
      .sentence = "A rank that takes no part in the task: no time",
      .source = "absent",
      .example = graph::Absent{},
      .price = priced_as<graph::Absent, price_absent>,
  };
}

OpModelEntry op_model(Of<graph::HostWork>) {
  return {
      .sentence = "The given duration",
      .source = "given duration",
      .example = graph::HostWork{Duration::microseconds(1000)},
      .price = priced_as<graph::HostWork, price_host>,
  };
}

OpModelEntry op_model(Of<graph::Measured>) {
  return {
      .sentence = "The given duration, e.g. from a trace",
      .source = "given duration",
      .example = graph::Measured{Duration::microseconds(1000)},
      .basis = graph::Basis::measured,
      .price = priced_as<graph::Measured, price_measured>,
  };
}

OpModelEntry op_model(Of<graph::Collective>) {
  return {
      .sentence = "Priced by the collective models: distsim list collectives",
      .source = "",
      .example = graph::Collective{},
      .price = priced_as<graph::Collective, price_collective>,
  };
}

OpModelEntry op_model(Of<graph::Sequence>) {
  return {
      .sentence = "The sum of the ops that it consists of",
      .source = "",
      .example = graph::Sequence{},
      .price = priced_as<graph::Sequence, price_sequence>,
  };
}

}  // namespace distsim::opmodels
