// Collectives.
#pragma once

#include <vector>

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  all_to_all_v,
  broadcast,
  reduce,
  gather,
  scatter,
  send_recv,
  barrier
};
template <>
inline constexpr std::array<std::string_view, 11> kNames<CollectiveKind>{
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "all_to_all_v", "broadcast",
    "reduce",     "gather",     "scatter",        "send_recv",  "barrier"};
Result<CollectiveKind> parse_collective(std::string_view name);  ///< also "alltoall", "all-reduce", "sendrecv", ...
/// busbw = algbw x factor, as nccl-tests defines it. algbw = bytes / time.
double busbw_factor(CollectiveKind kind, std::uint32_t ranks);

/// One collective over one group. `bytes` is the size column of nccl-tests: all_reduce, broadcast, reduce: the buffer;
/// all_gather: the receive buffer (total); reduce_scatter: the send buffer (total); all_to_all: the send buffer of one
/// rank; send_recv: bytes sent by a rank. all_to_all_v: `bytes` is the largest send buffer, and send/recv hold the
/// bytes that each group position exchanges with the others in total (its own share excluded); empty vectors mean
/// uniform.
struct Collective {
  static constexpr std::string_view kKind = "collective";
  static constexpr Work kWork = Work::collective;
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;
  DType dtype = DType::fp32;
  std::vector<std::int64_t> send_bytes, recv_bytes;
  std::int64_t times = 1;  ///< so many of them, one after the other

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::setting("kind"), op.kind...);
    visit(field::size("bytes").in_units("B").within(0, std::numeric_limits<double>::infinity()), op.bytes...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("send_bytes").labelled("uneven"), op.send_bytes...);
    visit(field::setting("recv_bytes"), op.recv_bytes...);
    visit(field::size("times").later().shown(Show::count), op.times...);
  }
};

}  // namespace distsim::graph
