// Contended evaluator: plays an irregular program whose running steps share resources (links, NICs, switches, the SMs
// of a GPU).
//
// An activity is a single step or all members of a meeting together. It takes demand[l] of resource l while it runs at
// full speed, and s * demand[l] at speed s <= 1. Speeds are max-min fair (fair_share.hpp) in the rates s * max over l
// of demand[l], and change whenever an activity begins or ends:
//
//     sum over running activities of s * demand[l]  <=  capacity[l],      work done by t = integral of s dt,
//     a step ends when the work done since its start reaches its duration.
//
// Time is in whole picoseconds and speed in multiples of 2^-36, so work is an exact integer: no epsilon, and where no
// resource is short the times are those of evaluate_irregular to the last bit. An end is rounded up to the next
// picosecond.
#pragma once

#include "base/result.hpp"
#include "sim/engine/events/irregular_evaluator.hpp"

namespace distsim::engine {

struct Contention {
  struct Demand {
    std::uint32_t resource = 0;
    double rate = 0;  ///< at full speed, in the unit of the resource's capacity
  };
  std::vector<double> capacities;  ///< by resource
  std::vector<std::uint32_t> demand_offsets{
      0};                       ///< CSR: demands of step s are demands[demand_offsets[s] .. demand_offsets[s+1])
  std::vector<Demand> demands;  ///< members of a meeting add up, and keep them until the last has ended

  /// Demands of the next step, in the order of the program's steps.
  void add(std::span<const Demand> of_step) {
    demands.insert(demands.end(), of_step.begin(), of_step.end());
    demand_offsets.push_back(static_cast<std::uint32_t>(demands.size()));
  }
};

/// Capacities and rates from 1e-30 to 1e30, resources in range, demands for every step.
Result<void> validate(const IrregularProgram& program, const Contention& contention);

/// Cost: a solve of the running activities' shares (uses x log resources) for every moment at which one of those begins
/// or ends, and activities x log activities for the events.
Result<IrregularTimeline> evaluate_contended(const IrregularProgram& program, const Contention& contention);

}  // namespace distsim::engine
