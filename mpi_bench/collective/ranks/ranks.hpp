// The ranks of the run: who they are, and how they exchange information between measurements, whatever backend is
// measured. Carried by MPI where mpirun started the program, by TCP where the ranks were started one by one (--hosts)
// or the build has no MPI.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/collective/options/options.hpp"

namespace distsim::bench {

/// One object a rank: a process, or one of the GPUs that a process drives (LaneRanks). All calls but the const getters
/// are made by all ranks together and in the same order.
class Ranks {
 public:
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int node() const { return node_of_[rank_]; }  ///< nodes are numbered by their first rank
  int nodes() const { return nodes_; }
  int local_rank() const { return local_rank_; }  ///< within the node
  int local_size() const { return local_size_; }
  const std::string& host() const { return hosts_[rank_]; }  ///< name of this rank's node
  const std::string& host(int rank) const { return hosts_[rank]; }
  const std::vector<int>& node_of() const { return node_of_; }  ///< by rank

  virtual std::string carrier() const = 0;  ///< "MPI", "TCP"
  virtual void barrier() const = 0;
  virtual std::vector<std::string> gather(const std::string& text) const = 0;  ///< on every rank, in rank order
  std::vector<double> max(const std::vector<double>& values) const;            ///< element by element; equal lengths
  std::uint64_t sum(std::uint64_t value) const;
  bool any(bool value) const;
  std::string from_root(const std::string& text) const;  ///< rank 0's
  /// The first failing rank's error on every rank ("rank 3: ..."), or success everywhere.
  Result<void> agree(const Result<void>& mine) const;

  /// This rank cannot go on: says why and ends the job with exit code 1.
  [[noreturn]] void abort(const std::string& why) const;
  [[noreturn]] virtual void end_job() const = 0;  ///< at once, with exit code 1

 protected:
  /// Before they have met, all ranks count as one node; `hosts` are theirs, empty where nobody knows.
  Ranks(int rank, int size, std::vector<std::string> hosts = {})
      : rank_(rank), size_(size), node_of_(static_cast<std::size_t>(size)), hosts_(std::move(hosts)) {
    hosts_.resize(static_cast<std::size_t>(size));
  }
  /// Tells the nodes apart by name; to be called once gather() works.
  void meet(const std::string& host_name);

 private:
  const int rank_, size_;
  int nodes_ = 1, local_rank_ = 0, local_size_ = 1;
  std::vector<int> node_of_;
  std::vector<std::string> hosts_;
};

/// Ranks that are processes of their own.
class ProcessRanks : public Ranks {
 public:
  using Ranks::Ranks;
  /// Rank 0 and `peer` send each other a text; the others do nothing.
  virtual std::string swap_with_root(int peer, const std::string& text) const = 0;
};

#ifdef DISTSIM_WITH_MPI
/// MPI from construction to destruction. `several_threads` asks for MPI_THREAD_MULTIPLE.
std::unique_ptr<ProcessRanks> make_mpi_ranks(int* argc, char*** argv, bool several_threads);
#endif

/// Where TCP ranks find each other.
struct TcpPlaces {
  int rank = 0, size = 1;
  std::string root_host = "127.0.0.1";
  int port = 0;
  std::string my_host;               ///< name of this rank's node
  std::vector<std::string> hosts{};  ///< of every rank, where they are known
  double patience_s = 60;            ///< how long the ranks wait for each other at the start
};
/// Rank 0 listens, the others call it and hear from it whether the job starts. Errors, on all ranks that it knows of: a
/// host that nobody knows, a rank that does not come in time or leaves again, a port that is taken, two ranks with one
/// number, different numbers of hosts.
Result<std::unique_ptr<ProcessRanks>> make_tcp_ranks(const TcpPlaces& places);

/// Whether that error is of ranks and machines, and says nothing against the flags: one did not come in time, has left, or may
/// open no more files.
bool is_of_the_machines(const Error& error);

}  // namespace distsim::bench
