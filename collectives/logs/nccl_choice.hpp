// What a log says beside its own comments of the algorithms and protocols that NCCL might choose from: the environment in the
// command that started the run.
#pragma once

#include <string>
#include <string_view>

namespace distsim::collectives {

class NcclChoice {
 public:
  /// A line of the log: "mpirun -x NCCL_ALGO=Tree ./all_reduce_perf", "export NCCL_PROTO=LL", "NCCL INFO NCCL_ALGO set by
  /// environment to Ring". What stands beside the name of a test holds until the next command of a test, anything else for
  /// all that follows. Comments, which may speak of other runs, say nothing.
  void take(std::string_view line);

  /// "NCCL_ALGO=Tree NCCL_PROTO=LL", as Curve::settings has it; empty where nothing is said.
  std::string settings() const;

 private:
  struct Values {
    std::string algorithms, protocols;
  };
  Values exported_, of_command_;
};

}  // namespace distsim::collectives
