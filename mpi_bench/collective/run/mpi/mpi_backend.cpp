// Collectives of the MPI library, on host memory or, where the library takes it, on GPU memory.
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "base/text/counted.hpp"
#include "mpi_bench/collective/backend/buffered_backend.hpp"
#include "mpi_bench/collective/backend/host_load.hpp"
#include "mpi_bench/collective/backend/host_loop.hpp"
#include "mpi_bench/collective/run/backends.hpp"
#ifdef DISTSIM_WITH_CUDA
#include "mpi_bench/collective/run/cuda/cuda_check.hpp"
#endif

namespace distsim::bench {
namespace {

MPI_Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::int8:
      return MPI_INT8_T;
    case DataType::uint8:
      return MPI_UINT8_T;
    case DataType::int32:
      return MPI_INT32_T;
    case DataType::uint32:
      return MPI_UINT32_T;
    case DataType::int64:
      return MPI_INT64_T;
    case DataType::uint64:
      return MPI_UINT64_T;
    case DataType::float32:
      return MPI_FLOAT;
    case DataType::float64:
      return MPI_DOUBLE;
    case DataType::half:
    case DataType::bfloat16:
      return MPI_UINT16_T;  // only moved, never reduced: see supports()
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op mpi_op(RedOp op) {
  switch (op) {
    case RedOp::sum:
      return MPI_SUM;
    case RedOp::prod:
      return MPI_PROD;
    case RedOp::max:
      return MPI_MAX;
    case RedOp::min:
      return MPI_MIN;
  }
  return MPI_OP_NULL;
}

Result<void> checked(int code) {
  if (code == MPI_SUCCESS) return {};
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return Error{std::string(text, static_cast<std::size_t>(length)), "MPI", ""};
}

/// The operands of one call, as MPI wants them.
struct MpiOperands {
  const std::byte* send;
  std::byte* receive;
  int count, ranks, rank, root;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
  bool in_place;
  const int *send_counts, *receive_counts, *send_starts, *receive_starts;  // alltoallv
};

int issue(Kind kind, const MpiOperands& o) {
  const bool at_root = o.rank == o.root;
  const void* send = o.in_place ? MPI_IN_PLACE : o.send;
  const void* root_send = at_root ? send : o.send;
  switch (kind) {
    case Kind::all_reduce:
      return MPI_Allreduce(send, o.receive, o.count, o.type, o.op, o.comm);
    case Kind::reduce:
      return MPI_Reduce(root_send, o.receive, o.count, o.type, o.op, o.root, o.comm);
    case Kind::reduce_scatter:
      return MPI_Reduce_scatter_block(send, o.receive, o.count, o.type, o.op, o.comm);
    case Kind::all_gather:
      return MPI_Allgather(send, o.count, o.type, o.receive, o.count, o.type, o.comm);
    case Kind::gather:
      return MPI_Gather(root_send, o.count, o.type, o.receive, o.count, o.type, o.root, o.comm);
    case Kind::scatter:
      return MPI_Scatter(o.send, o.count, o.type, o.in_place && at_root ? MPI_IN_PLACE : o.receive, o.count, o.type,
                         o.root, o.comm);
    case Kind::alltoall:
      return MPI_Alltoall(send, o.count, o.type, o.receive, o.count, o.type, o.comm);
    case Kind::alltoallv:
      return MPI_Alltoallv(send, o.send_counts, o.send_starts, o.type, o.receive, o.receive_counts, o.receive_starts,
                           o.type, o.comm);
    case Kind::broadcast:
      return MPI_Bcast(o.receive, o.count, o.type, o.root, o.comm);
    case Kind::sendrecv: {
      const int right = (o.rank + 1) % o.ranks, left = (o.rank + o.ranks - 1) % o.ranks;
      if (o.in_place)
        return MPI_Sendrecv_replace(o.receive, o.count, o.type, right, 0, left, 0, o.comm, MPI_STATUS_IGNORE);
      return MPI_Sendrecv(o.send, o.count, o.type, right, 0, o.receive, o.count, o.type, left, 0, o.comm,
                          MPI_STATUS_IGNORE);
    }
  }
  return MPI_ERR_OTHER;
}

/// A second all_reduce on a communicator of its own, again and again in a thread. Its first element carries each rank's
/// wish to stop, so that all ranks stop after the same call.
class MpiLoad {
 public:
  /// Throws std::bad_alloc.
  MpiLoad(MPI_Comm comm, std::uint64_t bytes)
      : values_(std::max<std::uint64_t>(1, bytes / sizeof(float))), result_(values_.size()) {
    MPI_Comm_dup(comm, &comm_);
    thread_ = std::thread([this] { work(); });
  }
  ~MpiLoad() {
    stop_.store(true);
    thread_.join();
    MPI_Comm_free(&comm_);
  }

 private:
  void work() {
    do {
      values_[0] = stop_.load() ? 1.0f : 0.0f;
      MPI_Allreduce(values_.data(), result_.data(), static_cast<int>(values_.size()), MPI_FLOAT, MPI_SUM, comm_);
    } while (result_[0] == 0);
  }
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<float> values_, result_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class MpiPairs : public PointToPoint {
 public:
  MpiPairs(MPI_Comm comm, const Memory& send, const Memory& receive) : comm_(comm), send_(send), receive_(receive) {}
  Result<void> send(int peer, std::uint64_t bytes) override {
    return checked(MPI_Send(send_.at(0), static_cast<int>(bytes), MPI_BYTE, peer, 0, comm_));
  }
  Result<void> receive(int peer, std::uint64_t bytes) override {
    return checked(MPI_Recv(receive_.at(0), static_cast<int>(bytes), MPI_BYTE, peer, 0, comm_, MPI_STATUS_IGNORE));
  }

 private:
  const MPI_Comm comm_;
  const Memory &send_, &receive_;
};

class MpiBackend : public BufferedBackend {
 public:
  /// The backend of `team` on memory of `device`.
  MpiBackend(const Team& team, std::string name, DeviceFacts device, std::unique_ptr<Memory> send,
             std::unique_ptr<Memory> receive)
      : BufferedBackend(std::move(send), std::move(receive)), name_(std::move(name)), device_(std::move(device)) {
    int world_rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_split(MPI_COMM_WORLD, team.active ? team.members.front() : MPI_UNDEFINED, world_rank, &comm_);
    if (comm_ == MPI_COMM_NULL) MPI_Comm_dup(MPI_COMM_SELF, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    pairs_.emplace(comm_, memory(Buffer::send), memory(Buffer::receive));
  }
  ~MpiBackend() override { MPI_Comm_free(&comm_); }

  std::string name() const override { return name_; }

  std::string library() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text, static_cast<std::size_t>(length));
    return all.substr(0, all.find_first_of(",\n"));
  }

  DeviceFacts device() const override { return device_; }
  PointToPoint* pairs() override { return &*pairs_; }

  Result<void> start_load(std::uint64_t bytes) override {
    int provided = 0;
    MPI_Query_thread(&provided);
    if (bytes == 0)
      compute_.emplace();
    else if (provided == MPI_THREAD_MULTIPLE)
      return start_second(bytes);
    else
      return Error{"the MPI library does not provide MPI_THREAD_MULTIPLE, which concurrent collectives need", "--load",
                   ""};
    return {};
  }
  Result<void> start_second(std::uint64_t bytes) {
    try {
      load_.emplace(comm_, bytes);
      return {};
    } catch (const std::bad_alloc&) {
      return Error{"out of memory for a second all_reduce of " + std::to_string(bytes) + " bytes", "--load", ""};
    }
  }
  Result<void> stop_load() override {
    load_.reset();
    compute_.reset();
    return {};
  }

  Result<void> supports(const CollectiveCase& what, DataType type, RedOp) const override {
    if (!what.reduces || (type != DataType::half && type != DataType::bfloat16)) return {};
    return Error{"found " + std::string(info_of(type).name) + ", which MPI cannot reduce", "-d",
                 "use float, or --backend nccl"};
  }

  Result<void> fits(const Call& call) const override {
    const Layout& l = *call.layout;
    const std::uint64_t largest = l.send_counts.empty() ? l.count : std::max(l.send_count, l.recv_count);
    if (largest <= INT_MAX) return {};
    return Error{"found " + std::to_string(l.bytes) + " bytes, expected at most 2147483647 elements in one MPI call",
                 "-e", "use a wider -d"};
  }

  InPlace in_place(Kind kind) const override {
    return kind == Kind::alltoallv ? InPlace::unsupported
                                   : InPlace::checked;  // MPI_IN_PLACE wants equal counts both ways
  }

  /// MPI_Reduce_scatter_block leaves its in-place result at the start of the buffer, not at the rank's own part.
  std::uint64_t in_place_result_at(const Call& call) const override {
    return call.what->kind == Kind::reduce_scatter ? 0 : call.layout->recv_at;
  }

  Result<void> run(const Call& call) override {
    const Prepared prepared(*this, call);
    TRY(prepared.ready());
    return prepared();
  }

  Result<LoopTimes> time(const Call& call, const LoopShape& loop) override {
    const Prepared prepared(*this, call);
    TRY(prepared.ready());
    return timed_loop(loop, prepared);
  }

  Result<double> time_bare(const Call& call, int calls) override {
    const Prepared prepared(*this, call);
    TRY(prepared.ready());
    return bare_loop(calls, prepared);
  }

 private:
  /// A call made ready, so that the timed loop does nothing but issue it. Broadcast has one buffer in MPI: out of
  /// place, the root's data is copied into its receive buffer here, before the clock runs.
  class Prepared {
   public:
    Prepared(const MpiBackend& backend, const Call& call) : kind_(call.what->kind) {
      const Layout& l = *call.layout;
      const auto [send, receive] = backend.operands_of(call);
      if (kind_ == Kind::broadcast && !call.in_place && call.shape.rank == call.shape.root)
        ready_ = copy(backend.memory(Buffer::send), backend.memory(Buffer::receive), l.count * info_of(call.type).size);
      to_int(l);
      operands_ = {.send = send,
                   .receive = receive,
                   .count = static_cast<int>(l.count),
                   .ranks = call.shape.ranks,
                   .rank = call.shape.rank,
                   .root = call.shape.root,
                   .type = mpi_type(call.type),
                   .op = mpi_op(call.op),
                   .comm = backend.comm_,
                   .in_place = call.in_place,
                   .send_counts = send_counts_.data(),
                   .receive_counts = receive_counts_.data(),
                   .send_starts = send_starts_.data(),
                   .receive_starts = receive_starts_.data()};
    }
    Prepared(const Prepared&) = delete;
    const Result<void>& ready() const { return ready_; }
    Result<void> operator()() const { return checked(issue(kind_, operands_)); }

   private:
    static Result<void> copy(const Memory& from, Memory& to, std::uint64_t bytes) {
      std::vector<std::byte> data(bytes);
      TRY(from.read(0, data));
      return to.write(0, data);
    }

    void to_int(const Layout& l) {
      const auto convert = [](const std::vector<std::uint64_t>& counts, std::vector<int>& out,
                              std::vector<int>& starts) {
        int start = 0;
        for (std::uint64_t count : counts) {
          out.push_back(static_cast<int>(count));
          starts.push_back(start);
          start += static_cast<int>(count);
        }
      };
      convert(l.send_counts, send_counts_, send_starts_);
      convert(l.recv_counts, receive_counts_, receive_starts_);
    }

    Kind kind_;
    MpiOperands operands_;
    Result<void> ready_;
    std::vector<int> send_counts_, receive_counts_, send_starts_, receive_starts_;
  };

  const std::string name_;
  const DeviceFacts device_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::optional<MpiPairs> pairs_;
  std::optional<MpiLoad> load_;
  std::optional<HostLoad> compute_;
};

}  // namespace

std::unique_ptr<Backend> make_mpi_backend(const Team& team) {
  return std::make_unique<MpiBackend>(team, "mpi", DeviceFacts{0, "host", "host memory"}, make_host_memory(),
                                      make_host_memory());
}

#ifdef DISTSIM_WITH_CUDA
Result<void> mpi_cuda_usable(const Ranks& ranks) {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code != cudaSuccess) return Error{std::string("no GPU: ") + cudaGetErrorString(code), "", ""};
  if (devices < ranks.local_size())
    return Error{counted(devices, "GPU") + " on " + ranks.host() + " for " + counted(ranks.local_size(), "rank"), "",
                 ""};
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  if (MPIX_Query_cuda_support() != 1)
    return Error{"this MPI library does not accept GPU memory (MPIX_Query_cuda_support)", "", ""};
#endif
  return {};
}

Result<std::unique_ptr<Backend>> make_mpi_cuda_backend(const Ranks& ranks, const Team& team) {
  const int device = ranks.local_rank();
  CUDA_TRY(cudaSetDevice(device));
  cudaDeviceProp properties{};
  char bus[32] = "";
  CUDA_TRY(cudaGetDeviceProperties(&properties, device));
  CUDA_TRY(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
  return std::unique_ptr<Backend>(std::make_unique<MpiBackend>(
      team, "mpi-cuda", DeviceFacts{device, bus, properties.name}, make_device_memory(), make_device_memory()));
}
#endif

}  // namespace distsim::bench
