// Chakra jobs on paper, rows against lists, refusals, and predictions written out and played again.
#include "sim/chakra/chakra_play.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "base/random.hpp"
#include "sim/chakra/replay_chakra.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/pipeline/write_chakra.hpp"
#include "test_paths.hpp"
#include "traces/chakra/chakra_builder.hpp"

namespace distsim::chakra {
namespace {

constexpr std::int64_t kUs = 1'000'000;

/// A collective takes 10 us, and 1 us more for every KiB; a message 4 us.
class PlainCosts : public CommunicationCost {
 public:
  Result<graph::Cost> collective(const graph::Collective& op, std::span<const std::uint32_t>, bool) override {
    return cost(10 + op.bytes / 1024);
  }
  Result<graph::Cost> message(std::uint32_t, std::uint32_t, std::int64_t) override { return cost(4); }
  std::uint32_t ranks() const override { return 1 << 20; }
  std::string where() const override { return "on paper"; }

 private:
  static graph::Cost cost(std::int64_t us) {
    const Duration d = Duration::microseconds(us);
    return {d, d, d, graph::Basis::analytic, "paper"};
  }
};

/// Nodes of one rank, ids from 0.
class RankBuilder {
 public:
  RankBuilder& work(std::int64_t us, std::vector<std::uint64_t> deps = {}) {
    traces::ChakraNode n = node(traces::ChakraKind::compute, deps);
    n.ps = us * kUs;
    return add(n);
  }
  RankBuilder& collective(traces::ChakraComm comm, std::int64_t bytes, std::vector<std::uint64_t> deps = {},
                          std::string_view group = "") {
    traces::ChakraNode n = node(traces::ChakraKind::collective, deps);
    n.comm = comm;
    n.comm_bytes = bytes;
    n.group = builder_.intern(group);
    return add(n);
  }
  RankBuilder& message(traces::ChakraKind kind, std::int64_t peer, std::vector<std::uint64_t> deps = {},
                       std::int64_t bytes = 64) {
    traces::ChakraNode n = node(kind, deps);
    n.peer = peer;
    n.comm_bytes = bytes;
    return add(n);
  }
  RankBuilder& metadata() { return add(node(traces::ChakraKind::metadata, {})); }
  traces::ChakraGraph finish() {
    auto graph = std::move(builder_).finish();
    EXPECT_TRUE(graph.ok()) << graph.error().text();
    return *std::move(graph);
  }

 private:
  traces::ChakraNode node(traces::ChakraKind kind, const std::vector<std::uint64_t>& deps) {
    for (const auto dep : deps) builder_.add_data_dep(dep);
    traces::ChakraNode n;
    n.id = next_++;
    n.kind = kind;
    n.name = builder_.intern("n" + std::to_string(n.id));
    return n;
  }
  RankBuilder& add(const traces::ChakraNode& n) {
    EXPECT_TRUE(builder_.add(n).ok());
    return *this;
  }
  traces::ChakraBuilder builder_;
  std::uint64_t next_ = 0;
};

traces::ChakraSet set_of(std::vector<traces::ChakraGraph> graphs) {
  traces::ChakraSet set;
  for (traces::ChakraGraph& g : graphs) {
    set.ranks.push_back({static_cast<std::uint32_t>(set.graphs.size()), {}});
    set.graphs.push_back(std::move(g));
  }
  return set;
}

Result<ChakraPlay> play(const traces::ChakraSet& set, const ChakraPlayOptions& options = {}) {
  PlainCosts costs;
  topology::DeviceSpec device;
  device.hbm.bandwidth = BytesPerSecond(1e12);
  device.peak["fp16"] = FlopsPerSecond(1e14);
  return play_chakra(set, costs, device, options);
}

TEST(ChakraPlay, TwoRanksOnPaper) {
  // rank 0: work 5 (0-5), all-reduce of 2 KiB (12) meets at 9: 9-21, work 3 at the same time (5-8), work 1 after it
  // (21-22). rank 1: work 9 (0-9), all-reduce 9-21, work 3 (9-12), work 1 (21-22).
  const auto rank = [](std::int64_t us) {
    return RankBuilder()
        .work(us)
        .collective(traces::ChakraComm::all_reduce, 2048, {0})
        .work(3, {0})
        .work(1, {1, 2})
        .finish();
  };
  traces::ChakraSet set = set_of({rank(5)});
  set.ranks.push_back({0, {9 * kUs, 0, 3 * kUs, 1 * kUs}});
  const auto p = play(set);
  ASSERT_TRUE(p.ok()) << p.error().text();
  EXPECT_TRUE(p->rows);
  EXPECT_EQ(p->makespan, Duration::microseconds(22));
  // rank 0: compute 5+3+1; waiting 5-9 of which 3 are hidden behind work: 1; transfer 12 all exposed.
  EXPECT_EQ(p->ranks[0].compute, 9 * kUs);
  EXPECT_EQ(p->ranks[0].exposed, 12 * kUs);
  EXPECT_EQ(p->ranks[0].waiting, 1 * kUs);
  EXPECT_EQ(p->ranks[0].idle, 0);
  // rank 1: compute 9+3+1; transfer 12, 3 hidden.
  EXPECT_EQ(p->ranks[1].compute, 13 * kUs);
  EXPECT_EQ(p->ranks[1].comm, 12 * kUs);
  EXPECT_EQ(p->ranks[1].exposed, 9 * kUs);
  EXPECT_EQ(p->ranks[1].waiting, 0);
}

TEST(ChakraPlay, ARingOfMessagesDoesNotDeadlock) {
  // Every rank sends to the next (0-4), takes from the one before, works 2 (4-6), sends on (6-10), takes, works 2
  // (10-12).
  std::vector<traces::ChakraGraph> ranks;
  for (std::int64_t r = 0; r < 3; ++r) {
    ranks.push_back(RankBuilder()
                        .message(traces::ChakraKind::send, (r + 1) % 3)
                        .message(traces::ChakraKind::receive, (r + 2) % 3, {0})
                        .work(2, {1})
                        .message(traces::ChakraKind::send, (r + 1) % 3, {2})
                        .message(traces::ChakraKind::receive, (r + 2) % 3, {3})
                        .work(2, {4})
                        .finish());
  }
  const auto p = play(set_of(std::move(ranks)));
  ASSERT_TRUE(p.ok()) << p.error().text();
  EXPECT_FALSE(p->rows);
  EXPECT_EQ(p->makespan, Duration::microseconds(12));
}

TEST(ChakraPlay, WorkWithoutADurationTakesItsRoofline) {
  // 10^8 operations at 10^14/s: 1 us; 4*10^6 bytes at 10^12/s: 4 us.
  traces::ChakraSet set = set_of({RankBuilder().work(0).finish()});
  set.graphs[0].nodes[0].operations = 100'000'000;
  EXPECT_EQ(play(set)->makespan, Duration::microseconds(1));
  set.graphs[0].nodes[0].tensor_bytes = 4'000'000;
  EXPECT_EQ(play(set)->makespan, Duration::microseconds(4));
}

TEST(ChakraPlay, ARooflineNeedsTheRatesOfTheSystem) {
  traces::ChakraSet set = set_of({RankBuilder().work(0).finish()});
  PlainCosts costs;
  topology::DeviceSpec device;
  const auto refusal = [&] { return play_chakra(set, costs, device, {}).error().text(); };
  set.graphs[0].nodes[0].operations = 1000;
  EXPECT_NE(refusal().find("found num_ops 1000 and no duration, expected a system that states peak-perf"),
            std::string::npos)
      << refusal();
  device.peak["fp16"] = FlopsPerSecond(1e14);
  EXPECT_TRUE(play_chakra(set, costs, device, {}).ok());
  set.graphs[0].nodes[0].tensor_bytes = 4000;
  EXPECT_NE(refusal().find("found tensor_size 4000 and no duration, expected a system that states local-mem-bw"),
            std::string::npos)
      << refusal();
}

TEST(ChakraPlay, SizesMeanWhatUpstreamMeans) {
  // all-gather: each of 4 ranks gives 1 KiB: 4 KiB in all, 14 us. all-to-all: 4 KiB a rank, 14 us. Same stream: 28 us.
  traces::ChakraSet set = set_of({RankBuilder()
                                      .collective(traces::ChakraComm::all_gather, 1024)
                                      .collective(traces::ChakraComm::all_to_all, 4096)
                                      .finish()});
  set.ranks.resize(4, set.ranks[0]);
  EXPECT_EQ(play(set)->makespan, Duration::microseconds(28));
}

TEST(ChakraPlay, Refusals) {
  const auto refused = [](traces::ChakraSet set, const ChakraPlayOptions& options = {}) {
    const auto p = play(set, options);
    return p ? "accepted" : p.error().what;
  };
  const auto ar = [](std::int64_t bytes, std::string_view group = "") {
    return RankBuilder().collective(traces::ChakraComm::all_reduce, bytes, {}, group).finish();
  };
  EXPECT_EQ(
      refused(set_of({ar(8), ar(16)})),
      "rank 1, node 0 (n0): found all_reduce of 16 bytes, expected all_reduce of 8 bytes as for rank 0, node 0 (n0), in collective number 1 of its communicator");
  EXPECT_EQ(refused(set_of({ar(8), RankBuilder().work(1).finish()})),
            "rank 1: found 0 collectives on a communicator of 2 ranks, expected 1: it never joins rank 0, node 0 (n0)");
  EXPECT_EQ(refused(set_of({ar(8, "7"), ar(8)})),
            "rank 0, node 0 (n0): pg_name: found '7', expected a group of --groups or of the trace");
  EXPECT_EQ(refused(set_of({ar(8), ar(8, "7")}), {.groups = {{"7", {0}}}}),
            "rank 1, node 0 (n0): found a collective of group '7', expected a member of it");
  EXPECT_EQ(refused(set_of({ar(8, "7"), ar(8, "7")}), {.groups = {{"7", {0, 5}}}}),
            "--groups: found rank 5 in group '7', expected ranks below 2: the number of traces is 2");
  EXPECT_EQ(
      refused(set_of({RankBuilder().message(traces::ChakraKind::send, 1).finish(), RankBuilder().work(1).finish()})),
      "messages from rank 0 to rank 1 under tag 0: found 1 sends and 0 receives, expected equal numbers");
  EXPECT_EQ(refused(set_of({RankBuilder().message(traces::ChakraKind::send, 9).finish()})),
            "rank 0, node 0: found a message with rank 9, expected one of 1 ranks");
  // Two groups of the same two ranks, joined in opposite order by way of dependencies.
  const auto crossed = [](const char* first, const char* second) {
    return RankBuilder()
        .collective(traces::ChakraComm::all_reduce, 8, {}, first)
        .collective(traces::ChakraComm::all_reduce, 8, {0}, second)
        .finish();
  };
  traces::ChakraSet deadlock = set_of({crossed("0", "1"), crossed("1", "0"),
                                       RankBuilder().collective(traces::ChakraComm::all_reduce, 8, {}, "0").finish()});
  EXPECT_EQ(
      refused(deadlock, {.groups = {{"1", {0, 1}}}}),
      "deadlock: rank 0 node 0 (n0) waits for rank 1 node 1 (n1) waits for rank 1 node 0 (n0) waits for rank 0 node 1 (n1) waits for rank 0 node 0 (n0)");
}

TEST(ChakraPlay, AJobWithoutTheTraceOfARankIsRefused) {
  // Groups that no collective of the remaining ranks uses name it: whoever was in them is missing.
  const auto refused = [](traces::ChakraSet set, const ChakraPlayOptions& options = {}) {
    const auto p = play(set, options);
    return p ? "accepted" : p.error().what;
  };
  const auto rank = [] { return RankBuilder().collective(traces::ChakraComm::all_reduce, 8).finish(); };
  EXPECT_EQ(refused(set_of({rank(), rank()}), {.groups = {{"1", {0, 1}}}}), "accepted");
  EXPECT_EQ(refused(set_of({rank(), rank()}), {.groups = {{"1", {0, 1}}, {"2", {1, 2}}}}),
            "--groups: found rank 2 in group '2', expected ranks below 2: the number of traces is 2");
  traces::ChakraGraph second = rank();
  second.groups["9"] = {0, 1, 2, 3};
  EXPECT_EQ(refused(set_of({rank(), second})),
            "trace of rank 1: found rank 2 in group '9', expected ranks below 2: the number of traces is 2");
}

TEST(ChakraPlay, AMessageHasOneSize) {
  const auto sizes = [](std::int64_t sent, std::int64_t taken) {
    return play(set_of({RankBuilder().message(traces::ChakraKind::send, 1, {}, sent).finish(),
                        RankBuilder().message(traces::ChakraKind::receive, 0, {}, taken).finish()}));
  };
  EXPECT_TRUE(sizes(64, 64).ok());
  EXPECT_TRUE(sizes(64, traces::ChakraNode::kAbsent).ok()) << "a receive need not say";
  EXPECT_EQ(sizes(100, 4096).error().what,
            "rank 1, node 0: found a receive of 4096 bytes, expected 100 as rank 0, node 0 sends under tag 0");
}

/// Collectives cost 1 us for each member, so that it is seen among how many they are priced.
class CostsOfMembers : public PlainCosts {
 public:
  Result<graph::Cost> collective(const graph::Collective&, std::span<const std::uint32_t> members,
                                 bool alone) override {
    alone_ = alone;
    const Duration d = Duration::microseconds(static_cast<std::int64_t>(members.size()));
    return graph::Cost{d, d, d, graph::Basis::analytic, "paper"};
  }
  bool alone_ = false;
};

TEST(ChakraPlay, OfAPartOfAJobGroupsAreOfTheWhole) {
  const auto rank = [](std::string_view group, bool differs) {
    RankBuilder b;
    b.collective(traces::ChakraComm::all_reduce, 8, {}, group);
    if (differs) b.metadata();
    return b.finish();
  };
  for (const bool lists : {false, true}) {
    traces::ChakraSet set = set_of({rank("", false), rank("", lists)});
    if (!lists) set.graphs.pop_back(), set.ranks[1].graph = 0;
    set.job_ranks = 8;
    CostsOfMembers costs;
    const auto all = play_chakra(set, costs, {}, {});
    ASSERT_TRUE(all.ok()) << all.error().text();
    EXPECT_EQ(all->rows, !lists);
    EXPECT_EQ(all->makespan, Duration::microseconds(8));
    EXPECT_EQ(all->notes.at(0).find("2 of the 8 ranks of the job are played: "), 0u) << all->notes.at(0);
    EXPECT_TRUE(costs.alone_);
  }
  traces::ChakraSet pairs = set_of({rank("a", false), rank("b", false)});
  pairs.job_ranks = 8;
  CostsOfMembers costs;
  const ChakraPlayOptions groups{.groups = {{"a", {0, 4, 5}}, {"b", {1, 5, 6}}}};
  const auto some = play_chakra(pairs, costs, {}, groups);
  ASSERT_TRUE(some.ok()) << some.error().text();
  EXPECT_EQ(some->makespan, Duration::microseconds(3));
  EXPECT_FALSE(costs.alone_);
}

TEST(ChakraPlay, RecordedTimesAreThoseThatAreThere) {
  const auto rank = [](std::int64_t us) {
    traces::ChakraGraph g = RankBuilder().collective(traces::ChakraComm::all_reduce, 1024).finish();
    g.nodes[0].ps = us * kUs;
    return g;
  };
  const ChakraPlayOptions recorded{.recorded_collectives = true};
  traces::ChakraSet alike = set_of({rank(70)});
  alike.ranks.push_back({0, {50 * kUs}});
  EXPECT_EQ(play(alike, recorded)->makespan, Duration::microseconds(50))
      << "of all ranks, also where one stands for all";
  alike.ranks[1].ps = {0};
  EXPECT_EQ(play(alike, recorded)->makespan, Duration::microseconds(70)) << "one rank has none";
  const auto none = play(set_of({rank(0), rank(0)}), recorded);
  ASSERT_TRUE(none.ok()) << none.error().text();
  EXPECT_EQ(none->makespan, Duration::microseconds(11)) << "priced";
  EXPECT_EQ(none->notes, std::vector<std::string>{"1 collective without a recorded time is priced by the models"});
  traces::ChakraGraph unknown = rank(0);
  unknown.nodes[0].comm = traces::ChakraComm::unknown;
  EXPECT_EQ(
      play(set_of({unknown})).error().what,
      "rank 0, node 0 (n0): found a collective without kind or size and without a recorded time, expected comm_type "
      "and comm_size, or a duration");
}

TEST(ReplayChakra, APrefixWithAGapIsStillOfChakra) {
  const std::string dir = test::scratch_dir("chakra_gap");
  for (const char* name : {"/x.0.et", "/x.2.et"}) ASSERT_TRUE(write_file_atomically(dir + name, "no trace").ok());
  EXPECT_TRUE(names_chakra({dir + "/x"})) << "so that the missing rank is named, and not the prefix as a file";
  EXPECT_TRUE(names_chakra({dir}));
  EXPECT_FALSE(names_chakra({dir + "/y"}));
  std::filesystem::remove_all(dir);
}

/// Compute, collectives over all, dependencies backwards at random.
traces::ChakraGraph random_rank(std::uint64_t seed, bool with_extra) {
  Random random(seed);
  RankBuilder b;
  const std::uint64_t n = 1 + random.below(20);
  for (std::uint64_t i = 0; i < n; ++i) {
    std::vector<std::uint64_t> deps;
    for (std::uint64_t d = i == 0 ? 0 : random.below(3); d > 0; --d) deps.push_back(random.below(i));
    if (random.below(3) == 0)
      b.collective(traces::ChakraComm::all_reduce, static_cast<std::int64_t>(random.below(5) * 1024), deps);
    else if (random.below(8) == 0)
      b.metadata();
    else
      b.work(static_cast<std::int64_t>(random.below(30)), deps);
  }
  if (with_extra) b.metadata();  // no time, no stream: only the structure differs
  return b.finish();
}

TEST(ChakraPlay, RowsAndListsAgreeOnRandomJobs) {
  Random random(3);
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    traces::ChakraSet rows = set_of({random_rank(i, false)});
    const std::size_t nodes = rows.graphs[0].nodes.size();
    for (std::uint32_t r = 1 + static_cast<std::uint32_t>(random.below(5)); r > 0; --r) {
      traces::ChakraRank rank{0, std::vector<std::int64_t>(nodes)};
      for (auto& ps : rank.ps) ps = static_cast<std::int64_t>(1 + random.below(40)) * kUs;
      rows.ranks.push_back(rank);
    }
    traces::ChakraSet lists = rows;
    lists.graphs.push_back(random_rank(i, true));
    lists.ranks[0].graph = 1;
    const auto a = play(rows), b = play(lists);
    ASSERT_TRUE(a.ok() && b.ok());
    ASSERT_TRUE(a->rows && !b->rows);
    ASSERT_EQ(a->makespan, b->makespan);
    for (std::size_t r = 0; r < rows.ranks.size(); ++r) {
      const ChakraRankTimes &x = a->ranks.size() == 1 ? a->ranks[0] : a->ranks[r], &y = b->ranks[r];
      ASSERT_EQ(x.finish, y.finish) << "job " << i << " rank " << r;
      ASSERT_EQ(x.compute, y.compute);
      ASSERT_EQ(x.exposed, y.exposed);
      ASSERT_EQ(x.waiting, y.waiting);
      ASSERT_EQ(x.compute + x.exposed + x.waiting + x.host + x.idle, a->makespan.ps());
    }
  }
}

class ChakraRoundTrip : public ::testing::TestWithParam<const char*> {};

TEST(ChakraRoundTripOfStages, APipelinePlaysAgainToThePicosecond) {
  pipeline::Passes passes;
  const auto prediction =
      pipeline::predict(test::root() + "/configs/megatron_gpt_145b.yaml",
                        {"model.name=megatron_gpt_7_5b", "cluster.nodes=1", "model.llm.layers=4", "parallel.tensor=2",
                         "parallel.pipeline=2", "parallel.schedule=interleaved", "parallel.virtual_stages=2",
                         "parallel.micro_batch=1", "model.global_batch=8"},
                        passes);
  ASSERT_TRUE(prediction.ok()) << prediction.error().text();
  const std::string dir = test::scratch_dir("chakra_stages");
  ASSERT_TRUE(pipeline::write_chakra(dir + "/p", *prediction->costed, *prediction->lowered).ok());
  const auto set = traces::read_chakra_set(traces::find_chakra_files({dir + "/p"}).value());
  ASSERT_TRUE(set.ok()) << set.error().text();
  ChakraPlayOptions recorded;
  recorded.recorded_collectives = true;
  const auto again = play(*set, recorded);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->makespan, prediction->timeline->makespan);
  int messages = 0;
  const traces::ChakraGraph& first = set->graphs[set->ranks[0].graph];
  for (const traces::ChakraNode& n : first.nodes) {
    if (n.kind != traces::ChakraKind::collective || !first.text_of(n.name).starts_with("pipeline.")) continue;
    ++messages;
    EXPECT_EQ(n.comm_bytes, 2 * 2048 * 4096 * 2) << "2048 tokens of width 4096 in 16 bits to the other, as many kept";
  }
  EXPECT_GT(messages, 0);
  std::filesystem::remove_all(dir);
}

/// A set whose manifest is lost, and one beside a set with a longer prefix.
TEST(ChakraSets, FilesSayHowManyWereWrittenWithThem) {
  pipeline::Passes passes;
  const auto prediction =
      pipeline::predict(test::root() + "/configs/resnet50_dgx_a100.yaml", {"cluster.nodes=1"}, passes);
  ASSERT_TRUE(prediction.ok()) << prediction.error().text();
  const std::string dir = test::scratch_dir("chakra_sets");
  for (const char* prefix : {"/p", "/p.1"})
    ASSERT_TRUE(pipeline::write_chakra(dir + prefix, *prediction->costed, *prediction->lowered).ok());
  const auto files = [&] { return traces::find_chakra_files({dir + "/p"}); };
  ASSERT_TRUE(files().ok()) << files().error().text();
  EXPECT_EQ(files()->size(), 8u) << "none of p.1";
  EXPECT_TRUE(traces::read_chakra_set(*files()).ok());
  std::filesystem::remove(dir + "/p.set.json");
  EXPECT_TRUE(traces::read_chakra_set(*files()).ok());
  std::filesystem::remove(dir + "/p.7.et");
  const auto cut = traces::read_chakra_set(*files());
  ASSERT_FALSE(cut.ok());
  EXPECT_NE(cut.error().text().find("found 7 traces, expected the 8 that this one was written with"), std::string::npos)
      << cut.error().text();
  EXPECT_TRUE(traces::read_chakra_set({dir + "/p.0.et"}, 8).ok()) << "one that stands for all";
  std::filesystem::remove_all(dir);
}

/// The job's ranks are known from the manifest, and without it from the files.
TEST(ChakraSets, OfAPartOfAJobTheWholeIsKnown) {
  pipeline::Passes passes;
  const auto prediction =
      pipeline::predict(test::root() + "/configs/resnet50_dgx_a100.yaml", {"cluster.nodes=1"}, passes);
  ASSERT_TRUE(prediction.ok()) << prediction.error().text();
  const std::string dir = test::scratch_dir("chakra_part");
  ASSERT_TRUE(pipeline::write_chakra(dir + "/p", *prediction->costed, *prediction->lowered, 2).ok());
  const auto files = *traces::find_chakra_files({dir + "/p"});
  EXPECT_EQ(traces::read_chakra_set(files)->job_ranks, 8u);
  std::filesystem::remove(dir + "/p.set.json");
  EXPECT_EQ(traces::read_chakra_set(files)->job_ranks, 8u);
  EXPECT_EQ(traces::read_chakra_set({files[0]}, 4)->ranks_of_job(), 4u) << "as asked for";
  std::filesystem::remove_all(dir);
}

/// Files of ranks that differ are those of the ranks in their names only as long as nobody exchanges them.
TEST(ChakraSets, WithoutAManifestTheOrderOfFilesIsNotKnown) {
  const std::string dir = test::scratch_dir("chakra_order");
  for (const auto& [prefix, config, known] : {std::tuple("/same", "/configs/resnet50_dgx_a100.yaml", true),
                                              {"/different", "/configs/dgx_a100_4node.yaml", false}}) {
    pipeline::Passes passes;
    const auto prediction = pipeline::predict(test::root() + config, {"cluster.nodes=1"}, passes);
    ASSERT_TRUE(prediction.ok()) << prediction.error().text();
    ASSERT_TRUE(pipeline::write_chakra(dir + prefix, *prediction->costed, *prediction->lowered).ok());
    const auto files = *traces::find_chakra_files({dir + prefix});
    EXPECT_TRUE(traces::read_chakra_set(files)->order_is_known) << prefix;
    std::filesystem::remove(dir + prefix + ".set.json");
    EXPECT_EQ(traces::read_chakra_set(files)->order_is_known, known) << prefix;
  }
  std::filesystem::remove_all(dir);
}

/// The same groups and kinds, another batch: only the number of the job tells them apart when both manifests are lost.
TEST(ChakraSets, FilesOfTwoJobsAreRefusedWithoutAManifest) {
  const std::string dir = test::scratch_dir("chakra_two_jobs");
  for (const auto& [prefix, batch] : {std::pair("/a", "model.per_gpu_batch=256"), {"/b", "model.per_gpu_batch=128"}}) {
    pipeline::Passes passes;
    const auto prediction = pipeline::predict(test::root() + "/configs/resnet50_dgx_a100.yaml", {batch}, passes);
    ASSERT_TRUE(prediction.ok()) << prediction.error().text();
    ASSERT_TRUE(pipeline::write_chakra(dir + prefix, *prediction->costed, *prediction->lowered).ok());
    std::filesystem::remove(dir + prefix + ".set.json");
  }
  EXPECT_TRUE(traces::read_chakra_set(*traces::find_chakra_files({dir + "/a"})).ok());
  std::filesystem::rename(dir + "/b.5.et", dir + "/a.5.et");
  const auto mixed = traces::read_chakra_set(*traces::find_chakra_files({dir + "/a"}));
  ASSERT_FALSE(mixed.ok());
  EXPECT_NE(mixed.error().text().find("a.5.et: found a trace of another job than '" + dir + "/a.0.et'"),
            std::string::npos)
      << mixed.error().text();
  std::filesystem::remove_all(dir);
}

TEST_P(ChakraRoundTrip, APredictionPlaysAgainToThePicosecond) {
  pipeline::Passes passes;
  const auto prediction = pipeline::predict(test::root() + "/configs/" + GetParam(), {}, passes);
  ASSERT_TRUE(prediction.ok()) << prediction.error().text();
  const std::string dir = test::scratch_dir("chakra_round_trip");
  ASSERT_TRUE(pipeline::write_chakra(dir + "/p", *prediction->costed, *prediction->lowered).ok());
  const auto files = traces::find_chakra_files({dir + "/p"});
  ASSERT_TRUE(files.ok()) << files.error().text();
  const auto set = traces::read_chakra_set(*files);
  ASSERT_TRUE(set.ok()) << set.error().text();
  ChakraPlayOptions recorded;
  recorded.recorded_collectives = true;
  const auto again = play(*set, recorded);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->makespan, prediction->timeline->makespan);
  std::filesystem::remove_all(dir);
}

INSTANTIATE_TEST_SUITE_P(Configs, ChakraRoundTrip,
                         ::testing::Values("dgx_a100_4node.yaml", "resnet50_dgx_a100.yaml",
                                           "bert_large_dgx_a100.yaml"));

}  // namespace
}  // namespace distsim::chakra
