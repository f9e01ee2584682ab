// The ranks of the run: who they are, and how they tell each other things between measurements. Always MPI, whatever backend is measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/collective/options.hpp"

namespace distsim::bench {

/// MPI from construction to destruction; one object a process.
class Ranks {
 public:
  Ranks(int* argc, char*** argv);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }  ///< within the host
  int local_size() const { return local_size_; }
  int nodes() const { return nodes_; }
  const std::string& host() const { return host_; }

  // All ranks call these together.
  void barrier() const;
  std::vector<double> max(std::vector<double> values) const;  ///< element by element
  double report(double value, Report which) const;            ///< -a
  std::uint64_t sum(std::uint64_t value) const;
  bool any(bool value) const;
  std::vector<std::string> gather(const std::string& text) const;  ///< on every rank, in rank order
  std::string from_root(const std::string& text) const;            ///< rank 0's
  /// The first failing rank's error on every rank ("rank 3: ..."), or success everywhere.
  Result<void> agree(const Result<void>& mine) const;

  /// One rank alone cannot go on: says why and ends the job with exit code 1.
  [[noreturn]] void abort(const std::string& why) const;

 private:
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1, nodes_ = 1;
  std::string host_;
};

}  // namespace distsim::bench
