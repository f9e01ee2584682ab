// DimensionNetwork: a network as ASTRA-sim describes it: dimensions, each with a topology, a count, a bandwidth and a
// latency.
//
//   topology: [ Ring, Switch ]       # Ring, FullyConnected or Switch
//   npus_count: [ 8, 4 ]             # GPU i is at (i % 8, i / 8)
//   bandwidth: [ 400.0, 25.0 ]       # GB/s of a link and direction; 1 GB = 2^30 bytes there
//   latency: [ 900.0, 2500.0 ]       # ns a hop
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace distsim::topology {

enum class DimensionKind : std::uint8_t { ring, fully_connected, switched };

struct NetworkDimension {
  DimensionKind kind = DimensionKind::ring;
  std::uint32_t count = 1;
  double bytes_per_ns = 0;
  double latency_ns = 0;

  /// Hops between two places `distance` apart: 2 through a switch, 1 between neighbours or where all are connected, the
  /// short way round a ring.
  std::uint32_t hops(std::uint32_t distance) const;
};

struct DimensionNetwork {
  std::vector<NetworkDimension> dimensions;

  std::uint32_t ranks() const;
  std::vector<std::uint32_t> place_of(std::uint32_t rank) const;
  /// The dimensions of a group (ascending ranks): those in which its members differ, with as many places as they take.
  /// Refuses a group that is no grid.
  Result<DimensionNetwork> of_group(std::span<const std::uint32_t> members) const;
  std::string describe() const;  ///< "Ring 8 x Switch 4"
};

/// Reads network.yml. Errors name the key; lists must be of one length and the counts above 1 and at most 2^24 in all.
Result<DimensionNetwork> read_dimension_network(const std::string& path);
Result<DimensionNetwork> parse_dimension_network(std::string_view yaml, const std::string& file);

}  // namespace distsim::topology
