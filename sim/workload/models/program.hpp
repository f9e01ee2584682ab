// Programs that are described by what they do: steps one after another, each waiting for the one before.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/config/schema.hpp"
#include "sim/graph/op.hpp"

namespace distsim::workload {

enum class StepGroup : std::uint8_t { all, node, rails };

/// Computation of a measured time, or a collective.
struct ProgramStep {
  std::string name = "step";
  Duration compute;
  std::optional<graph::CollectiveKind> collective;
  Bytes size{0};
  StepGroup group = StepGroup::all;
};

struct ProgramSpec {
  std::vector<ProgramStep> steps;
};
Schema<ProgramSpec> program_schema();

}  // namespace distsim::workload
