#include "mpi_bench/collective/run/nccl/nccl_lane.hpp"

#include <algorithm>

namespace distsim::bench {
namespace {

ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::int8:
      return ncclInt8;
    case DataType::uint8:
      return ncclUint8;
    case DataType::int32:
      return ncclInt32;
    case DataType::uint32:
      return ncclUint32;
    case DataType::int64:
      return ncclInt64;
    case DataType::uint64:
      return ncclUint64;
    case DataType::half:
      return ncclFloat16;
    case DataType::float32:
      return ncclFloat32;
    case DataType::float64:
      return ncclFloat64;
    case DataType::bfloat16:
      return ncclBfloat16;
  }
  return ncclNumTypes;
}

ncclRedOp_t nccl_op(RedOp op) {
  switch (op) {
    case RedOp::sum:
      return ncclSum;
    case RedOp::prod:
      return ncclProd;
    case RedOp::max:
      return ncclMax;
    case RedOp::min:
      return ncclMin;
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

}  // namespace

NcclLane::~NcclLane() {
  if (second_comm_ != nullptr) ncclCommDestroy(second_comm_);
  if (comm_ != nullptr) ncclCommDestroy(comm_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

Result<void> NcclLane::connect(int device, const Ranks& ranks, const Team& team, bool second_comm) {
  device_ = device;
  CUDA_TRY(cudaSetDevice(device_));
  CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  TRY_ASSIGN(comm_, connect_team(ranks, team));
  if (second_comm) {
    TRY_ASSIGN(second_comm_, connect_team(ranks, team));
  }
  return {};
}

Result<void> NcclLane::issue(const Call& call, const std::byte* send, std::byte* receive) const {
  const Layout& l = *call.layout;
  const ncclDataType_t type = nccl_type(call.type);
  const ncclRedOp_t op = nccl_op(call.op);
  switch (call.what->kind) {
    case Kind::all_reduce:
      return checked(ncclAllReduce(send, receive, l.count, type, op, comm_, stream_), "ncclAllReduce");
    case Kind::reduce:
      return checked(ncclReduce(send, receive, l.count, type, op, call.shape.root, comm_, stream_), "ncclReduce");
    case Kind::reduce_scatter:
      return checked(ncclReduceScatter(send, receive, l.count, type, op, comm_, stream_), "ncclReduceScatter");
    case Kind::all_gather:
      return checked(ncclAllGather(send, receive, l.count, type, comm_, stream_), "ncclAllGather");
    case Kind::broadcast:
      return checked(ncclBroadcast(send, receive, l.count, type, call.shape.root, comm_, stream_), "ncclBroadcast");
    default:
      break;
  }
  NCCL_TRY(ncclGroupStart());
  const Result<void> issued = issue_pairs(call, send, receive);
  NCCL_TRY(ncclGroupEnd());
  return issued;
}

/// Collectives that are groups of sends and receives.
Result<void> NcclLane::issue_pairs(const Call& call, const std::byte* send, std::byte* receive) const {
  const Shape& s = call.shape;
  const std::uint64_t part = call.layout->count * info_of(call.type).size;
  switch (call.what->kind) {
    case Kind::sendrecv:
      TRY(put(call, send, call.layout->count, (s.rank + 1) % s.ranks));
      return get(call, receive, call.layout->count, (s.rank + s.ranks - 1) % s.ranks);
    case Kind::gather:
      TRY(put(call, send, call.layout->count, s.root));
      for (int peer = 0; s.rank == s.root && peer < s.ranks; ++peer)
        TRY(get(call, receive + part * peer, call.layout->count, peer));
      return {};
    case Kind::scatter:
      for (int peer = 0; s.rank == s.root && peer < s.ranks; ++peer)
        TRY(put(call, send + part * peer, call.layout->count, peer));
      return get(call, receive, call.layout->count, s.root);
    default:
      return issue_all_pairs(call, send, receive);
  }
}

Result<void> NcclLane::issue_all_pairs(const Call& call, const std::byte* send, std::byte* receive) const {
  const Layout& l = *call.layout;
  const std::size_t e = info_of(call.type).size;
  for (int peer = 0; peer < call.shape.ranks; ++peer) {
    const std::uint64_t out = l.send_counts.empty() ? l.count : l.send_counts[peer],
                        in = l.recv_counts.empty() ? l.count : l.recv_counts[peer];
    TRY(put(call, send, out, peer));
    TRY(get(call, receive, in, peer));
    send += out * e;
    receive += in * e;
  }
  return {};
}

Result<void> NcclLane::put(const Call& call, const std::byte* from, std::uint64_t count, int peer) const {
  return checked(ncclSend(from, count, nccl_type(call.type), peer, comm_, stream_), "ncclSend");
}

Result<void> NcclLane::get(const Call& call, std::byte* to, std::uint64_t count, int peer) const {
  return checked(ncclRecv(to, count, nccl_type(call.type), peer, comm_, stream_), "ncclRecv");
}

}  // namespace distsim::bench
