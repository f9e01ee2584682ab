// One GPU of a run of NCCL: its stream, its communicator, and how a call is issued on them.
#pragma once

#include <nccl.h>

#include "mpi_bench/collective/backend/backend.hpp"
#include "mpi_bench/collective/ranks/team.hpp"
#include "mpi_bench/collective/run/cuda/cuda_check.hpp"

namespace distsim::bench {

/// NCCL errors as results.
inline Result<void> checked(ncclResult_t code, const char* what) {
  if (code == ncclSuccess) return {};
  return Error{std::string(what) + ": " + ncclGetErrorString(code), "NCCL", "set NCCL_DEBUG=WARN for details"};
}

#define NCCL_TRY(call) TRY(::distsim::bench::checked(call, #call))

class NcclLane {
 public:
  ~NcclLane();

  /// Takes the GPU, for the calling thread too, and joins the team's communicator. All ranks together.
  Result<void> connect(int device, const Ranks& ranks, const Team& team, bool second_comm);
  int device() const { return device_; }
  cudaStream_t stream() const { return stream_; }
  ncclComm_t comm() const { return comm_; }
  ncclComm_t second_comm() const { return second_comm_; }

  /// Puts a call on the stream; `send` and `receive` are where its operands lie. Several GPUs of one thread must be
  /// issued within one NCCL group.
  Result<void> issue(const Call& call, const std::byte* send, std::byte* receive) const;
  Result<void> wait() const { return checked(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  Result<void> issue_pairs(const Call& call, const std::byte* send, std::byte* receive) const;
  Result<void> issue_all_pairs(const Call& call, const std::byte* send, std::byte* receive) const;
  Result<void> put(const Call& call, const std::byte* from, std::uint64_t count, int peer) const;
  Result<void> get(const Call& call, std::byte* to, std::uint64_t count, int peer) const;

  int device_ = 0;
  cudaStream_t stream_ = nullptr;
  ncclComm_t comm_ = nullptr, second_comm_ = nullptr;
};

}  // namespace distsim::bench
