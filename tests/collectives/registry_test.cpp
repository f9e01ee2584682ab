// Every algorithm of the registry, without naming one: its price is finite and grows with bytes, its schedule does what
// its kinds promise and moves the bytes of its closed form.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "collective_fixture.hpp"
#include "collectives/algorithms/algorithm.hpp"
#include "replay.hpp"

namespace distsim::collectives {
namespace {

/// Groups of all sorts: one node and several, NVLink and PCIe, every generation, switches that reduce and those that do
/// not, with and without GPUDirect.
std::vector<Channels> groups() {
  std::vector<Channels> out;
  for (std::uint32_t nodes : {1u, 2u, 5u, 32u}) {
    const topology::Topology t = a100_cluster(nodes);
    for (std::uint32_t per_node : {1u, 2u, 3u, 8u}) {
      std::vector<std::uint32_t> members;
      for (std::uint32_t r = 0; r < t.ranks(); ++r) {
        if (r % 8 < per_node) members.push_back(r);
      }
      if (members.size() < 2) continue;
      topology::GroupFacts facts = t.facts(members);
      for (std::int64_t capability : {70, 80, 90, 100}) {
        for (bool reduces : {false, true}) {
          facts.compute_capability = capability;
          facts.sharp = facts.multicast = reduces;
          facts.gpu_direct = !reduces;
          facts.transport = reduces ? topology::Transport::efa : topology::Transport::infiniband;
          out.push_back(channels_of(facts));
        }
      }
    }
  }
  return out;
}

constexpr std::uint32_t kMostRanks = 64;  // a bit each

std::vector<Grid> grids() {
  std::vector<Grid> out;
  for (std::uint32_t nodes = 1; nodes <= kMostRanks; ++nodes) {
    for (std::uint32_t per_node = 1; nodes * per_node <= kMostRanks; ++per_node) {
      if (nodes * per_node >= 2) out.push_back({nodes, per_node});
    }
  }
  return out;
}

std::uint32_t chunks_of(const std::vector<Transfer>& schedule) {
  std::uint32_t most = 0;
  for (const Transfer& t : schedule) most = std::max(most, t.chunk);
  return most + 1;
}

/// What the ranks hold before a collective of this kind; rank 0 is the root.
State before(graph::CollectiveKind kind, std::uint32_t n, std::uint32_t chunks) {
  State state;
  switch (kind) {
    case graph::CollectiveKind::all_reduce:
    case graph::CollectiveKind::reduce:
      return everyone_has_all(n, chunks);
    case graph::CollectiveKind::reduce_scatter:
      return everyone_has_all(n, n);
    case graph::CollectiveKind::all_gather:
      for (std::uint32_t r = 0; r < n; ++r) state[{r, r}] = bit(r);
      return state;
    case graph::CollectiveKind::broadcast:
      for (std::uint32_t c = 0; c < chunks; ++c) state[{0, c}] = bit(0);
      return state;
    case graph::CollectiveKind::all_to_all:
    case graph::CollectiveKind::all_to_all_v:
      return chunks_for_all(n);
    default:
      ADD_FAILURE() << graph::name_of(kind) << ": what it promises is not written down here";
      return state;
  }
}

void expect_done(graph::CollectiveKind kind, std::uint32_t n, std::uint32_t chunks, State& state) {
  const auto holds = [&](std::uint32_t rank, std::uint32_t chunk, std::uint64_t who) {
    ASSERT_EQ((state[{rank, chunk}]), who) << "rank " << rank << ", chunk " << chunk;
  };
  switch (kind) {
    case graph::CollectiveKind::reduce:
      for (std::uint32_t c = 0; c < chunks; ++c) holds(0, c, all_of(n));
      return;
    case graph::CollectiveKind::reduce_scatter:
      for (std::uint32_t r = 0; r < n; ++r) holds(r, r, all_of(n));
      return;
    case graph::CollectiveKind::all_to_all:
    case graph::CollectiveKind::all_to_all_v:
      return expect_delivered(state, n);
    default:
      break;
  }
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::uint32_t c = 0; c < (kind == graph::CollectiveKind::all_gather ? n : chunks); ++c) {
      holds(r, c,
            kind == graph::CollectiveKind::all_reduce   ? all_of(n)
            : kind == graph::CollectiveKind::all_gather ? bit(c)
                                                        : bit(0));
    }
  }
}

std::vector<graph::CollectiveKind> kinds_of(const AlgorithmInfo& a) {
  std::vector<graph::CollectiveKind> out;
  for (const graph::CollectiveKind kind : kAllKinds) {
    if (a.kinds.contains(kind)) out.push_back(kind);
  }
  return out;
}

class EveryAlgorithm : public testing::TestWithParam<const AlgorithmInfo*> {};
INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm, testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         [](const auto& p) { return std::string(p.param->name); });

TEST_P(EveryAlgorithm, IsFiniteAndGrowsWithBytes) {
  for (const graph::CollectiveKind kind : kinds_of(*GetParam())) {
    std::size_t candidates = 0;
    for (const Channels& c : groups()) {
      for (const Candidate& x : candidates_for(kind, c)) {
        if (x.algorithm != GetParam()) continue;
        ++candidates;
        ASSERT_TRUE(std::isfinite(x.gbps) && x.gbps > 0 && std::isfinite(x.latency_us) && x.latency_us >= 0)
            << graph::name_of(kind);
        EXPECT_FALSE(x.limit.empty());
        double previous = 0;
        for (double bytes = 1; bytes < 1e14; bytes *= 1.7) {
          const double us = time_us(x, bytes);
          ASSERT_TRUE(std::isfinite(us) && us >= previous)
              << graph::name_of(kind) << " " << name_of(x.protocol) << " " << bytes;
          previous = us;
        }
      }
    }
    EXPECT_GT(candidates, 0u) << graph::name_of(kind) << ": no group here meets what it needs; add one to groups()";
  }
}

std::vector<const AlgorithmInfo*> with_schedule() {
  std::vector<const AlgorithmInfo*> out;
  for (const AlgorithmInfo* a : algorithms()) {
    if (a->schedule.transfers != nullptr) out.push_back(a);
  }
  return out;
}

class EverySchedule : public testing::TestWithParam<const AlgorithmInfo*> {};
INSTANTIATE_TEST_SUITE_P(Registry, EverySchedule, testing::ValuesIn(with_schedule()),
                         [](const auto& p) { return std::string(p.param->name); });

TEST_P(EverySchedule, DoesWhatItsKindsPromise) {
  const ScheduleInfo& schedule = GetParam()->schedule;
  for (const graph::CollectiveKind kind : kinds_of(*GetParam())) {
    for (const Grid& grid : grids()) {
      SCOPED_TRACE(std::string(graph::name_of(kind)) + " on " + std::to_string(grid.nodes) + " x " +
                   std::to_string(grid.per_node));
      const auto transfers = schedule.transfers(kind, grid, 1000 * grid.ranks());
      State state = before(kind, grid.ranks(), chunks_of(transfers));
      replay(transfers, state);
      expect_done(kind, grid.ranks(), chunks_of(transfers), state);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_P(EverySchedule, MovesTheBytesOfTheClosedForm) {
  const ScheduleInfo& schedule = GetParam()->schedule;
  for (const graph::CollectiveKind kind : kinds_of(*GetParam())) {
    for (const Grid& grid : grids()) {
      const std::int64_t bytes = 1000 * grid.ranks();  // divides into equal chunks, and into halves
      std::int64_t all = 0;
      for (const Transfer& t : schedule.transfers(kind, grid, bytes)) all += t.bytes;
      ASSERT_EQ(static_cast<double>(all), schedule.traffic(kind, grid) * static_cast<double>(bytes))
          << graph::name_of(kind) << " on " << grid.nodes << " x " << grid.per_node;
    }
  }
}

TEST(Registry, NamesAreUnique) {
  std::set<std::string_view> names, nccl_names;
  for (const AlgorithmInfo* a : algorithms()) {
    EXPECT_TRUE(names.insert(a->name).second) << a->name;
    for (const std::string_view word : a->nccl_names)
      EXPECT_TRUE(word.empty() || nccl_names.insert(word).second) << word;
  }
}

TEST(Registry, EveryKindButABarrierHasAnAlgorithmOnEveryGroup) {
  for (const Channels& c : groups()) {
    for (const graph::CollectiveKind kind : kAllKinds) {
      EXPECT_EQ(kind == graph::CollectiveKind::barrier || !candidates_for(kind, c).empty(), true)
          << graph::name_of(kind);
    }
  }
}

}  // namespace
}  // namespace distsim::collectives
