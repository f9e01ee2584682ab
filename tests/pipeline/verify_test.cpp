// Each invariant refuses a value that breaks it, and says how.
#include "sim/pipeline/passes/verify.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

std::string broken(const Result<void>& result) { return result.ok() ? "" : result.error().what; }

const Prediction& flagship() {
  static const Prediction prediction = [] {
    Passes passes;
    return predict(test::config("dgx_a100_4node.yaml"), {}, passes).value();
  }();
  return prediction;
}

/// The first broken invariant of a copy that `change` was applied to.
template <class T>
std::string after(T value, const std::function<void(T&)>& change) {
  EXPECT_EQ(broken(verify(value)), "");
  change(value);
  return broken(verify(value));
}

TEST(Verify, Config) {
  ConfigNode config;
  config.kind = ConfigNode::Kind::map;
  config.entries.resize(2);
  config.entries[0].key = "a";
  config.entries[1].key = "b";
  EXPECT_EQ(after<ConfigNode>(config, [](ConfigNode& c) { c.entries[1].key = "a"; }),
            "config: found the key 'a' twice");
  EXPECT_NE(after<ConfigNode>(config, [](ConfigNode& c) { c.kind = ConfigNode::Kind::sequence; }), "");
}

TEST(Verify, Experiment) {
  const config::Experiment e = config::load_experiment(test::config("dgx_a100_4node.yaml"), {}).value();
  using E = config::Experiment;
  EXPECT_NE(after<E>(e, [](E& x) { x.cluster.nodes = 0; }), "");
  EXPECT_NE(after<E>(e, [](E& x) { x.device.name.clear(); }), "");
}

TEST(Verify, TopologiesOfAllShippedSystems) {
  for (const std::string& name : config::names_in("systems")) {
    const auto spec = config::load_system(name);
    ASSERT_TRUE(spec.ok()) << name;
    EXPECT_EQ(broken(verify(topology::Topology::build(*spec, 80).value())), "") << name;
  }
  EXPECT_NE(broken(verify(std::shared_ptr<const CostModels>())), "");
}

TEST(Verify, TaskGraph) {
  using G = graph::TaskGraph;
  const G& g = flagship().costed->graph;
  EXPECT_NE(after<G>(g, [](G& x) { x.ranks = 0; }), "");
  EXPECT_NE(after<G>(g, [](G& x) { x.dep_offsets.pop_back(); }), "");
  EXPECT_NE(after<G>(g, [](G& x) { x.deps.back() = x.tasks.end_id(); }), "");
  EXPECT_NE(after<G>(g, [](G& x) { x.tasks[TaskId(0)].variants = 1000; }), "");
  EXPECT_NE(after<G>(g, [](G& x) { x.tasks[TaskId(0)].rank_table = 1000; }), "");
  EXPECT_NE(after<G>(g, [](G& x) { x.tasks[TaskId(0)].partition = PartitionId(1000); }), "");
  EXPECT_NE(after<G>(g, [](G& x) { x.rank_tables.push_back({0}); }), "");
}

TEST(Verify, Workload) {
  workload::Workload w;
  w.memory.resize(1);
  using W = workload::Workload;
  EXPECT_NE(after<W>(w, [](W& x) { x.samples = -1; }), "");
  EXPECT_NE(after<W>(w, [](W& x) { x.model_flops = std::numeric_limits<double>::infinity(); }), "");
  EXPECT_NE(after<W>(w, [](W& x) { x.memory.resize(2); }), "");
  EXPECT_NE(after<W>(w, [](W& x) { x.memory[0].gradients = -1; }), "");
}

TEST(Verify, CostedGraph) {
  using C = graph::CostedGraph;
  const C& c = *flagship().costed;
  EXPECT_NE(after<C>(c, [](C& x) { x.costs[OpId(3)].low = x.costs[OpId(3)].mean + Duration::picoseconds(1); }), "");
  EXPECT_NE(after<C>(c, [](C& x) { x.costs[OpId(3)].high = Duration::picoseconds(-1); }), "");
  EXPECT_NE(after<C>(c, [](C& x) { x.costs.push_back({}); }), "");
}

TEST(Verify, Lowered) {
  using L = Lowered;
  const L& l = *flagship().lowered;
  EXPECT_NE(after<L>(l, [](L& x) { x.iterations = 0; }), "");
  EXPECT_NE(after<L>(l, [](L& x) { x.origins.push_back({}); }), "");
  EXPECT_NE(after<L>(l, [](L& x) { x.origins[StepId(5)].iteration = 1; }), "");
  EXPECT_NE(after<L>(l, [](L& x) { x.origins[StepId(0)].task = TaskId(0); }), "");
}

TEST(Verify, Timeline) {
  engine::Timeline timeline = *flagship().timeline;
  EXPECT_EQ(broken(verify(timeline, *flagship().lowered)), "");
  timeline.makespan += Duration::picoseconds(1);
  EXPECT_NE(broken(verify(timeline, *flagship().lowered)), "");
}

TEST(Verify, Report) {
  using R = report::Report;
  const R& r = flagship().report;
  const Duration one = Duration::picoseconds(1);
  EXPECT_NE(after<R>(r, [&](R& x) { x.compute += one; }), "");
  EXPECT_NE(after<R>(r, [&](R& x) { x.hidden_comm = x.comm + one; }), "");
  EXPECT_NE(after<R>(r, [&](R& x) { x.low = x.iteration + one; }), "");
  EXPECT_NE(after<R>(r, [&](R& x) { x.high = x.iteration - one; }), "");
  EXPECT_NE(after<R>(r, [&](R& x) { x.ranks.front().waiting += one; }), "");
  EXPECT_NE(after<R>(r, [&](R& x) { x.critical_path.front().time += one; }), "");
  EXPECT_NE(after<R>(r,
                     [&](R& x) {
                       x.idle = x.idle + x.compute + one;
                       x.compute = Duration() - one;
                     }),
            "");
}

TEST(Verify, AssumptionsHaveWords) {
  using P = Passed<graph::CostedGraph>;
  EXPECT_NE(after<P>(P{*flagship().costed, {{graph::AssumptionKind::kernels, "x"}}},
                     [](P& x) { x.assumptions[0].text.clear(); }),
            "");
}

}  // namespace
}  // namespace distsim::pipeline
