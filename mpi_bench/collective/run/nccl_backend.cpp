// Collectives of NCCL, on GPU memory: one rank a GPU, the GPU with the rank's number on its host. The ranks' own channel carries the unique ids.
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>

#include "mpi_bench/collective/run/backends.hpp"
#include "mpi_bench/collective/run/cuda_check.hpp"
#include "mpi_bench/collective/run/gpu_load.hpp"
#include "mpi_bench/collective/run/memory.hpp"
#include "mpi_bench/common/pulse.hpp"

namespace distsim::bench {
namespace {

using distsim::bench::checked;  // of CUDA, beside NCCL's

Result<void> checked(ncclResult_t code, const char* what) {
  if (code == ncclSuccess) return {};
  return Error{std::string(what) + ": " + ncclGetErrorString(code), "NCCL", "NCCL_DEBUG=WARN says more"};
}

#define NCCL_TRY(call) TRY(checked(call, #call))

ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::int8: return ncclInt8;
    case DataType::uint8: return ncclUint8;
    case DataType::int32: return ncclInt32;
    case DataType::uint32: return ncclUint32;
    case DataType::int64: return ncclInt64;
    case DataType::uint64: return ncclUint64;
    case DataType::half: return ncclFloat16;
    case DataType::float32: return ncclFloat32;
    case DataType::float64: return ncclFloat64;
    case DataType::bfloat16: return ncclBfloat16;
  }
  return ncclNumTypes;
}

ncclRedOp_t nccl_op(RedOp op) {
  switch (op) {
    case RedOp::sum: return ncclSum;
    case RedOp::prod: return ncclProd;
    case RedOp::max: return ncclMax;
    case RedOp::min: return ncclMin;
  }
  return ncclNumOps;
}

/// A communicator of the team's ranks. The first member makes the id; every rank of the job passes on what it has.
Result<ncclComm_t> connect_team(const Ranks& ranks, const Team& team) {
  ncclUniqueId id{};
  if (team.index == 0) NCCL_TRY(ncclGetUniqueId(&id));
  const auto ids = ranks.gather(std::string(id.internal, sizeof id.internal));
  std::copy(ids[team.members.front()].begin(), ids[team.members.front()].end(), id.internal);
  ncclComm_t comm = nullptr;
  NCCL_TRY(ncclCommInitRank(&comm, static_cast<int>(team.members.size()), id, team.index));
  return comm;
}

int device_count() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

/// Several ranks on one GPU work only where each calls itself a host of its own: for trying out, not for measuring.
bool shares_gpus() { return std::getenv("NCCL_HOSTID") != nullptr; }

class NcclPairs : public PointToPoint {
 public:
  NcclPairs(ncclComm_t comm, cudaStream_t stream, const Memory& send, const Memory& receive) : comm_(comm), stream_(stream), send_(send), receive_(receive) {}
  Result<void> send(int peer, std::uint64_t bytes) override {
    NCCL_TRY(ncclSend(send_.at(0), bytes, ncclInt8, peer, comm_, stream_));
    return checked(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }
  Result<void> receive(int peer, std::uint64_t bytes) override {
    NCCL_TRY(ncclRecv(receive_.at(0), bytes, ncclInt8, peer, comm_, stream_));
    return checked(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

 private:
  const ncclComm_t comm_;
  const cudaStream_t stream_;
  const Memory &send_, &receive_;
};

class NcclBackend : public Backend {
 public:
  explicit NcclBackend(int graph_launches) : graph_launches_(graph_launches), send_(make_device_memory()), receive_(make_device_memory()) {}
  ~NcclBackend() override {
    load_.reset();
    if (load_comm_ != nullptr) ncclCommDestroy(load_comm_);
    if (comm_ != nullptr) ncclCommDestroy(comm_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  Result<void> connect(const Ranks& ranks, const Team& team, bool second_comm) {
    device_ = ranks.local_rank() % std::max(1, device_count());
    CUDA_TRY(cudaSetDevice(device_));
    CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TRY_ASSIGN(comm_, connect_team(ranks, team));
    if (second_comm) {
      TRY_ASSIGN(load_comm_, connect_team(ranks, team));
    }
    pairs_.emplace(comm_, stream_, *send_, *receive_);
    return {};
  }

  PointToPoint* pairs() override { return &*pairs_; }

  Result<void> start_load(std::uint64_t bytes) override {
    TRY_ASSIGN(load_, GpuLoad::start(device_, load_comm_, bytes));
    return {};
  }
  Result<void> stop_load() override {
    if (!load_) return {};
    const Result<void> ended = load_->stop();
    load_.reset();
    return ended;
  }

  std::string name() const override { return "nccl"; }

  std::string library() const override {
    int version = 0;
    ncclGetVersion(&version);
    return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
  }

  DeviceFacts device() const override {
    cudaDeviceProp properties{};
    char bus[32] = "";
    cudaGetDeviceProperties(&properties, device_);
    cudaDeviceGetPCIBusId(bus, sizeof bus, device_);
    return {.index = device_, .bus_id = bus, .name = properties.name};
  }

  Result<void> supports(const CollectiveCase&, DataType, RedOp) const override { return {}; }
  Result<void> fits(const Call&) const override { return {}; }

  /// Grouped sends and receives within one buffer race; nccl-tests times them all the same.
  InPlace in_place(Kind kind) const override {
    const bool races = kind == Kind::alltoall || kind == Kind::sendrecv;
    return kind == Kind::alltoallv ? InPlace::unsupported : races ? InPlace::timed_only : InPlace::checked;
  }

  Result<void> allocate(std::uint64_t send_bytes, std::uint64_t receive_bytes) override {
    TRY(send_->grow(send_bytes));
    return receive_->grow(receive_bytes);
  }
  Result<void> write(Buffer buffer, std::uint64_t at, std::span<const std::byte> data) override { return memory(buffer).write(at, data); }
  Result<void> read(Buffer buffer, std::uint64_t at, std::span<std::byte> data) override { return memory(buffer).read(at, data); }

  Result<void> run(const Call& call) override {
    TRY(issue(call));
    return wait();
  }

  Result<LoopTimes> time(const Call& call, const LoopShape& loop) override {
    return graph_launches_ > 0 ? time_graph(call, loop.calls()) : time_stream(call, loop);
  }

  Result<double> time_bare(const Call& call, int calls) override {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) TRY(issue(call));
    TRY(wait());
    return seconds_since(start);
  }

 private:
  Memory& memory(Buffer buffer) { return buffer == Buffer::send ? *send_ : *receive_; }
  Result<void> wait() { return checked(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  Result<void> issue(const Call& call) {
    const Layout& l = *call.layout;
    const std::size_t e = info_of(call.type).size;
    const std::byte* send = call.in_place ? receive_->at(l.send_at * e) : send_->at(0);
    std::byte* receive = receive_->at(call.in_place ? l.recv_at * e : 0);
    const ncclDataType_t type = nccl_type(call.type);
    const ncclRedOp_t op = nccl_op(call.op);
    switch (call.what->kind) {
      case Kind::all_reduce: return checked(ncclAllReduce(send, receive, l.count, type, op, comm_, stream_), "ncclAllReduce");
      case Kind::reduce: return checked(ncclReduce(send, receive, l.count, type, op, call.shape.root, comm_, stream_), "ncclReduce");
      case Kind::reduce_scatter: return checked(ncclReduceScatter(send, receive, l.count, type, op, comm_, stream_), "ncclReduceScatter");
      case Kind::all_gather: return checked(ncclAllGather(send, receive, l.count, type, comm_, stream_), "ncclAllGather");
      case Kind::broadcast: return checked(ncclBroadcast(send, receive, l.count, type, call.shape.root, comm_, stream_), "ncclBroadcast");
      default: return issue_point_to_point(call, send, receive);
    }
  }

  /// Collectives that are groups of sends and receives.
  Result<void> issue_point_to_point(const Call& call, const std::byte* send, std::byte* receive) {
    NCCL_TRY(ncclGroupStart());
    const Result<void> issued = issue_pairs(call, send, receive);
    NCCL_TRY(ncclGroupEnd());
    return issued;
  }

  Result<void> issue_pairs(const Call& call, const std::byte* send, std::byte* receive) {
    const Shape& s = call.shape;
    const std::uint64_t part = call.layout->count * info_of(call.type).size;
    switch (call.what->kind) {
      case Kind::sendrecv:
        TRY(put(call, send, call.layout->count, (s.rank + 1) % s.ranks));
        return get(call, receive, call.layout->count, (s.rank + s.ranks - 1) % s.ranks);
      case Kind::gather:
        TRY(put(call, send, call.layout->count, s.root));
        for (int peer = 0; s.rank == s.root && peer < s.ranks; ++peer) TRY(get(call, receive + part * peer, call.layout->count, peer));
        return {};
      case Kind::scatter:
        for (int peer = 0; s.rank == s.root && peer < s.ranks; ++peer) TRY(put(call, send + part * peer, call.layout->count, peer));
        return get(call, receive, call.layout->count, s.root);
      default: return issue_all_pairs(call, send, receive);
    }
  }

  Result<void> issue_all_pairs(const Call& call, const std::byte* send, std::byte* receive) {
    const Layout& l = *call.layout;
    const std::size_t e = info_of(call.type).size;
    for (int peer = 0; peer < call.shape.ranks; ++peer) {
      const std::uint64_t out = l.send_counts.empty() ? l.count : l.send_counts[peer], in = l.recv_counts.empty() ? l.count : l.recv_counts[peer];
      TRY(put(call, send, out, peer));
      TRY(get(call, receive, in, peer));
      send += out * e;
      receive += in * e;
    }
    return {};
  }

  Result<void> put(const Call& call, const std::byte* from, std::uint64_t count, int peer) {
    return checked(ncclSend(from, count, nccl_type(call.type), peer, comm_, stream_), "ncclSend");
  }
  Result<void> get(const Call& call, std::byte* to, std::uint64_t count, int peer) {
    return checked(ncclRecv(to, count, nccl_type(call.type), peer, comm_, stream_), "ncclRecv");
  }

  /// The mean is of a loop that holds nothing but the calls; the times of the single iterations come from a second loop with events in it.
  Result<LoopTimes> time_stream(const Call& call, const LoopShape& loop) {
    LoopTimes times;
    TRY_ASSIGN(const double seconds, time_bare(call, loop.calls()));
    times.mean_s = seconds / loop.calls();
    pulse().call_done();
    TRY_ASSIGN(times.each_s, times_between_events(loop.samples, [&]() -> Result<void> {
      for (int i = 0; i < loop.calls_each; ++i) TRY(issue(call));
      return {};
    }));
    for (double& each : times.each_s) each /= loop.calls_each;
    pulse().call_done();
    return times;
  }

  /// As in nccl-tests: one graph of all iterations, launched several times; a sample is a launch's mean iteration.
  Result<LoopTimes> time_graph(const Call& call, int iterations) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    CUDA_TRY(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < iterations; ++i) TRY(issue(call));
    CUDA_TRY(cudaStreamEndCapture(stream_, &graph));
    CUDA_TRY(cudaGraphInstantiate(&runnable, graph, 0));
    const auto launch = [&] { return checked(cudaGraphLaunch(runnable, stream_), "cudaGraphLaunch"); };
    LoopTimes times;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < graph_launches_; ++i) TRY(launch());
    TRY(wait());
    times.mean_s = seconds_since(start) / iterations / graph_launches_;
    TRY_ASSIGN(times.each_s, times_between_events(graph_launches_, launch));
    for (double& each : times.each_s) each /= iterations;
    CUDA_TRY(cudaGraphExecDestroy(runnable));
    CUDA_TRY(cudaGraphDestroy(graph));
    return times;
  }

  template <class Issue>
  Result<std::vector<double>> times_between_events(int count, const Issue& issue_one) {
    std::vector<cudaEvent_t> events(static_cast<std::size_t>(count) + 1);
    for (cudaEvent_t& event : events) CUDA_TRY(cudaEventCreate(&event));
    CUDA_TRY(cudaEventRecord(events[0], stream_));
    for (int i = 0; i < count; ++i) {
      TRY(issue_one());
      CUDA_TRY(cudaEventRecord(events[i + 1], stream_));
    }
    TRY(wait());
    std::vector<double> seconds;
    for (int i = 0; i < count; ++i) {
      float ms = 0;
      CUDA_TRY(cudaEventElapsedTime(&ms, events[i], events[i + 1]));
      seconds.push_back(ms * 1e-3);
    }
    for (cudaEvent_t event : events) CUDA_TRY(cudaEventDestroy(event));
    return seconds;
  }

  static double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  const int graph_launches_;
  int device_ = 0;
  cudaStream_t stream_ = nullptr;
  ncclComm_t comm_ = nullptr, load_comm_ = nullptr;
  std::unique_ptr<Memory> send_, receive_;
  std::optional<NcclPairs> pairs_;
  std::unique_ptr<GpuLoad> load_;
};

}  // namespace

Result<void> nccl_usable(const Ranks& ranks) {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code != cudaSuccess) return Error{std::string("no GPU: ") + cudaGetErrorString(code), "", ""};
  if (devices >= ranks.local_size() || (devices > 0 && shares_gpus())) return {};
  return Error{std::to_string(devices) + " GPUs on " + ranks.host() + " for " + std::to_string(ranks.local_size()) + " ranks", "", ""};
}

Result<std::unique_ptr<Backend>> make_nccl_backend(const Ranks& ranks, const Team& team, int graph_launches, bool second_comm) {
  auto backend = std::make_unique<NcclBackend>(graph_launches);
  TRY(backend->connect(ranks, team, second_comm));
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace distsim::bench
