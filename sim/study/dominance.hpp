// Dominance: whether one of two experiments has hardware that is better or equal in every figure, and is the same in all
// else. No figure that is better makes an iteration longer, whatever the errors of the costs: of such a pair it is known
// which one is not slower.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/config.hpp"

namespace distsim::study {

enum class Better : std::uint8_t { neither, first, second };

/// Of experiments that differ in these keys. Neither where one of them is no figure that `distsim sensitivity` improves
/// (resources.hpp), such as the model, the number of nodes, the memory or the name of the system, or that one of the two lacks.
Better better_hardware(const config::Experiment& a, const config::Experiment& b,
                       const std::vector<std::string>& differing);

}  // namespace distsim::study
