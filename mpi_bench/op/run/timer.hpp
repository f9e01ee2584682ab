// Times a prepared op in one of the two conventions of timing_name().
#pragma once

#include <memory>

#include "mpi_bench/op/repetition.hpp"
#include "mpi_bench/op/run/cuda_memory.hpp"
#include "mpi_bench/op/run/prepare/prepared_op.hpp"

namespace distsim::bench {

struct TimedOp {
  Repetitions repetitions;
  int launches = 1;  ///< per repetition
};

class OpTimer {
 public:
  /// With flush_l2 it holds a buffer of twice the L2's size, which is overwritten before every launch.
  static Result<OpTimer> create(bool flush_l2, std::uint64_t l2_bytes);
  OpTimer(OpTimer&&) noexcept;
  ~OpTimer();

  cudaStream_t stream() const { return stream_; }
  Result<TimedOp> time(PreparedOp& op, const RepetitionLimits& limits);

 private:
  OpTimer() = default;
  Result<TimedOp> time_cold(PreparedOp& op, const RepetitionLimits& limits);
  Result<TimedOp> time_warm(PreparedOp& op, const RepetitionLimits& limits);
  Result<double> seconds_of_one(PreparedOp& op);
  Result<double> seconds_between_events();

  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
  bool flush_ = false;
  CudaMemory flushed_;
  std::uint64_t flush_bytes_ = 0;
};

}  // namespace distsim::bench
