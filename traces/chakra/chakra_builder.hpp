// ChakraBuilder: takes nodes as a file lists them, with dependencies by id, and puts them in the order in which they
// are played.
#pragma once

#include <algorithm>
#include <functional>
#include <set>

#include "base/result.hpp"
#include "traces/chakra/chakra.hpp"

namespace distsim::traces {

class ChakraBuilder {
 public:
  /// Nodes of one file that are taken at most.
  static constexpr std::size_t kMostNodes = std::size_t{1} << 25;

  void set_version(std::string version) { graph_.version = std::move(version); }
  void set_set_ranks(std::uint32_t ranks) { graph_.set_ranks = ranks; }
  void set_job_ranks(std::uint32_t ranks) { graph_.job_ranks = std::max(graph_.job_ranks, ranks); }
  void set_set_job(std::uint64_t job) { graph_.set_job = job; }
  /// A member or attribute of a node that has no use here: kept where it is nearly one that has.
  void passed_by(std::string_view name);
  /// The layout before GlobalMetadata had a version: control dependencies name the caller, by numbers from before nodes
  /// were split, so that they lead nowhere and in circles. They are dropped and counted where the file has data
  /// dependencies to go by.
  void old_layout() { old_layout_ = true; }

  ChakraText intern(std::string_view text);
  /// Error: other ranks than an earlier group of that name.
  Result<void> add_group(const std::string& name, std::vector<std::uint32_t> ranks);

  /// Dependencies of the next node to be added.
  void add_control_dep(std::uint64_t id) { wanted_.push_back({id, true}); }
  void add_data_dep(std::uint64_t id) { wanted_.push_back({id, false}); }
  /// Errors: numbers out of range, too many nodes. No position: the caller knows it.
  Result<void> add(const ChakraNode& node);

  /// Errors: an id twice, a dependency on a node that is not there, nodes that wait for each other in a circle (which
  /// is named).
  Result<ChakraGraph> finish() &&;

 private:
  struct Wanted {
    std::uint64_t id = 0;
    bool control = false;
  };
  void drop_callers();
  Result<void> sort_by_id();
  Result<void> look_up_deps();
  Result<void> order_by_deps();
  std::string describe(std::uint32_t node) const;
  Error cycle_error(const std::vector<std::uint32_t>& unmet) const;
  void permute(const std::vector<std::uint32_t>& order);

  ChakraGraph graph_;
  std::vector<std::uint32_t> wanted_offsets_{0};
  std::vector<Wanted> wanted_;
  std::set<std::string, std::less<>> passed_by_;
  bool old_layout_ = false;
};

}  // namespace distsim::traces
