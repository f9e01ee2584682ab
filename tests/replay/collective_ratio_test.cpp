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

/// How much longer the first all-reduce takes with `nics` than with 8.
double times_longer(const traces::TraceJob& job, std::int64_t nics) {
  const Network from(8), to(nics);
  CollectiveRatio ratio(job, from.view(), to.view(), {16, 16, 1});
  const auto scaled = ratio.scaled(job.ranks[0].collectives[0], 3'000'000'000, true);
  EXPECT_TRUE(scaled.ok());
  return static_cast<double>(*scaled) / 3e9;
}

TEST(CollectiveRatio, PairsShareTheAdaptersOfANode) {
  const traces::TraceJob all = job_of_pairs(8, 16);
  EXPECT_EQ(times_longer(all, 8), 1);
  EXPECT_NEAR(times_longer(all, 1), 8, 0.5);
  EXPECT_NEAR(times_longer(all, 4), 2, 0.2);
}

TEST(CollectiveRatio, RanksThatWereNotReadDoTheSame) { EXPECT_NEAR(times_longer(job_of_pairs(1, 1), 1), 8, 0.5); }

/// All 16 ranks were read, and one pair communicates.
TEST(CollectiveRatio, APairAloneHasAllAdapters) { EXPECT_EQ(times_longer(job_of_pairs(1, 16), 1), 1); }

}  // namespace
}  // namespace distsim::replay
