// The registry of op models: one visible array in registry.cpp. A new model adds its file and one line there.
#pragma once

#include <span>

#include "opmodels/op_models.hpp"
#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

struct OpModelEntry {
  OpModelInfo info;
  std::string_view source;  ///< Cost::source of what it returns
  graph::Basis basis;
  Result<OpTime> (*price)(const DeviceRates& device,
                          const graph::Op& op);  ///< called with the alternative it was registered for
};

/// In the order of the alternatives of Op, so that op.index() finds the entry.
std::span<const OpModelEntry> op_model_entries();

}  // namespace distsim::opmodels
