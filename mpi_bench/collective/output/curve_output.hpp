// The curve file (collectives/curve_file/curve.proto) that distsim reads. It is rewritten after every size, so that
// what was measured survives whatever happens to the run; `partial` stays true until the run has ended by itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/collective/options/options.hpp"
#include "mpi_bench/collective/output/machine_facts.hpp"
#include "mpi_bench/collective/output/table.hpp"

namespace distsim::bench {

struct CurveFileFacts {
  std::string system, device, hardware;
  std::vector<std::string> hosts;  ///< by node
  std::string driver, topology, flags;
  MachineClocks clocks;
};

struct CurveFacts {
  std::string kind;
  int ranks = 0, nodes = 0;
  bool single_process = false;  ///< several ranks in a process (-t, -g)
  bool cuda_graph = false;
  std::string library, settings, date;
  std::string group = "all";
  int groups_at_once = 1;
  CurveTime time = CurveTime::median;  ///< of the samples of a size
  std::string not_used;                ///< why distsim must not price with it; empty otherwise
};

class CurveOutput {
 public:
  CurveOutput(std::string path, const CurveFileFacts& facts);
  ~CurveOutput();

  void begin(const CurveFacts& facts);
  /// Adds the out-of-place half: the time that begin() names, with 10th and 90th percentile. Sizes that do not grow (0,
  /// or rounded down to the size before) are left out, because a curve has one time a size.
  void add(const Row& row);
  /// Atomically, with checksum; text form when the name ends in .txtpb, else binary.
  Result<void> write(bool partial);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "node-" and eight hex digits: the same for the same name, without giving it away at a glance. Not a secret: short
/// names can be guessed.
std::string hashed_host(const std::string& name);

}  // namespace distsim::bench
