#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "collective_fixture.hpp"
#include "collectives/cost_table.hpp"

namespace distsim::collectives {
namespace {

TEST(BusFactor, AsNcclTestsDefinesIt) {
  EXPECT_DOUBLE_EQ(graph::busbw_factor(graph::CollectiveKind::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(graph::busbw_factor(graph::CollectiveKind::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(graph::busbw_factor(graph::CollectiveKind::reduce_scatter, 16), 0.9375);
  EXPECT_DOUBLE_EQ(graph::busbw_factor(graph::CollectiveKind::all_to_all, 4), 0.75);
  EXPECT_DOUBLE_EQ(graph::busbw_factor(graph::CollectiveKind::broadcast, 64), 1);
  EXPECT_DOUBLE_EQ(graph::busbw_factor(graph::CollectiveKind::send_recv, 2), 1);
}

class Models : public testing::Test {
 protected:
  topology::Topology topology = a100_cluster(4);
  CollectiveModels models = models_of(topology);
  graph::Cost price(graph::CollectiveKind kind, std::int64_t bytes, std::uint32_t ranks = 32) {
    auto c = models.price(op_of(kind, bytes), topology.facts(first_ranks(ranks)));
    EXPECT_TRUE(c.ok()) << c.error().text();
    return *c;
  }
};

TEST_F(Models, NothingToSendIsAKernel) {
  for (graph::CollectiveKind kind : kAllKinds) {
    if (kind == graph::CollectiveKind::barrier) continue;
    EXPECT_EQ(price(kind, 0).mean.us(), 2) << graph::name_of(kind);
    EXPECT_EQ(price(kind, 1 << 20, 1).mean.us(), 2) << graph::name_of(kind) << " of one rank";
  }
  EXPECT_GT(price(graph::CollectiveKind::barrier, 0).mean.us(), 5) << "a barrier waits for messages";
}

TEST_F(Models, NeverCheaperToSendMore) {
  for (graph::CollectiveKind kind : kAllKinds) {
    for (std::uint32_t ranks : {2u, 7u, 8u, 16u, 31u, 32u}) {
      Duration previous;
      for (std::int64_t bytes = 1; bytes < (std::int64_t{1} << 40); bytes += 1 + bytes / 3) {
        const graph::Cost c = price(kind, bytes, ranks);
        EXPECT_GE(c.mean, previous) << graph::name_of(kind) << " " << ranks << " ranks, " << bytes << " bytes";
        EXPECT_LE(c.low, c.mean);
        EXPECT_LE(c.mean, c.high);
        EXPECT_EQ(c.basis, graph::Basis::analytic);
        previous = c.mean;
      }
    }
  }
}

TEST_F(Models, MoreNodesAreNotFaster) {
  for (std::int64_t bytes : {std::int64_t{8}, std::int64_t{1} << 20, std::int64_t{1} << 28}) {
    EXPECT_LT(price(graph::CollectiveKind::all_reduce, bytes, 16).mean,
              price(graph::CollectiveKind::all_reduce, bytes, 32).mean)
        << bytes;
    EXPECT_LT(price(graph::CollectiveKind::all_to_all, bytes, 8).mean,
              price(graph::CollectiveKind::all_to_all, bytes, 16).mean)
        << bytes;
  }
}

TEST_F(Models, AMessageBetweenNodesIsBoundByTheAdapter) {
  // One GPU a node has no NVLink to its partner: what counts is the network, of which a pair among others has one
  // adapter of 200 Gb/s, as eight GPUs a node have.
  const std::uint32_t pair[] = {0, 8};
  for (const topology::Siblings siblings : {topology::Siblings::idle, topology::Siblings::active}) {
    const auto c = models.price(op_of(graph::CollectiveKind::send_recv, 1 << 28), topology.facts(pair, siblings));
    ASSERT_TRUE(c.ok()) << c.error().text();
    const double rate = (1 << 28) / c->mean.seconds() * 1e-9;
    EXPECT_GT(rate, 15);
    EXPECT_LT(rate, siblings == topology::Siblings::active ? 25 : 200);
  }
}

/// Launching in half the time saves at most half of a small collective and nothing that is seen of a large one, with
/// curves and without; launching in no time leaves the way over the links.
TEST_F(Models, LaunchingFasterSavesLatencyOnly) {
  const topology::Topology shipped =
      *topology::Topology::build(read_config("systems/dgx_a100_80gb.yaml", topology::cluster_schema()), 80);
  for (const bool curves : {false, true}) {
    const auto us = [&](double scale, graph::CollectiveKind kind, std::int64_t bytes) {
      CollectiveOptions options;
      options.use_curves = curves;
      options.curve_dirs = {test::config("curves")};
      options.launch_scale = scale;
      return models_of(shipped, options).price(op_of(kind, bytes), shipped.facts(first_ranks(8)))->mean.us();
    };
    for (const graph::CollectiveKind kind : {graph::CollectiveKind::all_reduce, graph::CollectiveKind::all_to_all,
                                             graph::CollectiveKind::all_gather, graph::CollectiveKind::send_recv}) {
      const double small = us(1, kind, 1024), large = us(1, kind, 1 << 30);
      EXPECT_LT(us(0.5, kind, 1024), 0.95 * small) << graph::name_of(kind) << curves;
      EXPECT_GE(us(0.5, kind, 1024), 0.5 * small) << graph::name_of(kind) << curves;
      EXPECT_GT(us(2, kind, 1024), 1.05 * small) << graph::name_of(kind) << curves;
      EXPECT_NEAR(us(0.5, kind, 1 << 30) / large, 1, 0.01) << graph::name_of(kind) << curves;
      EXPECT_GT(us(0, kind, 1024), 0) << graph::name_of(kind) << curves;
    }
  }
}

TEST_F(Models, UnevenExchangeIsPricedByItsMostLoadedRank) {
  // Uniform: each of 32 ranks exchanges 31/32 of its buffer with the others. Given as vectors it must cost the same.
  const std::int64_t buffer = 32 << 20;
  graph::Collective uniform = op_of(graph::CollectiveKind::all_to_all_v, buffer);
  uniform.send_bytes.assign(32, buffer / 32 * 31);
  uniform.recv_bytes = uniform.send_bytes;
  const topology::GroupFacts facts = topology.facts(first_ranks(32));
  EXPECT_EQ(models.price(uniform, facts)->mean, price(graph::CollectiveKind::all_to_all, buffer).mean);
  // One rank that receives four times as much makes all wait as long as if all did.
  graph::Collective skewed = uniform;
  skewed.recv_bytes[5] *= 4;
  EXPECT_EQ(models.price(skewed, facts)->mean, price(graph::CollectiveKind::all_to_all, 4 * buffer).mean);
  skewed = uniform;
  skewed.send_bytes[31] *= 4;
  EXPECT_EQ(models.price(skewed, facts)->mean, price(graph::CollectiveKind::all_to_all, 4 * buffer).mean);
}

TEST_F(Models, RefusesWhatCannotBe) {
  const topology::GroupFacts facts = topology.facts(first_ranks(32));
  EXPECT_FALSE(models.price(op_of(graph::CollectiveKind::all_reduce, -1), facts).ok());
  graph::Collective wrong = op_of(graph::CollectiveKind::all_to_all_v, 100);
  wrong.send_bytes.assign(31, 1);
  auto r = models.price(wrong, facts);
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().text().find("send_bytes: found 31 entries, expected one for each of 32 ranks"), std::string::npos)
      << r.error().text();
  wrong.send_bytes.assign(32, -5);
  EXPECT_FALSE(models.price(wrong, facts).ok());
}

TEST_F(Models, TheLargestNumberOfBytesIsRefusedOrFinite) {
  for (graph::CollectiveKind kind : kAllKinds) {
    auto c = models.price(op_of(kind, std::numeric_limits<std::int64_t>::max()), topology.facts(first_ranks(32)));
    if (c.ok()) {
      EXPECT_GT(c->mean.ps(), 0) << graph::name_of(kind);
    } else {
      EXPECT_NE(c.error().text().find("9223372036854775807"), std::string::npos) << c.error().text();
    }
  }
}

TEST_F(Models, TheSameFromRunToRunAndFromThreadToThread) {
  const CollectiveModels other = models_of(topology);
  std::vector<std::int64_t> a(200), b(200);
  const auto fill = [&](std::vector<std::int64_t>& out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint32_t ranks = 2 + static_cast<std::uint32_t>(i % 31);
      out[i] = other
                   .price(op_of(kAllKinds[i % 11], 1 + static_cast<std::int64_t>(i * i * 1000)),
                          topology.facts(first_ranks(ranks)))
                   ->mean.ps();
    }
  };
  std::thread one([&] { fill(a); }), two([&] { fill(b); });
  one.join();
  two.join();
  EXPECT_EQ(a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint32_t ranks = 2 + static_cast<std::uint32_t>(i % 31);
    EXPECT_EQ(a[i], price(kAllKinds[i % 11], 1 + static_cast<std::int64_t>(i * i * 1000), ranks).mean.ps());
  }
}

TEST_F(Models, ExplainNamesTheChosenAndTheRunnersUp) {
  const std::string text =
      models.explain(op_of(graph::CollectiveKind::all_reduce, 1 << 26), topology.facts(first_ranks(32)));
  EXPECT_NE(text.find("<- chosen"), std::string::npos) << text;
  EXPECT_NE(text.find("tree"), std::string::npos);
  EXPECT_NE(text.find("bottleneck: NIC"), std::string::npos) << text;
}

/// Labels, libraries and names of logs may hold anything; a line of an explanation or a table is one line.
TEST(Explain, ForeignTextOfCurvesIsPrintable) {
  const topology::Topology t = a100_cluster(2);
  const std::vector<std::int64_t> bytes{1048576};
  for (const char* what : {"label", "library"}) {
    CollectiveOptions options;
    options.curve_files = {
        file_with("foreign.curve.txtpb",
                  "version: 1 system: \"test_a100\" hardware: \"H\\033[31m\"\n"
                  "curves { kind: \"all_reduce\" ranks: 16 nodes: 2 launch: \"mpi\" " +
                      std::string(what) +
                      ": \"L\\033[31m\\033]0;t\\007\\302\\233X\\rY\\nprice: 1 us, forged\"\n"
                      "  points { bytes: 1024 time_us: 50 } points { bytes: 1048576 time_us: 150 }\n}\n")};
    const auto table = collective_cost_table(
        t, models_of(t, options),
        {.kind = graph::CollectiveKind::all_reduce, .nodes = 2, .gpus_per_node = 8, .bytes = bytes, .explain = true});
    ASSERT_TRUE(table.ok()) << table.error().text();
    for (const char c : table->text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c != 0x7f)) << what << table->text;
    EXPECT_EQ(table->text.find("\nprice"), std::string::npos) << table->text;
    EXPECT_EQ(table->text.find("\n# price: 1 us"), std::string::npos) << table->text;
    EXPECT_NE(table->text.find("\\x1b[31m"), std::string::npos) << table->text;
  }
}

TEST(Explain, SaysThatNcclGoesPastAnInterconnectThatItsNicsBeat) {
  topology::ClusterSpec spec = read_config("systems/pcie_rtx6000d.yaml", topology::cluster_schema());
  const auto header = [&] {
    spec.nodes = 2;
    const topology::Topology t = *topology::Topology::build(spec, 120);
    const std::string text =
        models_of(t).explain(op_of(graph::CollectiveKind::all_to_all, 1 << 20), t.facts(first_ranks(16)));
    return text.substr(0, text.find('\n'));
  };
  EXPECT_NE(header().find("bottleneck: CPU interconnect 22 GB/s, which NCCL goes past over the NICs"),
            std::string::npos)
      << header();
  spec.pcie.cpu_interconnect = BytesPerSecond(500e9);
  spec.pcie.bandwidth = BytesPerSecond(500e9);
  EXPECT_EQ(header().find("past"), std::string::npos) << header();
}

TEST_F(Models, TableKeepsThePlaceOfASizeThatCannotBePriced) {
  const std::vector<std::int64_t> bytes{1 << 20, -1, std::numeric_limits<std::int64_t>::max()};
  auto table = collective_cost_table(topology, models, {graph::CollectiveKind::all_reduce, 2, 8, bytes});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->text.substr(0, table->text.find('\n')),
            "kind,nodes,gpus,bytes,predicted_us,low_us,high_us,algbw_GBps,busbw_GBps,basis,source");
  EXPECT_NE(table->text.find("\nall_reduce,2,16,-1,,,,,,"), std::string::npos) << table->text;
  EXPECT_EQ(std::count(table->text.begin(), table->text.end(), '\n'), 4);
  EXPECT_EQ(table->unpriced, 2u);
  EXPECT_FALSE(collective_cost_table(topology, models, {graph::CollectiveKind::all_reduce, 5, 8, bytes}).ok())
      << "only 4 nodes";
}

TEST_F(Models, TableGivesABarrierNoBandwidth) {
  const std::vector<std::int64_t> bytes{8};
  auto table = collective_cost_table(topology, models, {graph::CollectiveKind::barrier, 2, 8, bytes});
  ASSERT_TRUE(table.ok());
  EXPECT_GT(table->rows[0].cost.mean.us(), 0);
  EXPECT_EQ(table->rows[0].algbw_GBps, 0);
  EXPECT_NE(table->text.find(",,,analytic"), std::string::npos) << table->text;
}

}  // namespace
}  // namespace distsim::collectives
