// Assumption: something that was decided for the user, or that a figure rests on. Every pass hands on its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace distsim::graph {

/// What an assumption is about. In the JSON report these are the `assumption_kinds`.
enum class AssumptionKind : std::uint8_t {
  batch,         ///< how the batch is divided among ranks and micro-steps
  workload,      ///< memory, parallelism, parts of a model that are left out
  collectives,   ///< which curves and models price communication
  network,       ///< what caps the network, and settings of it that have no effect
  kernels,       ///< factors on kernel times
  contention,    ///< shared links, slow GPUs and NICs
  interference,  ///< kernels and collectives that slow each other
  settings,      ///< keys that were given and change nothing
  folding,       ///< micro-steps that are not simulated one by one
};

constexpr std::string_view name_of(AssumptionKind kind) {
  switch (kind) {
    case AssumptionKind::batch:
      return "batch";
    case AssumptionKind::workload:
      return "workload";
    case AssumptionKind::collectives:
      return "collectives";
    case AssumptionKind::network:
      return "network";
    case AssumptionKind::kernels:
      return "kernels";
    case AssumptionKind::contention:
      return "contention";
    case AssumptionKind::interference:
      return "interference";
    case AssumptionKind::settings:
      return "settings";
    case AssumptionKind::folding:
      return "folding";
  }
  return "?";
}

struct Assumption {
  AssumptionKind kind = AssumptionKind::workload;
  std::string text;
  bool operator==(const Assumption&) const = default;
};

}  // namespace distsim::graph
