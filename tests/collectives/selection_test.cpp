// NCCL_ALGO, NCCL_PROTO and the two ways to exchange.
#include <gtest/gtest.h>

#include "choice_keys.hpp"
#include "collective_fixture.hpp"
#include "collectives/pricer.hpp"
#include "collectives/selection.hpp"

namespace distsim::collectives {
namespace {

topology::GroupFacts facts_of_group(std::uint32_t nodes, std::uint32_t per_node = 8) {
  const topology::Topology t = a100_cluster(nodes);
  std::vector<std::uint32_t> members;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    for (std::uint32_t i = 0; i < per_node; ++i) members.push_back(8 * node + i);
  }
  return t.facts(members);
}

const AlgorithmInfo* named(std::string_view word) {
  const auto a = read_word("algorithms", word, nccl_algorithm_words());
  EXPECT_TRUE(a.ok());
  return *a;
}

Selection chosen_by(const CollectiveOptions& options) { return selection_of(options); }

TEST(Selection, LeavesWhatIsNamed) {
  CollectiveOptions options;
  options.algorithms = {named("Tree")};
  options.protocols = {Protocol::ll, Protocol::simple};
  const AnalyticModel model(graph::CollectiveKind::all_reduce, facts_of_group(4), {false, false, chosen_by(options)});
  ASSERT_EQ(model.candidates().size(), 2u);
  for (const Candidate& c : model.candidates()) {
    EXPECT_EQ(c.algorithm->name, "tree");
    EXPECT_NE(c.protocol, Protocol::ll128);
  }
  // all_gather knows no tree and keeps its rings; send/recv has no algorithm at all.
  EXPECT_GE(AnalyticModel(graph::CollectiveKind::all_gather, facts_of_group(4), {false, false, chosen_by(options)})
                .candidates()
                .size(),
            2u);
  EXPECT_EQ(AnalyticModel(graph::CollectiveKind::all_to_all, facts_of_group(4), {false, false, chosen_by(options)})
                .time_us(1e6),
            AnalyticModel(graph::CollectiveKind::all_to_all, facts_of_group(4), {}).time_us(1e6));
}

TEST(Selection, CannotBeFasterThanTheFreeChoice) {
  for (const char* word : {"Ring", "Tree"}) {
    CollectiveOptions options;
    options.algorithms = {named(word)};
    const AnalyticModel forced(graph::CollectiveKind::all_reduce, facts_of_group(8),
                               {false, false, chosen_by(options)}),
        free(graph::CollectiveKind::all_reduce, facts_of_group(8), {});
    for (double bytes = 8; bytes < 1e10; bytes *= 4)
      EXPECT_GE(forced.time_us(bytes), free.time_us(bytes)) << word << " " << bytes;
  }
}

TEST(Selection, MisspeltWordsAreRefused) {
  EXPECT_EQ(test::expect_misspellings_refused(collective_schema()), 5);
  const auto refusal = [](const std::string& text) { return test::refusal_of(collective_schema(), text); };
  EXPECT_EQ(refusal("{algorithms: [Ring, NVLSTree], protocols: [LL128], exchange: rdma}"), "");
  const std::string ring = refusal("{algorithms: [Tree, ring]}");  // one spelling, that of NCCL
  EXPECT_NE(ring.find("x.yaml:1:21: collectives.algorithms[1]: found 'ring', expected one of Ring, Tree"),
            std::string::npos)
      << ring;
  EXPECT_NE(ring.find("did you mean 'Ring'?"), std::string::npos) << ring;
  const std::string far = refusal("{algorithms: [Foo]}");  // near to none: the list once, not twice
  EXPECT_EQ(far.find("NVLSTree"), far.rfind("NVLSTree")) << far;
}

TEST(Selection, SettingsOfACurve) {
  EXPECT_EQ(selection_of_settings("NCCL_ALGO=Ring"), selection_of_settings("forced ring"));
  EXPECT_NE(selection_of_settings("NCCL_ALGO=Ring"), Selection{});
  EXPECT_EQ(selection_of_settings("NCCL_PROTO=LL128,LL").protocols,
            selection_of_settings("NCCL_PROTO=LL,LL128").protocols);
  EXPECT_EQ(selection_of_settings("NCCL_P2P_DISABLE=1"), Selection{});
}

TEST(Selection, OtherSettingsAreThoseThatNoSelectionHolds) {
  for (const char* text : {"NCCL_P2P_DISABLE=1", "NCCL_ALGO=Ring NCCL_P2P_DISABLE=1", "NCCL_TREE_THRESHOLD=0", "MPI",
                           "NCCL_DEBUG=WARN NCCL_TREE_THRESHOLD=0"}) {
    EXPECT_TRUE(has_other_settings(text, true)) << text;
    EXPECT_TRUE(has_other_settings(text, false)) << text;
  }
  for (const char* text : {"", "NCCL_ALGO=Ring", "NCCL_ALGO=RING, NCCL_P2P_LEVEL=PHB", "forced tree",
                           "NCCL_DEBUG=INFO NCCL_VERSION=2.19.3 NCCL_SOCKET_IFNAME=eth0"})
    EXPECT_FALSE(has_other_settings(text, true)) << text;
  for (const char* text : {"NCCL_NET=Socket", "NCCL_IB_DISABLE=1 NCCL_NET=Socket", "NCCL_PROTO=LL NCCL_IB_DISABLE=1"}) {
    EXPECT_TRUE(has_other_settings(text, true)) << text;
    EXPECT_FALSE(has_other_settings(text, false)) << text;
  }
}

TEST(Hierarchical, OneMessageANodeAndBothPhasesInTurn) {
  // 14 nodes of 8: 2 * 8 us of kernels, the network's 5.0 us (and the wire's difference to 2.0), 13 messages of 0.6 us.
  // Bytes: 104/112 of the buffer over the share of a NIC's 24 GB/s that exchanges reach, 7/8 over NVLink's 300 * 0.75
  // GB/s, one after the other.
  const topology::GroupFacts facts = facts_of_group(14);
  CollectiveOptions options;
  options.exchange = Exchange::hierarchical;
  const AnalyticModel model(graph::CollectiveKind::all_to_all, facts, {false, false, chosen_by(options)});
  ASSERT_EQ(model.candidates().size(), 1u);
  const Candidate& c = model.candidates().front();
  EXPECT_NEAR(c.latency_us, 16 + 5 + facts.inter_latency.us() - 2 + 13 * 0.6, 1e-9);
  EXPECT_NEAR(1 / c.gbps, 104.0 / 112 / (24 * shipped_constants().exchange_net_share) + 7.0 / 8 / 225, 1e-9);
  // 1 MiB on 112 GPUs: under 100 us, where 104 messages of each rank take more than 200 us.
  EXPECT_LT(model.time_us(1 << 20), 100);
  EXPECT_GT(AnalyticModel(graph::CollectiveKind::all_to_all, facts, {}).time_us(1 << 20), 200);
}

TEST(Hierarchical, OnlyWhereThereAreTwoLevels) {
  CollectiveOptions options;
  options.exchange = Exchange::hierarchical;
  for (const topology::GroupFacts& facts : {facts_of_group(1), facts_of_group(4, 1)}) {
    EXPECT_EQ(AnalyticModel(graph::CollectiveKind::all_to_all, facts, {false, false, chosen_by(options)}).time_us(1e6),
              AnalyticModel(graph::CollectiveKind::all_to_all, facts, {}).time_us(1e6));
  }
}

CollectiveOptions one_shot() {
  CollectiveOptions options;
  options.all_reduce = Reduction::one_shot;
  return options;
}

AnalyticModel summing(const topology::GroupFacts& facts, const CollectiveOptions& options) {
  return AnalyticModel(graph::CollectiveKind::all_reduce, facts, {false, false, chosen_by(options)});
}

TEST(OneShot, IsOneKernelOverNvlinkWithinANode) {
  // 8 us of a kernel and two flags of 0.6 us; 2 x 7/8 of the bytes at 75 % of NVLink's 300 GB/s.
  const AnalyticModel model = summing(facts_of_group(1), one_shot());
  ASSERT_EQ(model.candidates().size(), 1u);
  const Candidate& c = model.candidates().front();
  EXPECT_EQ(c.algorithm->name, "one_shot");
  EXPECT_NEAR(c.latency_us, 8 + 2 * 0.6, 1e-9);
  EXPECT_NEAR(1 / c.gbps, 2 * 7.0 / 8 / 225, 1e-12);
  EXPECT_LT(model.time_us(1 << 20), summing(facts_of_group(1), {}).time_us(1 << 20));
}

TEST(OneShot, CrossesNodesWhereSwitchesReduce) {
  topology::GroupFacts facts = facts_of_group(8);
  EXPECT_EQ(summing(facts, one_shot()).time_us(1e6), summing(facts, {}).time_us(1e6)) << "no SHARP: NCCL";
  facts.sharp = true;
  const AnalyticModel model = summing(facts, one_shot());
  ASSERT_EQ(model.candidates().size(), 1u);
  // Up to the switches and down again in NCCL's 5.0 us each (and the wire's difference to 2.0), a message of 0.6 us.
  const double net = 5 + facts.inter_latency.us() - 2;
  EXPECT_NEAR(model.candidates().front().latency_us, 8 + 2 * 0.6 + 2 * net + 0.6, 1e-9);
  EXPECT_EQ(model.candidates().front().limit, "network");
  // One way of each byte through the NICs, whatever the nodes: the rate of 8 nodes is that of 2.
  topology::GroupFacts two = facts_of_group(2);
  two.sharp = true;
  EXPECT_NEAR(summing(two, one_shot()).candidates().front().gbps, model.candidates().front().gbps, 1e-9);
  facts.gpu_direct = false;
  EXPECT_NE(summing(facts, one_shot()).candidates().front().algorithm->name, "one_shot");
}

TEST(OneShot, IsNotNcclsChoice) {
  const AnalyticModel model = summing(facts_of_group(1), {});
  for (const Candidate& c : model.candidates()) EXPECT_NE(c.algorithm->name, "one_shot");
  const auto gather = graph::CollectiveKind::all_gather;
  EXPECT_EQ(AnalyticModel(gather, facts_of_group(1), {false, false, chosen_by(one_shot())}).time_us(1e6),
            AnalyticModel(gather, facts_of_group(1), {}).time_us(1e6));
}

TEST(RdmaWrites, BeatTheHierarchicalExchangeOfWholeNodes) {
  CollectiveOptions rdma, hierarchical;
  rdma.exchange = Exchange::rdma;
  hierarchical.exchange = Exchange::hierarchical;
  const AnalyticModel a(graph::CollectiveKind::all_to_all, facts_of_group(4), {false, false, chosen_by(rdma)}),
      b(graph::CollectiveKind::all_to_all, facts_of_group(4), {false, false, chosen_by(hierarchical)});
  ASSERT_EQ(a.candidates().size(), 1u);
  EXPECT_EQ(a.candidates()[0].algorithm->name, "rdma");
  EXPECT_EQ(a.candidates()[0].latency_us, b.candidates()[0].latency_us);
  for (double bytes = 1e6; bytes < 1e9; bytes *= 10) EXPECT_LT(a.time_us(bytes), b.time_us(bytes)) << bytes;
}

TEST(Selection, WordsWithoutEffectAreNcclsOwnChoice) {
  CollectiveOptions none, all, some;
  none.algorithms = {named("NVLS")};
  all.algorithms = {named("Ring"), named("Tree")};
  some.algorithms = {named("Ring")};
  const std::vector<Candidate> candidates =
      candidates_for(graph::CollectiveKind::all_reduce, channels_of(facts_of_group(4)));
  EXPECT_EQ(heeded(chosen_by(none), candidates), Selection{});
  EXPECT_EQ(heeded(chosen_by(all), candidates), Selection{});
  EXPECT_EQ(heeded(chosen_by(some), candidates), chosen_by(some));
  for (const Exchange way : {Exchange::hierarchical, Exchange::rdma}) {
    CollectiveOptions exchange;
    exchange.exchange = way;
    const auto heeded_on = [&](std::uint32_t nodes) {
      return heeded(chosen_by(exchange),
                    candidates_for(graph::CollectiveKind::all_to_all, channels_of(facts_of_group(nodes))));
    };
    EXPECT_EQ(heeded_on(1), Selection{}) << "whose measured curves are NCCL's";
    EXPECT_EQ(heeded_on(2), chosen_by(exchange));
  }
}

TEST(RdmaWrites, ReplaceNcclAlongRailsWithoutNvlink) {
  CollectiveOptions options;
  options.exchange = Exchange::rdma;
  const Selection rdma = chosen_by(options);
  const AnalyticModel rail(graph::CollectiveKind::all_to_all, facts_of_group(8, 1), {false, false, rdma});
  ASSERT_EQ(rail.candidates().size(), 1u);
  EXPECT_EQ(rail.candidates()[0].algorithm->name, "rdma");
  // 7/8 of the buffer crosses a NIC of 25 GB/s at 95 %.
  EXPECT_NEAR(rail.candidates()[0].gbps, 0.95 * channels_of(facts_of_group(8, 1)).inter_gbps * 8 / 7, 1e-9);
  for (double bytes = 1e4; bytes < 1e9; bytes *= 10) {
    EXPECT_LT(rail.time_us(bytes),
              AnalyticModel(graph::CollectiveKind::all_to_all, facts_of_group(8, 1), {}).time_us(bytes))
        << bytes;
  }
  EXPECT_EQ(AnalyticModel(graph::CollectiveKind::all_to_all, facts_of_group(1), {false, false, rdma}).time_us(1e6),
            AnalyticModel(graph::CollectiveKind::all_to_all, facts_of_group(1), {}).time_us(1e6));
  EXPECT_EQ(AnalyticModel(graph::CollectiveKind::all_reduce, facts_of_group(8, 1), {false, false, rdma}).time_us(1e6),
            AnalyticModel(graph::CollectiveKind::all_reduce, facts_of_group(8, 1), {}).time_us(1e6));
}

TEST(Pat, LogarithmicStepsOnRails) {
  // 16 nodes, a GPU each: 8 + 4 * (14 + wire - 2) / 3.5 + 16 * 2.8 us; a group with two GPUs on a node has none.
  const auto pat = [](graph::CollectiveKind kind, const topology::GroupFacts& facts) {
    std::vector<Candidate> all = candidates_for(kind, channels_of(facts));
    std::erase_if(all, [](const Candidate& c) { return c.algorithm->name != "pat"; });
    return all;
  };
  const topology::GroupFacts facts = facts_of_group(16, 1);
  const auto all = pat(graph::CollectiveKind::all_gather, facts);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NEAR(all[0].latency_us, 8 + 4 * (14 + facts.inter_latency.us() - 2) / 3.5 + 16 * 2.8, 1e-9);
  EXPECT_EQ(all[0].steps, 4u);
  EXPECT_TRUE(pat(graph::CollectiveKind::all_gather, facts_of_group(16, 2)).empty());
  EXPECT_TRUE(pat(graph::CollectiveKind::all_reduce, facts).empty());
}

}  // namespace
}  // namespace distsim::collectives
