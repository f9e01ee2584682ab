// Connections between all pairs of a team, several streams each, and messages over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.hpp"
#include "mpi_bench/collective/ranks/ranks.hpp"
#include "mpi_bench/collective/ranks/team.hpp"

namespace distsim::bench {

/// Peers are places in the team. Bytes sent and bytes expected must match on both sides.
struct TcpMessage {
  int peer = 0;
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

/// Piece `number` of a message that is cut over `streams` connections: whole kilobytes, small messages in one piece.
struct Piece {
  std::uint64_t at = 0, bytes = 0;
};
Piece piece_of(std::uint64_t bytes, int streams, int number);

class TcpMesh {
 public:
  /// All ranks of the job together. A rank is called at its node's name, else at its interface addresses; on one node
  /// through the loopback.
  static Result<std::unique_ptr<TcpMesh>> connect(const Ranks& ranks, const Team& team, int streams);
  ~TcpMesh();

  /// At most one message to and one from each peer; all are under way at once. Returns when all have been sent and have
  /// arrived.
  Result<void> exchange(std::span<const TcpMessage> sends, std::span<const TcpMessage> receives);

 private:
  struct Impl;
  explicit TcpMesh(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace distsim::bench
