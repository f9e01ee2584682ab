// Fills the send buffers with the pattern and checks every element that a collective delivered.
#pragma once

#include "mpi_bench/collective/backend/backend.hpp"
#include "mpi_bench/collective/verify/pattern.hpp"

namespace distsim::bench {

/// Result of checking one rank's receive buffer.
struct Check {
  std::uint64_t wrong = 0;          ///< elements
  std::uint64_t first_element = 0;  ///< of the receive buffer; valid where wrong > 0
  std::string found, expected;      ///< values there
};

/// Poisons the receive buffer and writes this rank's pattern where the call sends from.
Result<void> fill_buffers(Backend& backend, const Call& call);

/// Compares the receive buffer with what the collective's definition says.
Result<Check> check_buffers(Backend& backend, const Call& call);

/// Tests: changes one element of the receive buffer.
Result<void> damage_element(Backend& backend, const Call& call, std::uint64_t element);

}  // namespace distsim::bench
