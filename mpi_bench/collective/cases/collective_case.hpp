// A collective is one small entry: its buffer sizes, its bus-bandwidth factor, and the expected contents of each
// receive buffer. Sizes follow nccl-tests. With S the size column, n ranks, e bytes an element, A = elements in 16
// bytes:
//   all_reduce, broadcast, reduce, sendrecv   count = S/e on every rank
//   all_gather, reduce_scatter, alltoall,     S is the total over ranks; count = S/e/n rounded down to a multiple of A,
//   and the size column is gather, scatter                           rewritten to count*n*e (so that small sizes become
//   rows of 0 bytes) alltoallv                                 S is the send buffer of rank 0, the largest; see
//   cases_alltoallv.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace distsim::bench {

enum class Kind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  alltoall,
  alltoallv,
  broadcast,
  reduce,
  gather,
  scatter,
  sendrecv
};

/// A rank's place in its group. Only alltoallv uses `imbalance`.
struct Shape {
  int ranks = 1;
  int rank = 0;
  int root = 0;
  double imbalance = 1;
};

/// Buffers of one rank, in elements.
struct Layout {
  std::uint64_t bytes = 0;  ///< size column
  std::uint64_t count = 0;  ///< count column
  std::uint64_t send_count = 0, recv_count = 0;
  std::uint64_t send_at = 0, recv_at = 0;               ///< in place: offsets of both within the one buffer
  std::vector<std::uint64_t> send_counts, recv_counts;  ///< alltoallv: per peer; displacements are their running sums
  std::uint64_t in_place_count() const;                 ///< length of the one buffer
};

/// elements [at, at+count) of the receive buffer hold elements [source_index, ...) of the pattern of rank `source`, or
/// of the reduction of all.
struct Segment {
  static constexpr int kReduced = -1;
  std::uint64_t at = 0, count = 0;
  int source = kReduced;
  std::uint64_t source_index = 0;
};

struct CollectiveCase {
  Kind kind;
  std::string_view name;        ///< as in nccl-tests' binaries
  std::string_view curve_kind;  ///< as in collectives/curve_file/curve.proto
  bool reduces = false;         ///< the redop column is filled
  bool rooted = false;          ///< the root column is filled
  bool uneven = false;          ///< ranks send different amounts (--imbalance)
  /// `elements` is S/e, `alignment` is A.
  Layout (*layout)(std::uint64_t elements, std::uint64_t alignment, std::uint64_t element_bytes, const Shape& shape);
  double (*bus_factor)(int ranks);  ///< busbw = algbw x factor
  std::vector<Segment> (*expected)(const Layout& layout, const Shape& shape);
};

std::span<const CollectiveCase> collective_cases();
Result<const CollectiveCase*> find_case(
    std::string_view name);  ///< also under its curve kind; unknown: nearest spelling

/// Layout for a size in bytes; 16-byte alignment as nccl-tests has it.
Layout layout_of(const CollectiveCase& what, std::uint64_t size_bytes, std::uint64_t element_bytes, const Shape& shape);

}  // namespace distsim::bench
