// Collectives of a trace on another network, with what runs beside them.
#include "sim/replay/whatif/collective_ratio.hpp"

#include <gtest/gtest.h>

namespace distsim::replay {
namespace {

topology::Topology two_nodes(std::int64_t nics) {
  topology::ClusterSpec s;
  s.name = "test_a100";
  s.nodes = 2;
  s.gpus_per_node = 8;
  s.device = "a100_sxm4_40gb";
  s.gpu_links.links_per_gpu = 12;
  s.gpu_links.bandwidth_per_link = BytesPerSecond(25e9);
  s.gpu_links.switches = 6;
  s.nic.count = nics;
  s.nic.bandwidth = BytesPerSecond(25e9);
  auto t = topology::Topology::build(s, 80);
  EXPECT_TRUE(t.ok()) << (t.ok() ? "" : t.error().text());
  return *t;
}

struct Network {
  explicit Network(std::int64_t nics) : topology(two_nodes(nics)) {
    collectives::CollectiveOptions options;
    options.use_curves = false;
    auto m = collectives::CollectiveModels::create(topology, options);
    EXPECT_TRUE(m.ok()) << (m.ok() ? "" : m.error().text());
    models = std::make_unique<collectives::CollectiveModels>(*m);
  }
  ReplayNetwork view() const { return {&topology, models.get()}; }
  topology::Topology topology;
  std::unique_ptr<collectives::CollectiveModels> models;
};

/// Pairs [i, i + 8] of the job's 16 ranks all-reduce 64 MiB; `pairs` of them, and only they, are in the traces.
traces::TraceJob job_of_pairs(std::uint32_t pairs, std::uint32_t traced_ranks) {
  traces::TraceJob job;
  job.world_size = 16;
  for (std::uint32_t i = 0; i < pairs; ++i) job.groups.push_back({"dp" + std::to_string(i), "", {i, i + 8}, 2});
  for (std::uint32_t r = 0; r < traced_ranks; ++r) {
    traces::TraceRank rank;
    rank.rank = r;
    if (r % 8 < pairs) {
      traces::TraceCollective c;
      c.kind_known = true;
      c.bytes = std::int64_t{64} << 20;
      c.group = r % 8;
      rank.collectives.push_back(c);
    }
    job.ranks.push_back(rank);
  }
  return job;
}

/// The same job with a group of these ranks, which all-reduce as well.
traces::TraceJob with_group(traces::TraceJob job, const std::vector<std::uint32_t>& ranks) {
  traces::TraceCollective c;
  c.kind_known = true;
  c.bytes = std::int64_t{1} << 20;
  c.group = static_cast<std::uint32_t>(job.groups.size());
  for (const std::uint32_t r : ranks) job.ranks.at(r).collectives.push_back(c);
  job.groups.push_back({"more" + std::to_string(c.group), "", ranks, static_cast<std::uint32_t>(ranks.size())});
  return job;
}

/// The same job without its lists of ranks.
traces::TraceJob unlisted(traces::TraceJob job) {
  for (traces::TraceGroup& group : job.groups) group.ranks.clear();
  return job;
}

struct Longer {
  double times;
  std::uint64_t guessed_groups;
};

/// How much longer the first all-reduce takes with `nics` than with 8.
Longer longer(const traces::TraceJob& job, std::int64_t nics) {
  const Network from(8), to(nics);
  CollectiveRatio ratio(job, from.view(), to.view(), {16, 16, 1});
  const auto scaled = ratio.scaled(job.ranks[0].collectives[0], 3'000'000'000, true);
  EXPECT_TRUE(scaled.ok());
  return {static_cast<double>(*scaled) / 3e9, ratio.guessed_groups()};
}

double times_longer(const traces::TraceJob& job, std::int64_t nics) { return longer(job, nics).times; }

TEST(CollectiveRatio, PairsShareTheAdaptersOfANode) {
  const traces::TraceJob all = job_of_pairs(8, 16);
  EXPECT_EQ(times_longer(all, 8), 1);
  EXPECT_NEAR(times_longer(all, 1), 8, 0.5);
  EXPECT_NEAR(times_longer(all, 4), 2, 0.2);
}

TEST(CollectiveRatio, RanksThatWereNotReadDoTheSame) { EXPECT_NEAR(times_longer(job_of_pairs(1, 1), 1), 8, 0.5); }

/// All 16 ranks were read, and one pair communicates.
TEST(CollectiveRatio, APairAloneHasAllAdapters) { EXPECT_EQ(times_longer(job_of_pairs(1, 16), 1), 1); }

/// Groups within the nodes use no adapter.
TEST(CollectiveRatio, GroupsInsideTheNodesAreNoCompanyOfAPairAcross) {
  for (const auto& inside : {std::vector<std::uint32_t>{4, 5, 6, 7}, std::vector<std::uint32_t>{2, 3}})
    EXPECT_EQ(times_longer(with_group(job_of_pairs(1, 16), inside), 1), 1);
}

TEST(CollectiveRatio, PairsShareAnAdapterWithAsManyAsUseIt) {
  const traces::TraceJob neighbours = job_of_pairs(2, 16), apart = with_group(job_of_pairs(1, 16), {7, 15});
  EXPECT_NEAR(times_longer(neighbours, 1), 2, 0.1);
  EXPECT_NEAR(times_longer(apart, 1), 2, 0.1);
  EXPECT_EQ(times_longer(apart, 4), 1) << "each has one of its own";
}

/// It moves nothing, so that it needs no size.
TEST(CollectiveRatio, ABarrierIsScaledWithoutASize) {
  traces::TraceJob job = job_of_pairs(8, 16);
  job.ranks[0].collectives[0].kind = graph::CollectiveKind::barrier;
  job.ranks[0].collectives[0].bytes = -1;
  const Network from(8), to(8);
  CollectiveRatio ratio(job, from.view(), to.view(), {16, 16, 1});
  const auto scaled = ratio.scaled(job.ranks[0].collectives[0], 30'000'000, true);
  ASSERT_TRUE(scaled.ok());
  EXPECT_EQ(*scaled, 30'000'000);
  EXPECT_EQ(ratio.by_ratio(), 1u);
  EXPECT_EQ(ratio.of_no_size(), 0u);
}

TEST(CollectiveRatio, MoreAdaptersAreNeverSlower) {
  for (std::uint32_t pairs = 1; pairs <= 8; ++pairs) {
    const traces::TraceJob job = job_of_pairs(pairs, 16);
    EXPECT_EQ(times_longer(job, 8), 1);
    double before = times_longer(job, 1);
    for (const std::int64_t nics : {2, 4, 8}) {
      const double now = times_longer(job, nics);
      EXPECT_LE(now, before) << pairs << " pairs, " << nics << " adapters";
      before = now;
    }
  }
}

TEST(CollectiveRatio, RanksOfAGroupThatListsNoneAreThoseReadInIt) {
  for (const std::uint32_t pairs : {1u, 2u, 8u}) {
    const Longer open = longer(unlisted(job_of_pairs(pairs, 16)), 1);
    EXPECT_EQ(open.times, times_longer(job_of_pairs(pairs, 16), 1)) << pairs;
    EXPECT_EQ(open.guessed_groups, 0u);
  }
}

/// Ranks 0 and 8 name the group as all other pairs do, and match.
TEST(CollectiveRatio, RanksThatMatchedAreAGroup) {
  traces::TraceJob job = unlisted(job_of_pairs(8, 16));
  for (traces::TraceRank& rank : job.ranks) rank.collectives[0].group = 0;
  EXPECT_EQ(longer(job, 1).guessed_groups, 1u);
  job.matches.push_back({graph::CollectiveKind::all_reduce, 0, {{0, 0}, {8, 0}}});
  job.ranks[0].collectives[0].match = 0;
  EXPECT_EQ(longer(job, 1).guessed_groups, 0u);
  EXPECT_EQ(times_longer(job, 1), times_longer(job_of_pairs(8, 16), 1));
}

TEST(CollectiveRatio, MembersThatAreNotKnownAreCountedAsNeighbours) {
  EXPECT_EQ(longer(job_of_pairs(1, 1), 1).guessed_groups, 0u);
  const Longer open = longer(unlisted(job_of_pairs(1, 1)), 1);
  EXPECT_EQ(open.guessed_groups, 1u);
  EXPECT_EQ(open.times, 1) << "neighbours are of one node";
}

TEST(CollectiveRatio, ARankThatIsListedTwiceCountsOnce) {
  traces::TraceJob job = job_of_pairs(1, 16);
  job.groups[0].ranks = {0, 8, 8};
  EXPECT_EQ(times_longer(job, 1), 1);
}

/// The first all-reduce, of no recorded size, after `ps` on `ranks` ranks, moved to one adapter.
struct OfNoSize {
  std::int64_t after;
  std::uint64_t inferred, of_no_size, of_unknown_ranks;
};
OfNoSize moved_without_size(const traces::TraceJob& job, std::uint32_t ranks, std::int64_t ps) {
  traces::TraceCollective collective = job.ranks[0].collectives[0];
  collective.bytes = -1;
  const Network from(8), to(1);
  CollectiveRatio ratio(job, from.view(), to.view(), {ranks, 16, 1});
  const auto scaled = ratio.scaled(collective, ps, false);
  EXPECT_TRUE(scaled.ok());
  return {*scaled, ratio.inferred(), ratio.of_no_size(), ratio.of_unknown_ranks()};
}

/// 64 GiB would be the bound of the search, not a size.
TEST(CollectiveRatio, ATimeThatNoSizeTakesIsKept) {
  constexpr std::int64_t kSecond = 1'000'000'000'000;
  const OfNoSize usual = moved_without_size(job_of_pairs(8, 16), 16, kSecond / 1000);
  EXPECT_EQ(usual.inferred, 1u);
  EXPECT_GT(usual.after, 2 * kSecond / 1000);
  const OfNoSize endless = moved_without_size(job_of_pairs(8, 16), 16, 1000 * kSecond);
  EXPECT_EQ(endless.after, 1000 * kSecond);
  EXPECT_EQ(endless.of_no_size, 1u);
  EXPECT_EQ(endless.inferred, 0u);
  const OfNoSize instant = moved_without_size(job_of_pairs(8, 16), 16, 1000);
  EXPECT_EQ(instant.inferred, 1u) << "as small as can be";
}

/// One rank was read, of a job and a group that do not say how many there are.
TEST(CollectiveRatio, ACollectiveOfOneRankHasNoSize) {
  constexpr std::int64_t kTime = 60'000'000;
  traces::TraceJob job = job_of_pairs(1, 1);
  job.groups[0] = {"", "", {}, 0};
  const OfNoSize stated = moved_without_size(job, 1, kTime);  // a job of 16
  job.world_size = 1;
  const OfNoSize alone = moved_without_size(job, 1, kTime);
  EXPECT_EQ(alone.after, kTime);
  EXPECT_EQ(alone.of_no_size, 1u);
  job.world_size = 0;
  const OfNoSize unknown = moved_without_size(job, 1, kTime);
  EXPECT_EQ(unknown.after, kTime);
  EXPECT_EQ(unknown.of_unknown_ranks, 1u);
  EXPECT_EQ(stated.of_unknown_ranks, 0u);
}

}  // namespace
}  // namespace distsim::replay
