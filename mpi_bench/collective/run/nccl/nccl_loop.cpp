#include "mpi_bench/collective/run/nccl/nccl_loop.hpp"

#include <chrono>
#include <memory>
#include <vector>

#include "mpi_bench/common/pulse.hpp"

namespace distsim::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Result<void> issue_each(NcclParts parts) {
  for (const NcclPart* p : parts) TRY(p->gpu->issue(*p->call, p->send, p->receive));
  return {};
}

Result<void> wait(NcclParts parts) {
  for (const NcclPart* p : parts) TRY(p->gpu->wait());
  return {};
}

/// One call on every GPU. Without the group the first GPU's call would wait for one that this thread has not issued
/// yet.
Result<void> issue_group(NcclParts parts) {
  if (parts.size() == 1) return issue_each(parts);
  NCCL_TRY(ncclGroupStart());
  const Result<void> issued = issue_each(parts);
  NCCL_TRY(ncclGroupEnd());
  return issued;
}

Result<void> issue(NcclParts parts) {
  TRY(issue_group(parts));
  return parts.front()->blocking ? wait(parts) : Result<void>();
}

/// Events of one GPU, freed whatever happens.
class Events {
 public:
  Events(const NcclLane& gpu, int count) : gpu_(gpu), events_(static_cast<std::size_t>(count)) {}
  ~Events() {
    for (const cudaEvent_t event : events_) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }
  Events(const Events&) = delete;
  Result<void> create() {
    CUDA_TRY(cudaSetDevice(gpu_.device()));
    for (cudaEvent_t& event : events_) CUDA_TRY(cudaEventCreate(&event));
    return {};
  }
  Result<void> record(int i) {
    CUDA_TRY(cudaSetDevice(gpu_.device()));
    CUDA_TRY(cudaEventRecord(events_[static_cast<std::size_t>(i)], gpu_.stream()));
    return {};
  }
  /// Seconds between one event and the next, divided by `calls_each`.
  Result<std::vector<double>> gaps(int calls_each) const {
    std::vector<double> seconds;
    for (std::size_t i = 1; i < events_.size(); ++i) {
      float ms = 0;
      CUDA_TRY(cudaEventElapsedTime(&ms, events_[i - 1], events_[i]));
      seconds.push_back(ms * 1e-3 / calls_each);
    }
    return seconds;
  }

 private:
  const NcclLane& gpu_;
  std::vector<cudaEvent_t> events_;
};

/// Samples of every part: `work` between two events, `count` times.
template <class Work>
Result<void> sample(NcclParts parts, int count, int calls_each, const Work& work) {
  std::vector<std::unique_ptr<Events>> events;
  for (const NcclPart* p : parts) events.push_back(std::make_unique<Events>(*p->gpu, count + 1));
  for (const auto& e : events) TRY(e->create());
  for (const auto& e : events) TRY(e->record(0));
  for (int i = 1; i <= count; ++i) {
    TRY(work());
    for (const auto& e : events) TRY(e->record(i));
  }
  TRY(wait(parts));
  for (std::size_t g = 0; g < parts.size(); ++g) {
    TRY_ASSIGN(parts[g]->times.each_s, events[g]->gaps(calls_each));
  }
  return {};
}

/// The same iterations as graphs, one a GPU.
class Graphs {
 public:
  explicit Graphs(NcclParts parts) : parts_(parts) {}
  ~Graphs() {
    for (const cudaGraphExec_t runnable : runnable_) cudaGraphExecDestroy(runnable);
  }
  Graphs(const Graphs&) = delete;

  Result<void> capture(int iterations) {
    for (const NcclPart* p : parts_)
      CUDA_TRY(cudaStreamBeginCapture(p->gpu->stream(), cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < iterations; ++i) TRY(issue(parts_));
    for (const NcclPart* p : parts_) {
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t runnable = nullptr;
      CUDA_TRY(cudaSetDevice(p->gpu->device()));
      CUDA_TRY(cudaStreamEndCapture(p->gpu->stream(), &graph));
      CUDA_TRY(cudaGraphInstantiate(&runnable, graph, 0));
      runnable_.push_back(runnable);
      CUDA_TRY(cudaGraphDestroy(graph));
    }
    return {};
  }
  Result<void> launch() const {
    for (std::size_t g = 0; g < parts_.size(); ++g) {
      CUDA_TRY(cudaSetDevice(parts_[g]->gpu->device()));
      CUDA_TRY(cudaGraphLaunch(runnable_[g], parts_[g]->gpu->stream()));
    }
    return {};
  }

 private:
  const NcclParts parts_;
  std::vector<cudaGraphExec_t> runnable_;
};

}  // namespace

Result<void> bare_nccl_loop(NcclParts parts, int calls) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) TRY(issue(parts));
  TRY(wait(parts));
  const double seconds = seconds_since(start);
  for (NcclPart* p : parts) p->seconds = seconds;
  return {};
}

Result<void> timed_nccl_loop(NcclParts parts, const LoopShape& loop) {
  TRY(bare_nccl_loop(parts, loop.calls()));
  for (NcclPart* p : parts) p->times.mean_s = p->seconds / loop.calls();
  pulse().call_done();
  TRY(sample(parts, loop.samples, loop.calls_each, [&]() -> Result<void> {
    for (int i = 0; i < loop.calls_each; ++i) TRY(issue(parts));
    return {};
  }));
  pulse().call_done();
  return {};
}

Result<void> timed_nccl_graph(NcclParts parts, int iterations, int launches) {
  Graphs graphs(parts);
  TRY(graphs.capture(iterations));
  const auto start = Clock::now();
  for (int i = 0; i < launches; ++i) TRY(graphs.launch());
  TRY(wait(parts));
  const double mean = seconds_since(start) / iterations / launches;
  TRY(sample(parts, launches, iterations, [&] { return graphs.launch(); }));
  for (NcclPart* p : parts) p->times.mean_s = mean;
  return {};
}

}  // namespace distsim::bench
