// Order of the rank grid: it says which ranks exchange what, and nothing else.
#include <set>
#include <tuple>

#include "base/random.hpp"
#include "llm_fixtures.hpp"
#include "sim/workload/llm/llm_plan.hpp"

namespace distsim::workload {
namespace {

constexpr RankOrder kUsual = RankOrder::tp_cp_ep_dp_pp, kMapped = RankOrder::tp_cp_ep_pp_dp;

/// 16 GPUs in 2 nodes: tensor 2, 4 stages, 2 replicas of 8 micro-batches of 4.
ModelSpec small_in_order(RankOrder order) {
  ModelSpec m = small_llm(8, 64);
  m.parallel.tensor = 2;
  m.parallel.pipeline = 4;
  m.parallel.order = order;
  return m;
}

/// Where a rank is, whatever the order.
using Place = std::pair<std::uint32_t, std::uint32_t>;  // stage, number in it

std::map<std::uint32_t, Place> places_of(const ModelSpec& m, std::uint32_t ranks) {
  const auto& p = m.parallel;
  const auto block = static_cast<std::uint32_t>(p.tensor * p.context), stages = static_cast<std::uint32_t>(p.pipeline);
  const RankGrid grid(block, stages, ranks / block / stages, p.order);
  std::map<std::uint32_t, Place> out;
  for (std::uint32_t s = 0; s < stages; ++s) {
    for (std::uint32_t i = 0; i < ranks / stages; ++i) out[grid.rank(s, i)] = {s, i};
  }
  return out;
}

/// Bytes of each task by the places that exchange them.
using Exchanged = std::map<std::pair<std::string, std::set<Place>>, std::int64_t>;

Exchanged exchanged_by(const ModelSpec& m, const Workload& w) {
  const auto places = places_of(m, w.graph.ranks);
  Exchanged out;
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    std::set<Place> who;
    for (const std::uint32_t r : members) who.insert(places.at(r));
    const auto& c = std::get<graph::Collective>(w.graph.ops[task.first_op]);
    out[{w.graph.names[task.name], who}] += c.bytes * c.times;
  });
  return out;
}

/// What each place runs: flops of its passes, and calls to launch.
std::map<Place, std::vector<double>> run_by(const ModelSpec& m, const Workload& w) {
  const auto places = places_of(m, w.graph.ranks);
  std::map<Place, std::vector<double>> out;
  for (TaskId t(0); t < w.graph.tasks.end_id(); t = TaskId(t.value() + 1)) {
    if (w.graph.tasks[t].partition.valid()) continue;
    for (std::uint32_t r = 0; r < w.graph.ranks; ++r) {
      const graph::Op& op = w.graph.ops[OpId(w.graph.tasks[t].first_op.value() + w.graph.variant_of(t, r))];
      const auto* sequence = std::get_if<graph::Sequence>(&op);
      if (sequence != nullptr) out[places.at(r)].push_back(sequence->flops);
    }
  }
  return out;
}

ModelSpec drawn_model(Random& random) {
  const auto one_of = [&](std::vector<std::int64_t> of) {
    return of[static_cast<std::size_t>(random.below(of.size()))];
  };
  ModelSpec m = small_llm(8, 192);
  ParallelSpec& p = m.parallel;
  p.tensor = one_of({1, 2, 4});
  p.context = one_of({1, 2});
  p.context_exchange = ContextExchange::all_gather;
  p.pipeline = one_of({1, 2, 4});
  if (one_of({0, 1}) == 1) {
    m.as<LlmSpec>().experts = 8;
    m.as<LlmSpec>().top_k = 2;
    p.expert = one_of({1, p.tensor * p.context});
    p.expert_tensor = p.expert == 1 ? one_of({1, p.tensor}) : 1;
  }
  p.virtual_stages = p.pipeline > 1 ? one_of({1, 2}) : 1;
  if (p.pipeline > 1 && p.virtual_stages == 1)
    p.schedule = std::vector{PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::zero_bubble,
                             PipelineSchedule::dualpipe}[static_cast<std::size_t>(random.below(4))];
  p.shard = static_cast<StateSplit>(one_of({1, 2, 3, 4}));
  p.shard_group = one_of({0, 0, 2, 3, 4, 6});
  p.micro_batch = 1;
  return m;
}

/// The same places run and exchange the same, of any layout; also where shards lie across the blocks of the grid.
TEST(RankOrder, ChangesNothingButWhichRanks) {
  Random random(16);
  int compared = 0, differing = 0;
  for (int i = 0; i < 100; ++i) {
    ModelSpec usual = drawn_model(random), mapped = usual;
    mapped.parallel.order = kMapped;
    const auto a = build_llm(usual, 6), b = build_llm(mapped, 6);
    ASSERT_EQ(a.ok(), b.ok()) << (a.ok() ? b : a).error().text();
    if (!a.ok()) continue;  // what does not divide
    SCOPED_TRACE(a->placement);
    const Exchanged by_usual = exchanged_by(usual, *a), by_mapped = exchanged_by(mapped, *b);
    ASSERT_EQ(by_usual.size(), by_mapped.size());
    ASSERT_TRUE(by_usual == by_mapped);
    EXPECT_EQ(run_by(usual, *a), run_by(mapped, *b));
    EXPECT_EQ(a->graph.tasks.size(), b->graph.tasks.size());
    const bool matters = usual.parallel.pipeline > 1 && a->graph.alike < 48 / usual.parallel.pipeline + 1 &&
                         b->graph.alike != a->graph.alike;
    differing += matters ? 1 : 0;
    ++compared;
  }
  EXPECT_GT(compared, 25);
  EXPECT_GT(differing, 8);
}

TEST(RankOrder, MemoryFollowsTheStage) {
  for (const RankOrder order : {kUsual, kMapped}) {
    const ModelSpec m = small_in_order(order);
    const Workload w = built_llm(m);
    ASSERT_EQ(w.memory.size(), 16u);
    std::map<std::uint32_t, std::int64_t> of_stage;
    for (const auto& [rank, place] : places_of(m, 16)) {
      const std::int64_t bytes = of_stage.try_emplace(place.first, w.memory[rank].total()).first->second;
      EXPECT_EQ(w.memory[rank].total(), bytes) << rank;
    }
    EXPECT_NE(of_stage.at(0), of_stage.at(1)) << "the embedding is on the first";
  }
}

/// Bytes that groups exchange over the network, as a group whose members are not of one node does, and within nodes.
struct LinkBytes {
  std::int64_t network = 0, node = 0;
};
std::map<std::string, LinkBytes> by_link(const Workload& w) {
  std::map<std::string, LinkBytes> out;
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    const auto& c = std::get<graph::Collective>(w.graph.ops[task.first_op]);
    std::string name = w.graph.names[task.name];
    if (name.starts_with("pipeline.")) name = "pipeline";
    const std::int64_t ways = w.graph.names[task.name] == "pipeline.both_ways" ? 2 : 1;
    const bool apart = members.front() / 8 != members.back() / 8;
    (apart ? out[name].network : out[name].node) += ways * c.bytes * c.times;
  });
  return out;
}

/// 4 stages of 2 x 2 ranks. In the usual order a node holds two stages with both replicas: of three boundaries one is
/// between nodes. In the other a node holds a replica. A message is the activations of a micro-batch, which either of the
/// tensor-parallel ranks sends: 2 ranks x 2 replicas x 8 micro-batches x 2 ways over each boundary.
TEST(RankOrder, SaysWhichLinksCarryWhat) {
  const std::int64_t boundary = 2 * 2 * 8 * 2 * kActivations;
  const auto usual = by_link(built_llm(small_in_order(kUsual))), mapped = by_link(built_llm(small_in_order(kMapped)));
  EXPECT_EQ(usual.at("pipeline").network, boundary);
  EXPECT_EQ(usual.at("pipeline").node, 2 * boundary);
  EXPECT_EQ(mapped.at("pipeline").network, 0);
  EXPECT_EQ(mapped.at("pipeline").node, 3 * boundary);
  // Of a block as in LlmLayout.ReplicasSumTheirGradients; embedding and positions on the first stage, the last has the norm
  // and its copy of the embedding. Two groups of two replicas on each stage.
  const std::int64_t block = 64 * 96 + 96 + 32 * 64 + 64 + 64 * 128 + 128 + 128 * 64 + 64 + 4 * 64;
  const std::int64_t gradients = 2 * 2 * (8 * block + 64 * 64 + 32 * 64 + 2 * 64 + 64 * 64);
  EXPECT_EQ(usual.at("gradients").network, 0);
  EXPECT_EQ(usual.at("gradients").node, gradients);
  EXPECT_EQ(mapped.at("gradients").network, gradients);
  EXPECT_EQ(mapped.at("gradients").node, 0);
  // First and last stage sum the word embedding: two tensor-parallel ranks of two replicas.
  EXPECT_EQ(usual.at("gradients.word_embedding").network, 2 * 2 * 64 * 64 * 2);
  EXPECT_EQ(mapped.at("gradients.word_embedding").network, 0);
  EXPECT_EQ(mapped.at("gradients.word_embedding").node, usual.at("gradients.word_embedding").network);
  EXPECT_EQ(usual.at("tensor.all_reduce").network + mapped.at("tensor.all_reduce").network, 0);
}

TEST(RankOrder, IsSaidWhereItIsNotTheUsualOne) {
  EXPECT_EQ(built_llm(small_in_order(kUsual)).placement.find("order"), std::string::npos);
  EXPECT_NE(built_llm(small_in_order(kMapped)).placement.find("data 2, order tp-cp-ep-pp-dp"), std::string::npos);
  for (const std::int64_t stages : {1, 8}) {  // one stage, or one replica
    ModelSpec m = small_in_order(kMapped);
    m.parallel.pipeline = stages;
    EXPECT_EQ(built_llm(m).placement.find("order"), std::string::npos);
  }
}

TEST(RankOrder, ExpertsStayNeighbours) {
  ModelSpec m = small_in_order(kMapped);
  m.as<LlmSpec>().experts = 4;
  m.parallel.expert = 2;
  EXPECT_TRUE(build_llm(m).ok());
  expect_refused(
      m, [](ModelSpec& changed) { changed.parallel.expert = 4; },
      "parallel.order: found tp-cp-ep-pp-dp with expert 4 x expert_tensor 1, expected a divisor of tensor x context (2)");
  m.parallel.expert = 4;
  m.parallel.order = kUsual;
  EXPECT_TRUE(build_llm(m).ok()) << "over both replicas";
}

}  // namespace
}  // namespace distsim::workload
