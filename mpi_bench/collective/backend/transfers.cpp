#include "mpi_bench/collective/backend/transfers.hpp"

#include <algorithm>

namespace distsim::bench {
namespace {

Exchange neighbours(const Layout& l, const Shape& s) {
  return {.sends = {{(s.rank + 1) % s.ranks, 0, l.count}},
          .receives = {{(s.rank + s.ranks - 1) % s.ranks, 0, l.count}}};
}

/// Everybody's part to the root, or the root's parts to everybody.
Exchange gathered(const Layout& l, const Shape& s) {
  Exchange e{.sends = {{s.root, 0, l.count}}};
  for (int peer = 0; s.rank == s.root && peer < s.ranks; ++peer) e.receives.push_back({peer, l.count * peer, l.count});
  return e;
}

Exchange scattered(const Layout& l, const Shape& s) {
  Exchange e{.receives = {{s.root, 0, l.count}}};
  for (int peer = 0; s.rank == s.root && peer < s.ranks; ++peer) e.sends.push_back({peer, l.count * peer, l.count});
  return e;
}

Exchange broadcast(const Layout& l, const Shape& s) {
  Exchange e{.receives = {{s.root, 0, l.count}}};
  for (int peer = 0; s.rank == s.root && peer < s.ranks; ++peer) e.sends.push_back({peer, 0, l.count});
  return e;
}

Exchange to_all(const Layout& l, const Shape& s) {
  Exchange e;
  for (int peer = 0; peer < s.ranks; ++peer) {
    e.sends.push_back({peer, 0, l.count});
    e.receives.push_back({peer, l.count * peer, l.count});
  }
  return e;
}

Exchange all_pairs(const Layout& l, const Shape& s) {
  Exchange e;
  std::uint64_t out = 0, in = 0;
  for (int peer = 0; peer < s.ranks; ++peer) {
    const std::uint64_t sent = l.send_counts.empty() ? l.count : l.send_counts[peer],
                        received = l.recv_counts.empty() ? l.count : l.recv_counts[peer];
    e.sends.push_back({peer, out, sent});
    e.receives.push_back({peer, in, received});
    out += sent;
    in += received;
  }
  return e;
}

Exchange complete(Kind kind, const Layout& l, const Shape& s) {
  switch (kind) {
    case Kind::sendrecv:
      return neighbours(l, s);
    case Kind::gather:
      return gathered(l, s);
    case Kind::scatter:
      return scattered(l, s);
    case Kind::broadcast:
      return broadcast(l, s);
    case Kind::all_gather:
      return to_all(l, s);
    case Kind::alltoall:
    case Kind::alltoallv:
      return all_pairs(l, s);
    default:
      return {};
  }
}

}  // namespace

Exchange exchange_of(Kind kind, const Layout& layout, const Shape& shape, bool in_place) {
  Exchange e = complete(kind, layout, shape);
  const auto needless = [&](const Transfer& t) { return t.count == 0 || (in_place && t.peer == shape.rank); };
  std::erase_if(e.sends, needless);
  std::erase_if(e.receives, needless);
  return e;
}

bool moves_only(Kind kind) { return kind != Kind::all_reduce && kind != Kind::reduce && kind != Kind::reduce_scatter; }

bool moves_in_place(Kind kind) {
  return moves_only(kind) && kind != Kind::sendrecv && kind != Kind::alltoall && kind != Kind::alltoallv;
}

}  // namespace distsim::bench
