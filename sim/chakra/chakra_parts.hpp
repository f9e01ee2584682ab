// The parts of play_chakra. Private to sim/chakra/.
#pragma once

#include <functional>
#include <vector>

#include "sim/chakra/chakra_play.hpp"
#include "sim/engine/events/irregular_evaluator.hpp"

namespace distsim::chakra {

/// What a node occupies.
enum class Lane : std::uint8_t { host, compute, comm, none };
Lane lane_of(const traces::ChakraNode& node);

/// Streams of one rank, numbered as they appear.
class StreamNumbers {
 public:
  /// Collectives of one communicator follow each other, and so do those on one GPU stream; messages of a rank follow
  /// each other. Invalid for nodes without a lane.
  StreamId of(const traces::ChakraNode& node, std::uint32_t communicator);
  std::uint32_t count() const { return static_cast<std::uint32_t>(known_.size()); }

 private:
  std::vector<std::pair<Lane, std::int64_t>> known_;
};

/// Streams that the rank with most of them has. Error: too many.
Result<std::uint32_t> count_streams(const traces::ChakraSet& set, const ChakraCalls& calls);

/// How long work without communication takes, in picoseconds: as recorded, times `scale` on a GPU; else its roofline.
class WorkTimes {
 public:
  WorkTimes(const topology::DeviceSpec& device, double scale);
  /// Errors: longer than a Duration may be, a roofline that the system lacks a rate for.
  Result<std::int64_t> of(const traces::ChakraNode& node, std::int64_t recorded);
  /// Nodes that took their roofline time.
  std::uint64_t rooflines() const { return rooflines_; }
  /// Computation of which nothing says how long it takes.
  std::uint64_t timeless() const { return timeless_; }

 private:
  /// Error: neither a duration nor what the system has to say for a roofline time.
  Result<void> check_rates(const traces::ChakraNode& node) const;

  double scale_, bandwidth_, peak_ = 0;
  std::uint64_t rooflines_ = 0, timeless_ = 0;
};

/// A job with its collectives found and priced.
struct ChakraJob {
  const traces::ChakraSet& set;
  const ChakraCalls& calls;
  CommunicationCost& costs;
  WorkTimes& work;

  const traces::ChakraGraph& graph_of(std::uint32_t rank) const { return set.graphs[set.ranks[rank].graph]; }
};

/// Every rank the same steps: one program over rank vectors. REQUIRES: one graph, without messages.
Result<ChakraPlay> play_rows(const ChakraJob& job);
/// Every rank its own list.
Result<ChakraPlay> play_lists(const ChakraJob& job);

using TimesOfNode = std::function<engine::StepTimes(std::uint32_t)>;
ChakraRankTimes breakdown(const traces::ChakraGraph& graph, std::int64_t makespan, const TimesOfNode& times_of);

}  // namespace distsim::chakra
