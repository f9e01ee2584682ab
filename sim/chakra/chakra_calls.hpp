// Which ranks of a Chakra job communicate with whom, and what it costs: the n-th collective that a rank posts on a
// communicator is the n-th of that communicator on every member.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/chakra/communication_cost.hpp"
#include "traces/chakra/chakra_set.hpp"

namespace distsim::chakra {

using ChakraGroups = std::map<std::string, std::vector<std::uint32_t>>;

struct ChakraPlayOptions {
  ChakraGroups groups;                ///< communicators by pg_name; they come before those that the traces define
  bool recorded_collectives = false;  ///< the trace's own durations instead of the models'
  double compute_scale = 1;           ///< recorded kernels take this many times as long
};

/// One collective of one communicator.
struct ChakraCall {
  graph::Collective op;
  std::uint32_t rank = 0, node = 0;  ///< who posted it first
  std::int64_t recorded_ps =
      0;               ///< shortest recorded duration of its members, as the last to come did not wait; 0: none
  bool priced = true;  ///< kind and size are known; else it takes as long as recorded
  graph::Cost cost;
};

struct ChakraCommunicator {
  std::vector<std::uint32_t> members;  ///< ascending
  std::vector<ChakraCall> calls;
};

/// Nodes that are played as a collective. The host's part of one (is_cpu_op) is host work.
inline bool is_collective(const traces::ChakraNode& node) {
  return node.kind == traces::ChakraKind::collective && !node.on_cpu;
}
inline bool is_message(const traces::ChakraNode& node) {
  return !node.on_cpu && (node.kind == traces::ChakraKind::send || node.kind == traces::ChakraKind::receive);
}

class ChakraCalls {
 public:
  /// Refuses groups that name a rank without a trace, that are not known or do not hold the rank, collectives whose
  /// members disagree on kind or size, and members that are missing; all named. `same_on_all`: the set has one
  /// structure without messages, so looking at one rank is enough.
  static Result<ChakraCalls> find(const traces::ChakraSet& set, const ChakraPlayOptions& options, bool same_on_all);

  /// Fills in the costs: of the models, or with `recorded` the recorded times, where there are any. Error: a collective
  /// with neither kind and size nor a recorded time.
  Result<void> price(CommunicationCost& costs, bool recorded);

  const std::vector<ChakraCommunicator>& communicators() const { return communicators_; }
  /// The communicator of a collective.
  std::uint32_t communicator_of(std::uint32_t rank, const traces::ChakraNode& node) const;

 private:
  ChakraCalls(const traces::ChakraSet& set, const ChakraPlayOptions& options) : set_(&set), options_(&options) {}
  Result<std::uint32_t> resolve(std::uint32_t rank, const traces::ChakraNode& node);
  Result<std::vector<std::uint32_t>> members_of(std::uint32_t rank, const traces::ChakraNode& node) const;
  Result<void> post(std::uint32_t rank, std::uint32_t node, ChakraCommunicator& communicator, std::size_t place);
  Result<void> find_of_rank(std::uint32_t rank);
  Result<void> check_complete() const;
  std::int64_t recorded_by(std::uint32_t rank, std::uint32_t node) const;
  std::string describe(std::uint32_t rank, std::uint32_t node) const;

  const traces::ChakraSet* set_;
  const ChakraPlayOptions* options_;
  bool rank_0_stands_for_all_ = false;
  std::vector<ChakraCommunicator> communicators_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> id_of_members_;
  std::vector<std::map<std::string, std::uint32_t, std::less<>>> id_of_name_;  ///< by graph
  std::vector<std::vector<std::uint32_t>> posted_;  ///< by communicator and place of the member: collectives so far
};

}  // namespace distsim::chakra
