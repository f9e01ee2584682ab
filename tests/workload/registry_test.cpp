// What holds for every model family: a new one is tested by being registered.
#include "sim/workload/registry.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "shipped_models.hpp"

namespace distsim::workload {
namespace {

constexpr ClusterShape kOneGpu{1, 1, Bytes(std::int64_t{1} << 50)};
constexpr ClusterShape kShapes[] = {kOneGpu,
                                    {1, 8, Bytes(std::int64_t{1} << 50)},
                                    {4, 8, Bytes(std::int64_t{1} << 50)}};  // memory is not what is tested here

/// The shipped models of a family; all are read once.
std::vector<ModelSpec> shipped(const ModelFamily& family) {
  static const std::vector<ModelSpec> all = [] {
    std::vector<ModelSpec> out;
    for (const std::string& name : shipped_model_names()) out.push_back(shipped_model(name));
    return out;
  }();
  std::vector<ModelSpec> out;
  for (const ModelSpec& model : all) {
    if (model.family == &family) out.push_back(model);
  }
  return out;
}

/// The model with the defaults of its family and these keys in its section.
Result<ModelSpec> read(const ModelFamily& family, const std::string& section) {
  const std::string name(family.name);
  const auto node =
      parse_yaml("kind: " + name + "\nglobal_batch: 64\noptimizer: adam\n" + name + ": " + section + "\n", "m.yaml");
  CHECK(node.ok()) << node.error().text();
  return model_schema().read(*node, "model");
}

/// A batch that the ranks can divide, and no more than two rounds of it.
ModelSpec with_batch_for(ModelSpec m, std::uint32_t ranks) {
  m.per_gpu_batch = 0;
  m.accumulation = 1;
  m.global_batch = 2 * (m.family->batching != nullptr ? m.family->batching(m, ranks).multiple : ranks);
  return m;
}

class EveryFamily : public testing::TestWithParam<const ModelFamily*> {
 protected:
  const ModelFamily& family() const { return *GetParam(); }
  /// Calls visit(workload, model, shape) for every shipped model of the family on every shape that it can run on.
  template <class Visit>
  void for_each_workload(Visit visit) const {
    std::size_t built = 0;
    for (const ModelSpec& model : shipped(family())) {
      for (const ClusterShape& shape : kShapes) {
        const ModelSpec m = with_batch_for(model, shape.ranks());
        const auto w = build_workload(m, FrameworkSpec{}, shape);
        const std::string error = w.ok() ? "" : w.error().what;  // these need more GPUs
        if (error.find("expected a divisor of") != std::string::npos || error.find(".placement[") != std::string::npos)
          continue;
        ASSERT_TRUE(w.ok()) << m.name << " on " << shape.ranks() << ": " << w.error().text();
        visit(*w, m, shape);
        ++built;
      }
    }
    EXPECT_GT(built, 0u);
  }
};

TEST_P(EveryFamily, DescribesItself) {
  EXPECT_EQ(find_family(family().name), &family());
  EXPECT_GT(family().sentence.size(), 10u);
  EXPECT_FALSE(family().refuses.empty());
  std::set<std::string> keys;
  const auto schema = model_schema();
  for (const FieldDoc& d : schema.docs()) keys.insert(d.key.substr(0, d.key.find('.')));
  EXPECT_TRUE(keys.contains(std::string(family().name))) << "no section of keys";
}

TEST_P(EveryFamily, RefusesWhatItSays) {
  for (const Refusal& refusal : family().refuses) {
    const auto model = read(family(), std::string(refusal.keys));
    const auto built = model.ok() ? build_workload(*model, FrameworkSpec{}, {1, 8, Bytes(80'000'000'000)})
                                  : Result<Workload>(model.error());
    ASSERT_FALSE(built.ok()) << refusal.keys;
    const std::string text = built.error().text();
    EXPECT_NE(text.find(refusal.message), std::string::npos) << refusal.keys << ": " << text;
    EXPECT_NE(text.find("expected"), std::string::npos) << text;
  }
}

TEST_P(EveryFamily, HasAShippedModelOrNeedsNone) {
  // A program is described in an experiment of its own, a graph is a file of the user's.
  EXPECT_EQ(shipped(family()).empty(), family().name == "program" || family().name == "graph");
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryFamily, testing::ValuesIn(model_families().begin(), model_families().end()),
                         [](const auto& info) { return std::string(info.param->name); });

/// Those of the table that have a shipped model.
class EveryShippedFamily : public EveryFamily {};

std::int64_t sum_of(const std::vector<std::int64_t>& v) { return std::accumulate(v.begin(), v.end(), std::int64_t{0}); }

TEST_P(EveryShippedFamily, GraphsAreWellFormed) {
  for_each_workload([](const Workload& w, const ModelSpec& m, const ClusterShape& shape) {
    const graph::TaskGraph& g = w.graph;
    EXPECT_EQ(g.ranks, shape.ranks()) << m.name;
    EXPECT_EQ(w.samples, static_cast<double>(m.global_batch)) << m.name;
    EXPECT_EQ(w.precision, m.precision);
    EXPECT_GT(w.model_flops, 0) << m.name;
    EXPECT_GT(w.dense_parameters + w.embedding_parameters, 0) << m.name;
    EXPECT_TRUE(w.memory.size() == 1 || w.memory.size() == shape.ranks()) << m.name;
    for (const RankMemory& r : w.memory) EXPECT_GT(r.total(), 0) << m.name;
    for (std::uint32_t t = 0; t < g.tasks.size(); ++t) {
      for (const TaskId dep : g.dependencies(TaskId(t))) ASSERT_LT(dep.value(), t) << m.name;
    }
  });
}

/// What is sent is received, on every collective with sizes of its own per rank; and nothing is exchanged on one GPU.
TEST_P(EveryShippedFamily, BytesAreConserved) {
  for_each_workload([](const Workload& w, const ModelSpec& m, const ClusterShape& shape) {
    for (const graph::Op& op : w.graph.ops) {
      const auto* c = std::get_if<graph::Collective>(&op);
      if (c == nullptr) continue;
      EXPECT_GT(shape.ranks(), 1u) << m.name;
      EXPECT_GT(c->bytes, 0) << m.name;
      EXPECT_EQ(sum_of(c->send_bytes), sum_of(c->recv_bytes)) << m.name;
    }
  });
}

TEST_P(EveryShippedFamily, SaysOnceHowTheBatchIsDivided) {
  for_each_workload([](const Workload& w, const ModelSpec& m, const ClusterShape&) {
    std::size_t batches = 0;
    for (const graph::Assumption& a : w.assumptions) batches += a.kind == graph::AssumptionKind::batch;
    EXPECT_EQ(batches, 1u) << m.name;
  });
}

/// Twice the batch is twice the work of the matrices.
TEST_P(EveryShippedFamily, WorkFollowsTheBatch) {
  for (const ModelSpec& shipped_model : shipped(family())) {
    ModelSpec m = with_batch_for(shipped_model, 256);
    m.global_batch *= 32;  // so that what is rounded up to whole rows weighs little
    const auto once = build_workload(m, FrameworkSpec{}, {32, 8, Bytes(std::int64_t{1} << 50)});
    m.global_batch *= 2;
    const auto twice = build_workload(m, FrameworkSpec{}, {32, 8, Bytes(std::int64_t{1} << 50)});
    if (!once.ok() && once.error().what.find("expected a divisor of") != std::string::npos) continue;
    ASSERT_TRUE(once.ok() && twice.ok()) << m.name << ": " << (once.ok() ? twice : once).error().text();
    EXPECT_NEAR(twice->model_flops / once->model_flops, 2, 0.005) << m.name;
  }
}

std::vector<const ModelFamily*> shipped_families() {
  std::vector<const ModelFamily*> out;
  for (const ModelFamily* family : model_families()) {
    if (!shipped(*family).empty()) out.push_back(family);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryShippedFamily, testing::ValuesIn(shipped_families()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace distsim::workload
