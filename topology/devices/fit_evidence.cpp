#include "topology/devices/fit_evidence.hpp"

namespace distsim::topology {

Schema<FitEvidence> fit_evidence_schema() {
  Schema<FitEvidence> s("evidence", "What the fitted figures rest on.");
  s.optional("rows", &FitEvidence::rows, {0, 1e9}, "Measured iterations.");
  s.optional("systems", &FitEvidence::systems, {0, 1e6}, "Systems that they were measured on.");
  return s;
}

}  // namespace distsim::topology
