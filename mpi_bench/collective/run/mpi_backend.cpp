// Collectives of the MPI library, on host memory.
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "mpi_bench/collective/run/backends.hpp"

namespace distsim::bench {
namespace {

MPI_Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::int8: return MPI_INT8_T;
    case DataType::uint8: return MPI_UINT8_T;
    case DataType::int32: return MPI_INT32_T;
    case DataType::uint32: return MPI_UINT32_T;
    case DataType::int64: return MPI_INT64_T;
    case DataType::uint64: return MPI_UINT64_T;
    case DataType::float32: return MPI_FLOAT;
    case DataType::float64: return MPI_DOUBLE;
    case DataType::half:
    case DataType::bfloat16: return MPI_UINT16_T;  // only moved, never reduced: see supports()
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op mpi_op(RedOp op) {
  switch (op) {
    case RedOp::sum: return MPI_SUM;
    case RedOp::prod: return MPI_PROD;
    case RedOp::max: return MPI_MAX;
    case RedOp::min: return MPI_MIN;
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

struct FreeDeleter {
  void operator()(std::byte* p) const { std::free(p); }
};

class HostBuffer {
 public:
  Result<void> grow(std::uint64_t bytes) {
    if (bytes <= bytes_) return {};
    constexpr std::size_t kPage = 4096;
    data_.reset();
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage)));
    bytes_ = data_ ? bytes : 0;
    if (!data_) return Error{"no memory for a buffer of " + std::to_string(bytes) + " bytes", "", "use a smaller -e"};
    return {};
  }
  std::byte* at(std::uint64_t offset) const { return data_ ? data_.get() + offset : nullptr; }

 private:
  std::unique_ptr<std::byte, FreeDeleter> data_;
  std::uint64_t bytes_ = 0;
};

/// The operands of one call, as MPI wants them.
struct Operands {
  const std::byte* send;
  std::byte* receive;
  int count, ranks, rank, root;
  MPI_Datatype type;
  MPI_Op op;
  bool in_place;
  const int *send_counts, *receive_counts, *send_starts, *receive_starts;  // alltoallv
};

int issue(Kind kind, const Operands& o) {
  const bool at_root = o.rank == o.root;
  const void* send = o.in_place ? MPI_IN_PLACE : o.send;
  const void* root_send = at_root ? send : o.send;
  const MPI_Comm world = MPI_COMM_WORLD;
  switch (kind) {
    case Kind::all_reduce: return MPI_Allreduce(send, o.receive, o.count, o.type, o.op, world);
    case Kind::reduce: return MPI_Reduce(root_send, o.receive, o.count, o.type, o.op, o.root, world);
    case Kind::reduce_scatter: return MPI_Reduce_scatter_block(send, o.receive, o.count, o.type, o.op, world);
    case Kind::all_gather: return MPI_Allgather(send, o.count, o.type, o.receive, o.count, o.type, world);
    case Kind::gather: return MPI_Gather(root_send, o.count, o.type, o.receive, o.count, o.type, o.root, world);
    case Kind::scatter:
      return MPI_Scatter(o.send, o.count, o.type, o.in_place && at_root ? MPI_IN_PLACE : o.receive, o.count, o.type, o.root, world);
    case Kind::alltoall: return MPI_Alltoall(send, o.count, o.type, o.receive, o.count, o.type, world);
    case Kind::alltoallv:
      return MPI_Alltoallv(send, o.send_counts, o.send_starts, o.type, o.receive, o.receive_counts, o.receive_starts, o.type, world);
    case Kind::broadcast: return MPI_Bcast(o.receive, o.count, o.type, o.root, world);
    case Kind::sendrecv: {
      const int right = (o.rank + 1) % o.ranks, left = (o.rank + o.ranks - 1) % o.ranks;
      if (o.in_place) return MPI_Sendrecv_replace(o.receive, o.count, o.type, right, 0, left, 0, world, MPI_STATUS_IGNORE);
      return MPI_Sendrecv(o.send, o.count, o.type, right, 0, o.receive, o.count, o.type, left, 0, world, MPI_STATUS_IGNORE);
    }
  }
  return MPI_ERR_OTHER;
}

class MpiBackend : public Backend {
 public:
  MpiBackend() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); }

  std::string name() const override { return "mpi"; }

  std::string library() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text, static_cast<std::size_t>(length));
    return all.substr(0, all.find_first_of(",\n"));
  }

  DeviceFacts device() const override { return {.index = 0, .bus_id = "host", .name = "host memory"}; }

  Result<void> supports(const CollectiveCase& what, DataType type, RedOp) const override {
    if (!what.reduces || (type != DataType::half && type != DataType::bfloat16)) return {};
    return Error{"found " + std::string(info_of(type).name) + ", which MPI cannot reduce", "-d", "use float, or --backend nccl"};
  }

  Result<void> fits(const Call& call) const override {
    const Layout& l = *call.layout;
    const std::uint64_t largest = l.send_counts.empty() ? l.count : std::max(l.send_count, l.recv_count);
    if (largest <= INT_MAX) return {};
    return Error{"found " + std::to_string(l.bytes) + " bytes, expected at most 2147483647 elements in one MPI call", "-e", "use a wider -d"};
  }

  InPlace in_place(Kind kind) const override {
    return kind == Kind::alltoallv ? InPlace::unsupported : InPlace::checked;  // MPI_IN_PLACE wants equal counts both ways
  }

  /// MPI_Reduce_scatter_block leaves its in-place result at the start of the buffer, not at the rank's own part.
  std::uint64_t in_place_result_at(const Call& call) const override {
    return call.what->kind == Kind::reduce_scatter ? 0 : call.layout->recv_at;
  }

  Result<void> allocate(std::uint64_t send_bytes, std::uint64_t receive_bytes) override {
    TRY(send_.grow(send_bytes));
    return receive_.grow(receive_bytes);
  }

  Result<void> write(Buffer buffer, std::uint64_t at, std::span<const std::byte> data) override {
    std::memcpy(host(buffer).at(at), data.data(), data.size());
    return {};
  }

  Result<void> read(Buffer buffer, std::uint64_t at, std::span<std::byte> data) override {
    std::memcpy(data.data(), host(buffer).at(at), data.size());
    return {};
  }

  Result<void> run(const Call& call) override {
    const Prepared prepared(*this, call);
    return checked(prepared.issue());
  }

  Result<LoopTimes> time(const Call& call, int iterations) override {
    const Prepared prepared(*this, call);
    LoopTimes times;
    times.each_s.resize(static_cast<std::size_t>(iterations));
    const double start = MPI_Wtime();
    double last = start;
    for (double& each : times.each_s) {
      TRY(checked(prepared.issue()));
      const double now = MPI_Wtime();
      each = now - last;
      last = now;
    }
    times.mean_s = (last - start) / iterations;
    return times;
  }

 private:
  /// A call made ready, so that the timed loop does nothing but issue it. Broadcast has one buffer in MPI: out of place, the root's data is copied
  /// into its receive buffer here, before the clock runs.
  class Prepared {
   public:
    Prepared(const MpiBackend& backend, const Call& call) : kind_(call.what->kind) {
      const Layout& l = *call.layout;
      const std::size_t e = info_of(call.type).size;
      std::byte* receive = backend.receive_.at(call.in_place ? backend.in_place_result_at(call) * e : 0);
      const std::byte* send = call.in_place ? backend.receive_.at(l.send_at * e) : backend.send_.at(0);
      if (kind_ == Kind::broadcast && !call.in_place && call.shape.rank == call.shape.root && l.count > 0) std::memcpy(receive, send, l.count * e);
      to_int(l);
      operands_ = {.send = send, .receive = receive, .count = static_cast<int>(l.count), .ranks = call.shape.ranks, .rank = call.shape.rank,
                   .root = call.shape.root, .type = mpi_type(call.type), .op = mpi_op(call.op), .in_place = call.in_place,
                   .send_counts = send_counts_.data(), .receive_counts = receive_counts_.data(), .send_starts = send_starts_.data(),
                   .receive_starts = receive_starts_.data()};
    }
    Prepared(const Prepared&) = delete;
    int issue() const { return bench::issue(kind_, operands_); }

   private:
    void to_int(const Layout& l) {
      const auto convert = [](const std::vector<std::uint64_t>& counts, std::vector<int>& out, std::vector<int>& starts) {
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
    Operands operands_;
    std::vector<int> send_counts_, receive_counts_, send_starts_, receive_starts_;
  };

  HostBuffer& host(Buffer buffer) { return buffer == Buffer::send ? send_ : receive_; }

  HostBuffer send_, receive_;
};

}  // namespace

std::unique_ptr<Backend> make_mpi_backend() { return std::make_unique<MpiBackend>(); }

}  // namespace distsim::bench
