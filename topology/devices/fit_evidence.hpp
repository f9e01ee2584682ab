// FitEvidence: what fitted figures of a profile rest on.
#pragma once

#include <cstdint>

#include "base/config/schema.hpp"

namespace distsim::topology {

struct FitEvidence {
  std::int64_t rows = 0;     ///< measured iterations; 0: nothing was fitted
  std::int64_t systems = 0;  ///< systems that they were measured on
  bool operator==(const FitEvidence&) const = default;
};

Schema<FitEvidence> fit_evidence_schema();

}  // namespace distsim::topology
