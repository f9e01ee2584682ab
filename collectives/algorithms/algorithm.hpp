// Algorithms: the ways a collective can be carried out. An entry describes itself: name, sentence, kinds, conditions
// and functions. To add one: a file that defines it as
//   extern constinit const AlgorithmInfo bruck_algorithm = checked({.name = "bruck", ...});
// and a line in registry.cpp. Prices, `distsim list collectives`, the keys of the configuration and the tests of all
// algorithms (tests/collectives/registry_test.cpp) take it from there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/algorithms/candidate.hpp"
#include "collectives/algorithms/channels.hpp"
#include "collectives/schedules/schedule.hpp"
#include "sim/graph/op.hpp"

namespace distsim::collectives {

/// A set of kinds of collectives.
class Kinds {
 public:
  constexpr Kinds() = default;
  constexpr Kinds(std::initializer_list<graph::CollectiveKind> kinds) {
    for (const graph::CollectiveKind k : kinds) bits_ |= bit(k);
  }
  constexpr bool contains(graph::CollectiveKind kind) const { return (bits_ & bit(kind)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }

 private:
  static constexpr std::uint32_t bit(graph::CollectiveKind kind) { return 1u << static_cast<unsigned>(kind); }
  std::uint32_t bits_ = 0;
};

/// Who exchanges all pairs of an all_to_all across nodes, and how: the key `collectives.exchange`.
enum class Exchange : std::uint8_t {
  automatic,     ///< as the framework does; grouped where there is none
  grouped,       ///< NCCL send/recv between all pairs
  hierarchical,  ///< the framework, over NVLink within nodes, then along rails
  rdma,          ///< the framework, with RDMA writes of its own along the rails
};

/// Who sums gradients over the ranks: the key `collectives.all_reduce`.
enum class Reduction : std::uint8_t {
  automatic,  ///< as the framework does; NCCL where there is none
  nccl,
  one_shot,  ///< the framework, with a kernel of its own
};

/// Its schedule as data, for tests to replay: for every group of two ranks or more.
struct ScheduleInfo {
  std::vector<Transfer> (*transfers)(graph::CollectiveKind kind, Grid grid, std::int64_t bytes) = nullptr;
  /// Closed form of the bytes of all messages together, over `bytes`.
  double (*traffic)(graph::CollectiveKind kind, Grid grid) = nullptr;
};

struct AlgorithmInfo {
  std::string_view name;
  std::string_view sentence;
  Kinds kinds;
  std::array<std::string_view, 2> nccl_names{};         ///< words of NCCL_ALGO that select it; empty: none does
  topology::Traffic traffic = topology::Traffic::ring;  ///< between nodes: what uplinks of the fabric carry of it
  bool by_slower_link = false;  ///< the slower of the links within a node and across bounds it, as it loads both alike
  std::optional<Exchange> exchange{};    ///< where `collectives.exchange` decides whether it is used
  std::optional<Reduction> reduction{};  ///< the choice of `collectives.all_reduce` that asks for it
  /// What it needs of a group of two ranks or more.
  bool (*applies)(const Channels& channels) = [](const Channels&) { return true; };
  /// Appends a candidate for each protocol. Called for its kinds on groups that it applies to.
  void (*add)(graph::CollectiveKind kind, const Channels& channels, std::vector<Candidate>& out) = nullptr;
  ScheduleInfo schedule{};
};

/// The entry itself; an incomplete one does not compile.
consteval AlgorithmInfo checked(const AlgorithmInfo& a) {
  if (a.name.empty() || !a.sentence.ends_with('.')) throw "an algorithm needs a name and a sentence";
  if (a.kinds.empty() || a.applies == nullptr || a.add == nullptr) throw "an algorithm needs kinds and a cost";
  if ((a.schedule.transfers == nullptr) != (a.schedule.traffic == nullptr)) throw "a schedule needs its closed form";
  return a;
}

std::span<const AlgorithmInfo* const> algorithms();
/// Its place in algorithms().
std::size_t index_of(const AlgorithmInfo& algorithm);

/// All candidates of the registry for this kind on two ranks or more; never empty. A barrier is priced as a small
/// all_reduce, so it has none.
std::vector<Candidate> candidates_for(graph::CollectiveKind kind, const Channels& channels);

}  // namespace distsim::collectives
