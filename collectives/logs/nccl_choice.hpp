// What a log says beside its own comments of the algorithms, protocols and links that NCCL might choose from: the environment in
// the command that started the run, and what NCCL itself says it uses.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace distsim::collectives {

class NcclChoice {
 public:
  /// A line of the log: "mpirun -x NCCL_ALGO=Tree ./all_reduce_perf", "export NCCL_PROTO=LL", "NCCL INFO NCCL_ALGO set by
  /// environment to Ring", "NCCL INFO Using network Socket". What stands beside the name of a test holds until the next command
  /// of a test, anything else for all that follows. Comments, which may speak of other runs, say nothing.
  void take(std::string_view line);

  /// "NCCL_ALGO=Tree NCCL_PROTO=LL NCCL_IB_DISABLE=1", as Curve::settings has it: NCCL_ALGO, NCCL_PROTO, and what takes links
  /// or channels away (selection.hpp); empty where nothing is said.
  std::string settings() const;

 private:
  using Values = std::map<std::string, std::string, std::less<>>;  ///< by name
  Values exported_, of_command_;
};

}  // namespace distsim::collectives
