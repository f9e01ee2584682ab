// Collectives of NCCL, on GPU memory: a rank is a GPU, the one with the rank's number on its host. The ranks' own
// channel carries the unique ids.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/text/counted.hpp"
#include "mpi_bench/collective/backend/buffered_backend.hpp"
#include "mpi_bench/collective/run/backends.hpp"
#include "mpi_bench/collective/run/nccl/gpu_load.hpp"
#include "mpi_bench/collective/run/nccl/nccl_loop.hpp"

namespace distsim::bench {
namespace {

int device_count() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

/// Several ranks on one GPU work only where each calls itself a host of its own: for trying out, not for measuring.
bool shares_gpus() { return std::getenv("NCCL_HOSTID") != nullptr; }

class NcclPairs : public PointToPoint {
 public:
  NcclPairs(const NcclLane& gpu, const Memory& send, const Memory& receive)
      : gpu_(gpu), send_(send), receive_(receive) {}
  Result<void> send(int peer, std::uint64_t bytes) override {
    NCCL_TRY(ncclSend(send_.at(0), bytes, ncclInt8, peer, gpu_.comm(), gpu_.stream()));
    return gpu_.wait();
  }
  Result<void> receive(int peer, std::uint64_t bytes) override {
    NCCL_TRY(ncclRecv(receive_.at(0), bytes, ncclInt8, peer, gpu_.comm(), gpu_.stream()));
    return gpu_.wait();
  }

 private:
  const NcclLane& gpu_;
  const Memory &send_, &receive_;
};

class NcclBackend : public BufferedBackend {
 public:
  explicit NcclBackend(const NcclNeeds& needs)
      : BufferedBackend(make_device_memory(), make_device_memory()),
        needs_(needs),
        pairs_(gpu_, memory(Buffer::send), memory(Buffer::receive)) {}

  Result<void> connect(const Ranks& ranks, const Team& team) {
    lane_ = ranks.rank();
    TRY(gpu_.connect(ranks.local_rank() % std::max(1, device_count()), ranks, team, needs_.second_comm));
    return join_issue_group(ranks, team);
  }

  PointToPoint* pairs() override { return &pairs_; }

  Result<void> start_load(std::uint64_t bytes) override {
    TRY_ASSIGN(load_, GpuLoad::start(gpu_.device(), gpu_.second_comm(), bytes));
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
    return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
  }

  DeviceFacts device() const override {
    cudaDeviceProp properties{};
    char bus[32] = "";
    cudaGetDeviceProperties(&properties, gpu_.device());
    cudaDeviceGetPCIBusId(bus, sizeof bus, gpu_.device());
    return {.index = gpu_.device(), .bus_id = bus, .name = properties.name};
  }

  Result<void> supports(const CollectiveCase&, DataType, RedOp) const override { return {}; }
  Result<void> fits(const Call&) const override { return {}; }

  /// Grouped sends and receives within one buffer race; nccl-tests times them all the same.
  InPlace in_place(Kind kind) const override {
    const bool races = kind == Kind::alltoall || kind == Kind::sendrecv;
    return kind == Kind::alltoallv ? InPlace::unsupported : races ? InPlace::timed_only : InPlace::checked;
  }

  Result<void> run(const Call& call) override {
    NcclPart part = part_of(call);
    return together(part, [](NcclParts parts) { return bare_nccl_loop(parts, 1); });
  }

  Result<LoopTimes> time(const Call& call, const LoopShape& loop) override {
    NcclPart part = part_of(call);
    TRY(together(part, [&](NcclParts parts) {
      return needs_.graph_launches > 0 ? timed_nccl_graph(parts, loop.calls(), needs_.graph_launches)
                                       : timed_nccl_loop(parts, loop);
    }));
    return std::move(part.times);
  }

  Result<double> time_bare(const Call& call, int calls) override {
    NcclPart part = part_of(call);
    TRY(together(part, [&](NcclParts parts) { return bare_nccl_loop(parts, calls); }));
    return part.seconds;
  }

 private:
  /// Idle GPUs of a shape take no part in the calls, so that the others must not wait for them.
  Result<void> join_issue_group(const Ranks& ranks, const Team& team) {
    if (needs_.issue_group == nullptr) return {};
    const auto active = ranks.gather(team.active ? "active" : "");
    const auto first = active.begin() + ranks.rank() / needs_.gpus_of_a_thread * needs_.gpus_of_a_thread;
    needs_.issue_group->expect(static_cast<int>(std::count(first, first + needs_.gpus_of_a_thread, "active")));
    ranks.barrier();
    return {};
  }

  NcclPart part_of(const Call& call) const {
    const auto [send, receive] = operands_of(call);
    NcclPart part;
    part.lane = lane_;
    part.gpu = &gpu_;
    part.call = &call;
    part.send = send;
    part.receive = receive;
    part.blocking = needs_.blocking;
    return part;
  }

  /// `loop` over the parts of all GPUs that a thread drives, this one's among them.
  template <class Loop>
  Result<void> together(NcclPart& part, const Loop& loop) {
    if (needs_.issue_group == nullptr) {
      NcclPart* const single[] = {&part};
      return loop(NcclParts(single));
    }
    needs_.issue_group->together(part, [&](std::span<IssueGroup::Part* const> met) {
      std::vector<NcclPart*> parts;
      for (IssueGroup::Part* p : met) parts.push_back(static_cast<NcclPart*>(p));
      const Result<void> outcome = loop(NcclParts(parts));
      for (NcclPart* p : parts) p->outcome = outcome;
    });
    CUDA_TRY(cudaSetDevice(gpu_.device()));  // this thread may have worked for the others
    return part.outcome;
  }

  const NcclNeeds needs_;
  int lane_ = 0;
  NcclLane gpu_;
  NcclPairs pairs_;
  std::unique_ptr<GpuLoad> load_;
};

}  // namespace

Result<void> nccl_usable(const Ranks& processes, int lanes) {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code != cudaSuccess) return Error{std::string("no GPU: ") + cudaGetErrorString(code), "", ""};
  const int ranks = processes.local_size() * lanes;
  if (devices >= ranks || (devices > 0 && shares_gpus())) return {};
  return Error{counted(devices, "GPU") + " on " + processes.host() + " for " + counted(ranks, "rank"), "", ""};
}

Result<std::unique_ptr<Backend>> make_nccl_backend(const Ranks& ranks, const Team& team, const NcclNeeds& needs) {
  auto backend = std::make_unique<NcclBackend>(needs);
  TRY(backend->connect(ranks, team));
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace distsim::bench
