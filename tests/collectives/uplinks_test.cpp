// Fabrics that are oversubscribed: what schedules put on the uplinks of every leaf, prices by hand, and laws.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "collective_fixture.hpp"
#include "collectives/algorithms/algorithm.hpp"
#include "collectives/analytic_model.hpp"
#include "topology/shapes/shape.hpp"

namespace distsim::collectives {
namespace {

using graph::CollectiveKind;
using topology::Traffic;

topology::ClusterSpec fat_tree(std::int64_t nodes, std::int64_t nodes_per_leaf, double oversubscription) {
  topology::ClusterSpec s = a100_cluster(1).spec();
  s.nodes = nodes;
  s.fabric.nodes_per_leaf = nodes_per_leaf;
  s.fabric.oversubscription = oversubscription;
  return s;
}
topology::GroupFacts facts_of_job(const topology::ClusterSpec& s) {
  const topology::Topology t = topology::Topology::build(s, 80).value();
  return t.facts(first_ranks(t.ranks()));
}
topology::GroupFacts facts_of_first_gpus(const topology::ClusterSpec& s) {
  const topology::Topology t = topology::Topology::build(s, 80).value();
  std::vector<std::uint32_t> members;
  for (std::uint32_t r = 0; r < t.ranks(); r += t.gpus_per_node()) members.push_back(r);
  return t.facts(members);
}
double time_us(CollectiveKind kind, const topology::ClusterSpec& s, double bytes, LaunchMode mode = {}) {
  return AnalyticModel(kind, facts_of_job(s), mode).time_us(bytes);
}

// What each link of a schedule carries.

/// Bytes that leave the busiest leaf.
double most_out_of_a_leaf(const std::vector<Transfer>& schedule, Grid grid, std::uint32_t nodes_per_leaf) {
  std::map<std::uint32_t, double> out;
  for (const Transfer& t : schedule) {
    const std::uint32_t from = t.from / grid.per_node / nodes_per_leaf, to = t.to / grid.per_node / nodes_per_leaf;
    if (from != to) out[from] += static_cast<double>(t.bytes);
  }
  double most = 0;
  for (const auto& [leaf, bytes] : out) most = std::max(most, bytes);
  return most;
}

/// Bytes that a node sends in a collective of `bytes` in the model's terms: those of its NICs at full use.
double out_of_a_node(Traffic traffic, CollectiveKind kind, Grid grid, double bytes) {
  const double n = grid.ranks(), p = grid.per_node;
  switch (traffic) {
    case Traffic::ring:
      return (kind == CollectiveKind::all_reduce                                    ? 2 * (n - 1) / n
              : kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce ? 1
                                                                                    : (n - 1) / n) *
             bytes;
    case Traffic::tree:
      return 2 * bytes;
    default:
      return p * (n - p) / n * bytes;
  }
}

class EveryUplinkSchedule : public testing::TestWithParam<const AlgorithmInfo*> {};
std::vector<const AlgorithmInfo*> algorithms_with_schedule() {
  std::vector<const AlgorithmInfo*> out;
  for (const AlgorithmInfo* a : algorithms()) {
    if (a->schedule.transfers != nullptr) out.push_back(a);
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryUplinkSchedule, testing::ValuesIn(algorithms_with_schedule()),
                         [](const auto& p) { return std::string(p.param->name); });

TEST_P(EveryUplinkSchedule, PutsOnTheUplinksWhatItsTrafficSays) {
  constexpr double kOver = 5;
  for (const CollectiveKind kind : kAllKinds) {
    if (!GetParam()->kinds.contains(kind)) continue;
    for (std::uint32_t nodes : {2u, 4u, 5u, 8u, 12u, 16u, 23u}) {
      for (std::uint32_t nodes_per_leaf : {1u, 2u, 3u, 4u, 8u}) {
        if (nodes <= nodes_per_leaf) continue;
        const bool levels = GetParam()->exchange == Exchange::hierarchical;
        const Grid grid{nodes, levels ? 8u : 1u};
        const std::int64_t bytes = std::int64_t{grid.ranks()} * 1024 * 1024;
        const topology::ClusterSpec s = fat_tree(nodes, nodes_per_leaf, kOver);
        const topology::GroupFacts f = levels ? facts_of_job(s) : facts_of_first_gpus(s);
        const double capacity = nodes_per_leaf * 8 * 24e9 / kOver;
        const double limit = f.uplink_limits[static_cast<std::size_t>(GetParam()->traffic)].value();
        const double said = out_of_a_node(GetParam()->traffic, kind, grid, static_cast<double>(bytes)) / limit;
        const double sent = most_out_of_a_leaf(GetParam()->schedule.transfers(kind, grid, bytes), grid, nodes_per_leaf);
        // A ring passes on the chunks of n - 1 of n steps, of which two links of its start and end miss some.
        EXPECT_NEAR(said / (sent / capacity), 1, GetParam()->traffic == Traffic::ring ? 1.0 / nodes : 1e-9)
            << graph::name_of(kind) << ", " << nodes << " nodes, leaves of " << nodes_per_leaf;
      }
    }
  }
}

TEST(Uplinks, DoublingSendsFewBytesFar) {
  // PAT's all_gather: the chunk of rank r reaches r + o from r + o without its lowest power of two.
  for (std::uint32_t n : {2u, 3u, 6u, 8u, 16u, 21u}) {
    for (std::uint32_t nodes_per_leaf : {1u, 2u, 3u, 4u, 8u}) {
      if (n <= nodes_per_leaf) continue;
      std::map<std::uint32_t, double> out;
      for (std::uint32_t r = 0; r < n; ++r) {
        for (std::uint32_t o = 1; o < n; ++o) {
          const std::uint32_t from = (r + (o & (o - 1))) % n / nodes_per_leaf, to = (r + o) % n / nodes_per_leaf;
          if (from != to) out[from] += 1;
        }
      }
      double most = 0;
      for (const auto& [leaf, chunks] : out) most = std::max(most, chunks);
      const double capacity = nodes_per_leaf * 8 * 24e9 / 5;
      const topology::GroupFacts f = facts_of_first_gpus(fat_tree(n, nodes_per_leaf, 5));
      EXPECT_NEAR((n - 1) / f.uplink_limits[static_cast<std::size_t>(Traffic::doubling)].value() / (most / capacity), 1,
                  1e-9)
          << n << " nodes, leaves of " << nodes_per_leaf;
    }
  }
}

// Prices by hand.

constexpr double k256MiB = 256.0 * 1024 * 1024;

TEST(Uplinks, AnAllToAllOverTwoLeavesAtTwoToOneDoesNotDouble) {
  // 8 nodes under two leaves: 4 of 7 parts cross half of the bandwidth. 256 MiB: 56/64 over 8 x 24 GB/s a node at the
  // share that exchanges reach; x 8/7 of the wire time.
  const AnalyticModel free(CollectiveKind::all_to_all, facts_of_job(fat_tree(8, 4, 1)), {});
  const AnalyticModel narrow(CollectiveKind::all_to_all, facts_of_job(fat_tree(8, 4, 2)), {});
  const Candidate &wide = *free.choice(k256MiB).candidate, &thin = *narrow.choice(k256MiB).candidate;
  EXPECT_EQ(wide.limit, "network");
  EXPECT_EQ(thin.limit, "uplinks");
  EXPECT_NEAR(wide.gbps / thin.gbps, 8.0 / 7, 1e-9);
  EXPECT_NEAR(narrow.time_us(k256MiB) / free.time_us(k256MiB), 8.0 / 7, 0.02);
  // One node under each leaf: everything crosses, and it does double.
  EXPECT_NEAR(time_us(CollectiveKind::all_to_all, fat_tree(2, 1, 2), k256MiB) /
                  time_us(CollectiveKind::all_to_all, fat_tree(2, 1, 1), k256MiB),
              2, 0.1);
}

TEST(Uplinks, ARingCrossesEachLeafOnce) {
  Selection ring;
  ring.algorithms = 1u << index_of(*algorithms()[0]);
  ASSERT_EQ(algorithms()[0]->name, "ring");
  const LaunchMode mode{false, false, ring};
  const double free = time_us(CollectiveKind::all_reduce, fat_tree(8, 4, 1), k256MiB, mode);
  EXPECT_EQ(time_us(CollectiveKind::all_reduce, fat_tree(8, 4, 2), k256MiB, mode), free);
  EXPECT_EQ(time_us(CollectiveKind::all_reduce, fat_tree(8, 4, 4), k256MiB, mode), free);
  // At 8:1 the uplinks of 4 nodes carry half of what one sends, at 16:1 a quarter.
  const auto rate = [&mode](double oversubscription) {
    const AnalyticModel model(CollectiveKind::all_reduce, facts_of_job(fat_tree(8, 4, oversubscription)), mode);
    const Candidate& simple = model.candidates().back();
    EXPECT_EQ(simple.protocol, Protocol::simple);
    EXPECT_EQ(simple.limit, "uplinks");
    return simple.gbps;
  };
  const double share = shipped_constants().ring_net_share;
  EXPECT_NEAR(rate(8), share * 96 * 64 / 126, 1e-9);
  EXPECT_NEAR(rate(16), share * 48 * 64 / 126, 1e-9);
  EXPECT_EQ(time_us(CollectiveKind::all_reduce, fat_tree(16, 8, 8), k256MiB, mode),
            time_us(CollectiveKind::all_reduce, fat_tree(16, 8, 1), k256MiB, mode));
}

TEST(Uplinks, LeavesOfFourAndOfEightHaveDifferentPrices) {
  const double four = time_us(CollectiveKind::all_to_all, fat_tree(16, 4, 3), k256MiB),
               eight = time_us(CollectiveKind::all_to_all, fat_tree(16, 8, 3), k256MiB),
               free = time_us(CollectiveKind::all_to_all, fat_tree(16, 16, 3), k256MiB);
  EXPECT_NEAR(four / free, 12.0 / 15 * 3, 0.05);  // what one of a leaf's nodes sends to others, over a third
  EXPECT_NEAR(eight / free, 8.0 / 15 * 3, 0.05);
}

TEST(Uplinks, ACurveHoldsWhereTheUplinksAreWideEnough) {
  // Measured without oversubscription, on the shipped system: 2:1 leaves an all_reduce as it was.
  topology::ClusterSpec s = read_config("systems/dgx_a100_80gb.yaml", topology::cluster_schema());
  s.nodes = 4;
  s.fabric.nodes_per_leaf = 2;
  const auto cost = [](const topology::ClusterSpec& spec, CollectiveKind kind) {
    const topology::Topology t = topology::Topology::build(spec, 80).value();
    CollectiveOptions options;
    options.curve_dirs = {test::config("curves")};
    return models_of(t, options).price(op_of(kind, 1 << 28), t.facts(first_ranks(t.ranks()))).value();
  };
  const graph::Cost free = cost(s, CollectiveKind::all_reduce), exchange = cost(s, CollectiveKind::all_to_all);
  s.fabric.oversubscription = 2;
  EXPECT_EQ(cost(s, CollectiveKind::all_reduce).mean, free.mean);
  EXPECT_EQ(cost(s, CollectiveKind::all_reduce).basis, free.basis);
  EXPECT_GT(cost(s, CollectiveKind::all_to_all).mean, exchange.mean);
  EXPECT_LT(cost(s, CollectiveKind::all_to_all).mean, exchange.mean * 2);
}

// Laws: better hardware is never slower, for every kind and fabric.

class EveryKind : public testing::TestWithParam<CollectiveKind> {
 protected:
  static constexpr double kSizes[] = {8, 4096, 1 << 20, 1 << 28};

  /// A random cluster: any fabric with uplinks, one to forty nodes, leaves, pods, ratios and NICs of all sizes.
  static topology::ClusterSpec random_cluster(std::mt19937& random) {
    const auto pick = [&random](std::int64_t least, std::int64_t most) {
      return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    topology::ClusterSpec s = fat_tree(pick(2, 40), pick(1, 9), static_cast<double>(pick(4, 40)) / 4);
    const auto shapes = topology::fabric_shapes();
    do {
      s.fabric.shape = shapes[static_cast<std::size_t>(pick(0, std::ssize(shapes) - 1))];
    } while (!s.fabric.shape->uplinks);
    s.fabric.leaves_per_pod = pick(1, 5);
    s.fabric.spine_oversubscription = static_cast<double>(pick(4, 20)) / 4;
    s.nic.count = std::int64_t{1} << pick(0, 3);
    s.gpu_links.multicast = pick(0, 1) == 1;
    s.fabric.sharp = pick(0, 3) == 0;
    return s;
  }
  static AnalyticModel model_of(const topology::ClusterSpec& s, bool first_gpus) {
    return AnalyticModel(GetParam(), first_gpus ? facts_of_first_gpus(s) : facts_of_job(s), {});
  }
  /// Each change of a random cluster that cannot make anything slower.
  static std::vector<std::pair<const char*, topology::ClusterSpec>> better(const topology::ClusterSpec& s) {
    std::vector<std::pair<const char*, topology::ClusterSpec>> out;
    const auto add = [&](const char* what, auto change) {
      out.emplace_back(what, s);
      change(out.back().second);
    };
    add("less oversubscription", [](auto& c) { c.fabric.oversubscription = 1 + (c.fabric.oversubscription - 1) / 2; });
    add("no oversubscription", [](auto& c) { c.fabric.oversubscription = 1; });
    add("wider spines", [](auto& c) { c.fabric.spine_oversubscription = 1; });
    add("leaves of twice the nodes", [](auto& c) { c.fabric.nodes_per_leaf *= 2; });
    add("one leaf", [](auto& c) { c.fabric.nodes_per_leaf *= 40; });
    add("pods of twice the leaves", [](auto& c) { c.fabric.leaves_per_pod *= 2; });
    add("faster NICs", [](auto& c) { c.nic.bandwidth = c.nic.bandwidth * 1.01; });
    add("NICs of twice the rate", [](auto& c) { c.nic.bandwidth = c.nic.bandwidth * 2; });
    if (s.nic.count < 8) add("twice the NICs", [](auto& c) { c.nic.count *= 2; });
    add("lower latency", [](auto& c) { c.nic.latency = Duration::nanoseconds(1500); });
    add("faster switches", [](auto& c) { c.fabric.switch_latency = Duration::nanoseconds(100); });
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, EveryKind,
                         testing::Values(CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                         CollectiveKind::reduce_scatter, CollectiveKind::all_to_all,
                                         CollectiveKind::broadcast, CollectiveKind::reduce, CollectiveKind::gather,
                                         CollectiveKind::send_recv),
                         [](const auto& p) { return std::string(graph::name_of(p.param)); });

TEST_P(EveryKind, IsNeverSlowerOnABetterFabric) {
  std::mt19937 random(13);
  for (int i = 0; i < 60; ++i) {
    const topology::ClusterSpec s = random_cluster(random);
    for (const bool first_gpus : {false, true}) {
      const AnalyticModel model = model_of(s, first_gpus);
      for (const auto& [what, improved] : better(s)) {
        const AnalyticModel faster = model_of(improved, first_gpus);
        for (const double bytes : kSizes) {
          EXPECT_LE(faster.time_us(bytes), model.time_us(bytes) * (1 + 1e-9))
              << what << ", " << bytes << " bytes: " << s.fabric.shape->name << ", " << s.nodes << " nodes, leaves of "
              << s.fabric.nodes_per_leaf << ", pods of " << s.fabric.leaves_per_pod << ", " << s.fabric.oversubscription
              << ":1 and " << s.fabric.spine_oversubscription << ":1, " << s.nic.count << " NICs"
              << (first_gpus ? ", one GPU a node" : "");
        }
      }
    }
  }
}

TEST_P(EveryKind, IsNeverSlowerThanByTheRatio) {
  std::mt19937 random(31);
  for (int i = 0; i < 60; ++i) {
    topology::ClusterSpec s = random_cluster(random);
    if (s.fabric.shape->direct) continue;
    const double most = s.fabric.oversubscription * s.fabric.spine_oversubscription;
    const double narrow = model_of(s, false).time_us(1 << 28);
    s.fabric.oversubscription = s.fabric.spine_oversubscription = 1;
    EXPECT_LE(narrow, model_of(s, false).time_us(1 << 28) * most * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace distsim::collectives
