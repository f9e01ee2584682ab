#pragma once

#include <cstdint>

namespace distsim::report {

/// Whether figures hold comm and hidden_comm, the times of transfers (otherwise zero): of a deep pipeline they cost as much
/// as all other figures together, and plans do not show them.
enum class Transfers : std::uint8_t { left_out, summed };

}  // namespace distsim::report
