#include "mpi_bench/op/run/timer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace distsim::bench {
namespace {

constexpr double kBatchSeconds = 500e-6;  // a thousand times what an event resolves
constexpr double kMostLaunches = 512;
constexpr int kWarmup = 3;

/// `launches` of the op as one CUDA graph, so that the host's launch rate does not limit short kernels.
class LaunchGraph {
 public:
  static Result<LaunchGraph> capture(PreparedOp& op, int launches, cudaStream_t stream) {
    LaunchGraph result;
    cudaGraph_t graph = nullptr;
    CUDA_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    Result<void> launched;
    for (int i = 0; i < launches && launched.ok(); ++i) launched = op.launch(stream);
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    TRY(launched);
    CUDA_TRY(ended);
    const cudaError_t instantiated = cudaGraphInstantiate(&result.runnable_, graph, 0);
    cudaGraphDestroy(graph);
    CUDA_TRY(instantiated);
    return result;
  }
  LaunchGraph(LaunchGraph&& other) noexcept : runnable_(std::exchange(other.runnable_, nullptr)) {}
  ~LaunchGraph() {
    if (runnable_ != nullptr) cudaGraphExecDestroy(runnable_);
  }
  Result<void> launch(cudaStream_t stream) const {
    return cuda_checked(cudaGraphLaunch(runnable_, stream), "cudaGraphLaunch");
  }

 private:
  LaunchGraph() = default;
  cudaGraphExec_t runnable_ = nullptr;
};

}  // namespace

Result<OpTimer> OpTimer::create(bool flush_l2, std::uint64_t l2_bytes) {
  OpTimer timer;
  CUDA_TRY(cudaStreamCreateWithFlags(&timer.stream_, cudaStreamNonBlocking));
  CUDA_TRY(cudaEventCreate(&timer.start_));
  CUDA_TRY(cudaEventCreate(&timer.stop_));
  timer.flush_ = flush_l2;
  timer.flush_bytes_ = 2 * l2_bytes;
  if (flush_l2) {
    TRY_ASSIGN(timer.flushed_, CudaMemory::device(timer.flush_bytes_));
  }
  return timer;
}

OpTimer::OpTimer(OpTimer&& other) noexcept
    : stream_(std::exchange(other.stream_, nullptr)),
      start_(std::exchange(other.start_, nullptr)),
      stop_(std::exchange(other.stop_, nullptr)),
      flush_(other.flush_),
      flushed_(std::move(other.flushed_)),
      flush_bytes_(other.flush_bytes_) {}

OpTimer::~OpTimer() {
  if (start_ != nullptr) cudaEventDestroy(start_);
  if (stop_ != nullptr) cudaEventDestroy(stop_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

Result<TimedOp> OpTimer::time(PreparedOp& op, const RepetitionLimits& limits) {
  for (int i = 0; i < kWarmup; ++i) TRY(op.launch(stream_));
  CUDA_TRY(cudaStreamSynchronize(stream_));
  return flush_ ? time_cold(op, limits) : time_warm(op, limits);
}

Result<double> OpTimer::seconds_between_events() {
  CUDA_TRY(cudaEventSynchronize(stop_));
  float ms = 0;
  CUDA_TRY(cudaEventElapsedTime(&ms, start_, stop_));
  return ms * 1e-3;
}

Result<double> OpTimer::seconds_of_one(PreparedOp& op) {
  CUDA_TRY(cudaEventRecord(start_, stream_));
  TRY(op.launch(stream_));
  CUDA_TRY(cudaEventRecord(stop_, stream_));
  return seconds_between_events();
}

Result<TimedOp> OpTimer::time_cold(PreparedOp& op, const RepetitionLimits& limits) {
  TimedOp timed;
  TRY_ASSIGN(timed.repetitions, repeat(limits, 1, [&]() -> Result<double> {
               CUDA_TRY(cudaMemsetAsync(flushed_.get(), 0, flush_bytes_,
                                        stream_));  // also keeps the GPU busy while the launches are queued
               return seconds_of_one(op);
             }));
  return timed;
}

Result<TimedOp> OpTimer::time_warm(PreparedOp& op, const RepetitionLimits& limits) {
  TimedOp timed;
  TRY_ASSIGN(const double estimate, seconds_of_one(op));
  timed.launches =
      static_cast<int>(std::clamp(std::ceil(kBatchSeconds / std::max(estimate, 1e-6)), 1.0, kMostLaunches));
  TRY_ASSIGN(const LaunchGraph graph, LaunchGraph::capture(op, timed.launches, stream_));
  TRY(graph.launch(stream_));
  TRY_ASSIGN(timed.repetitions, repeat(limits, timed.launches, [&]() -> Result<double> {
               CUDA_TRY(cudaEventRecord(start_, stream_));
               TRY(graph.launch(stream_));
               CUDA_TRY(cudaEventRecord(stop_, stream_));
               TRY_ASSIGN(const double seconds, seconds_between_events());
               return seconds / timed.launches;
             }));
  return timed;
}

}  // namespace distsim::bench
