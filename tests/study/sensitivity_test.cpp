#include "sim/study/sensitivity/sensitivity.hpp"
#include "base/json/json.hpp"
#include "sim/report/html/page.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <tuple>

#include "small_llm.hpp"
#include "test_paths.hpp"

namespace distsim::study {
namespace {

Sensitivity sensitivity_of(const std::vector<std::string>& sets,
                           const std::string& file = "/configs/dgx_a100_4node.yaml") {
  const auto e = config::load_experiment(test::root() + file, sets);
  EXPECT_TRUE(e.ok()) << e.error().text();
  auto s = sensitivity(*e, {}, [] {});
  EXPECT_TRUE(s.ok()) << s.error().text();
  return std::move(*s);
}

const ResourceSensitivity* find(const Sensitivity& s, std::string_view name) {
  for (const ResourceSensitivity& r : s.resources) {
    if (r.resource->name == name) return &r;
  }
  return nullptr;
}

/// Each entry is what `--set` of the same keys predicts.
TEST(Sensitivity, IsTheWhatIfAskedOneByOne) {
  const Sensitivity s = sensitivity_of({});
  const auto replayed = [](const std::vector<std::string>& sets) {
    pipeline::Passes passes;
    const auto p = pipeline::predict(test::root() + "/configs/dgx_a100_4node.yaml", sets, passes);
    EXPECT_TRUE(p.ok()) << p.error().text();
    return p->report.iteration;
  };
  EXPECT_EQ(s.base.iteration, replayed({}));
  ASSERT_NE(find(s, "nic_bandwidth"), nullptr);
  const auto e = config::load_experiment(test::root() + "/configs/dgx_a100_4node.yaml", {});
  const double gbps = e->cluster.nic.bandwidth.value() * 8e-9;
  for (const double factor : {0.5, 0.9, 1.1, 2.0}) {
    const Duration expected = replayed({"cluster.nic.bandwidth=" + std::to_string(gbps * factor) + " Gb/s"});
    EXPECT_NEAR(find(s, "nic_bandwidth")->at(factor).iteration.ms() / expected.ms(), 1, 0.005) << factor;
  }
}

/// Points share what they have in common, which changes none of them.
TEST(Sensitivity, EveryPointIsThePredictionOfItsExperiment) {
  const auto e =
      config::load_experiment(test::root() + "/configs/dgx_a100_4node.yaml", {"framework.input.per_sample=1 ns"});
  ASSERT_TRUE(e.ok()) << e.error().text();
  const auto s = sensitivity(*e, {}, [] {});
  ASSERT_TRUE(s.ok()) << s.error().text();
  for (const ResourceSensitivity& r : s->resources) {
    for (const ResourcePoint& p : r.points) {
      if (r.resource->figures == nullptr || std::isinf(p.factor)) continue;
      config::Experiment changed = *e;
      r.resource->improve(changed, p.factor);
      pipeline::Passes passes;
      const auto alone = pipeline::predict(changed, passes);
      ASSERT_TRUE(alone.ok()) << alone.error().text();
      EXPECT_EQ(p.iteration, alone->report.iteration) << r.resource->name << " x" << p.factor;
      EXPECT_EQ(p.limited_by, report::text_of(alone->report.limits.limited_by)) << r.resource->name << " x" << p.factor;
    }
  }
}

/// Where only some were asked for, nothing is said of the others.
TEST(Sensitivity, SaysThatNoneOfThoseAskedForHelps) {
  const auto e = config::load_experiment(test::config("bert_large_dgx_a100.yaml"), {});
  const auto text_of = [&](const std::vector<const Resource*>& asked) {
    return sensitivity_text(sensitivity(*e, {.resources = asked}, [] {}).value());
  };
  const std::string some = text_of({find_resource("pcie_latency", *e).value()});
  EXPECT_NE(some.find("None of the resources asked for makes the iteration shorter"), std::string::npos) << some;
  EXPECT_EQ(text_of({}).find("None of the resources"), std::string::npos);
}

/// Two levels of oversubscription are two resources.
TEST(Sensitivity, NamesTheSpineThatLimits) {
  const Sensitivity s = sensitivity_of({"cluster.nodes=16", "cluster.fabric.nodes_per_leaf=2",
                                        "cluster.fabric.leaves_per_pod=2", "cluster.fabric.spine_oversubscription=8"});
  const ResourceSensitivity* spine = find(s, "spine_bandwidth");
  ASSERT_NE(spine, nullptr);
  EXPECT_LT(s.change(spine->at(2).iteration), -0.2);
  EXPECT_EQ(find(s, "uplink_bandwidth"), nullptr);
}

/// Where more memory changes nothing, what limits the iteration is what limits it now.
TEST(Sensitivity, MemoryThatChangesNothingKeepsTheLimit) {
  const Sensitivity s = sensitivity_of({});
  const ResourceSensitivity* memory = find(s, "memory_capacity");
  ASSERT_NE(memory, nullptr);
  for (const ResourcePoint& p : memory->points) {
    if (p.iteration == s.base.iteration) {
      EXPECT_EQ(p.limited_by, report::text_of(s.base.limits.limited_by)) << p.factor;
    }
  }
}

/// A job that does not fit has no batch to compare with.
TEST(Sensitivity, LeavesMemoryOutWhereItIsNotChecked) {
  EXPECT_EQ(find(sensitivity_of({"model.memory_check=false"}), "memory_capacity"), nullptr);
}

/// The smallest batch has no layout, and what a language model recomputes depends on its memory.
TEST(Sensitivity, MoreMemoryHelpsALanguageModelThatRecomputes) {
  const auto e = test::experiment_of(test::llm_text("llama3_8b", "megatron_core", "dgx_h100", 2, 128));
  SensitivityRequest request;
  request.factors = {1, 2};
  request.resources = {find_resource("memory_capacity", e).value()};
  const auto s = sensitivity(e, request, [] {});
  ASSERT_TRUE(s.ok()) << s.error().text();
  const ResourcePoint& twice = s->resources.front().at(2);
  EXPECT_EQ(twice.error, "");
  EXPECT_LT(twice.iteration, s->base.iteration);
}

/// Of memory as of every other resource. Where one of its points is not predicted, nothing is said of it.
TEST(Sensitivity, ElasticityIsTheSlopeBetweenItsPointsOrUnknown) {
  const auto memory_of = [](int batch, int micro_batch, const std::string& capacity) {
    const auto e = test::experiment_of(
        "cluster: {system: p4d_a100_40gb, nodes: 4}\nframework: {name: t5x}\nmodel: {kind: llm, global_batch: " +
        std::to_string(batch) +
        ", precision: fp32, optimizer: momentum, llm: {layers: 16, hidden: 1024, heads: 16, kv_heads: 1, sequence: 4096, "
        "vocabulary: 128256}}\nparallel: {pipeline: 4, micro_batch: " +
        std::to_string(micro_batch) + ", recompute: none}\ndevice: {hbm: {capacity: " + capacity + "}}\n");
    SensitivityRequest request;
    request.resources = {find_resource("memory_capacity", e).value()};
    auto s = sensitivity(e, request, [] {});
    EXPECT_TRUE(s.ok()) << s.error().text();
    return std::move(*s);
  };
  bool changes = false, fails = false;
  for (const auto& [batch, micro_batch, capacity] : {std::tuple(32, 2, "40 GiB"), {32, 2, "27 GB"}, {8, 1, "15 GB"}}) {
    const Sensitivity s = memory_of(batch, micro_batch, capacity);
    const ResourceSensitivity& r = s.resources.front();
    const ResourcePoint &below = r.at(0.9), &above = r.at(1.1);
    ASSERT_EQ(r.elasticity.has_value(), below.error.empty() && above.error.empty()) << capacity;
    const auto json = nlohmann::json::parse(sensitivity_json(s))["resources"][0]["elasticity"];
    EXPECT_EQ(json.is_null(), !r.elasticity);
    if (r.elasticity) {
      const double slope = std::log(above.iteration.seconds() / below.iteration.seconds()) / std::log(1.1 / 0.9);
      EXPECT_NEAR(*r.elasticity, slope, 1e-9) << capacity;
      changes = changes || *r.elasticity < 0;
    } else {
      fails = true;
      EXPECT_TRUE(sensitivity_text(s).find("          -\n") != std::string::npos) << sensitivity_text(s);
    }
  }
  EXPECT_TRUE(changes);
  EXPECT_TRUE(fails);
}

/// A better resource never lengthens the iteration, a worse one never shortens it.
TEST(Sensitivity, IsMonotoneInEveryResource) {
  for (const std::vector<std::string>& sets :
       {std::vector<std::string>{}, {"cluster.nodes=1"}, {"model.name=bert_large_seq512", "model.global_batch=1024"}}) {
    const Sensitivity s = sensitivity_of(sets);
    EXPECT_GE(s.resources.size(), 10u);
    for (const ResourceSensitivity& r : s.resources) {
      Duration last = Duration::microseconds(INT64_C(1) << 40);
      for (const ResourcePoint& p : r.points) {
        if (!p.error.empty()) continue;
        EXPECT_LE(p.iteration.ms(), last.ms() * 1.001) << r.resource->name << " x" << p.factor;
        if (p.factor < 1) {
          EXPECT_GE(p.iteration.ms(), s.base.iteration.ms() / 1.001) << r.resource->name;
        }
        last = p.iteration;
      }
    }
  }
}

/// The resources that the question is about, each with its level: none is forgotten where an experiment has all.
TEST(Sensitivity, NamesEveryResource) {
  const Sensitivity s = sensitivity_of({"cluster.fabric.oversubscription=2", "cluster.fabric.spine_oversubscription=2",
                                        "framework.input.per_sample=1 ns"});
  for (const char* name :
       {"nic_bandwidth",     "nic_latency",    "uplink_bandwidth", "spine_bandwidth", "switch_latency",
        "nvlink_bandwidth",  "nvlink_latency", "pcie_bandwidth",   "pcie_latency",    "matrix_flops",
        "vector_flops",      "hbm_bandwidth",  "l2_bandwidth",     "kernel_launch",   "host_speed",
        "collective_launch", "input_rate",     "stragglers",       "power_limit",     "memory_capacity"})
    EXPECT_NE(find(s, name), nullptr) << name;
  EXPECT_EQ(s.resources.size(), resources().size());
  EXPECT_LT(find(s, "collective_launch")->at(2).iteration, s.base.iteration);
  EXPECT_GT(find(s, "collective_launch")->at(0.5).iteration, s.base.iteration);
}

/// On one node there is no network between nodes, without input time no input rate.
TEST(Sensitivity, HasOnlyTheResourcesThatTheExperimentHas) {
  const Sensitivity s = sensitivity_of({"cluster.nodes=1"});
  EXPECT_EQ(find(s, "nic_bandwidth"), nullptr);
  EXPECT_EQ(find(s, "switch_latency"), nullptr);
  EXPECT_NE(find(s, "nvlink_bandwidth"), nullptr);
}

/// Largest gain first.
TEST(Sensitivity, PutsWhatHelpsMostFirst) {
  const Sensitivity s = sensitivity_of({});
  for (std::size_t i = 1; i < s.resources.size(); ++i) {
    const ResourcePoint &before = s.resources[i - 1].at(2), &after = s.resources[i].at(2);
    if (before.error.empty() && after.error.empty()) {
      EXPECT_LE(before.iteration, after.iteration);
    }
  }
}

/// Detours that are so much longer leave a process none of its core.
TEST(Sensitivity, RanksThatNeverRunHaveTheirReason) {
  const auto e = config::load_experiment(test::root() + "/configs/dgx_a100_4node.yaml", {});
  ASSERT_TRUE(e.ok()) << e.error().text();
  const auto s = sensitivity(*e, {.factors = {1e-4}, .resources = {*find_resource("stragglers", *e)}}, [] {});
  ASSERT_TRUE(s.ok()) << s.error().text();
  EXPECT_EQ(s->resources.front().at(1e-4).error, "cluster.host.jitter_time would take all of the core");
}

/// One row per resource and factor, with the columns that scripts read.
TEST(Sensitivity, CsvHasARowForEachFactor) {
  const Sensitivity s = sensitivity_of({});
  std::istringstream in(sensitivity_csv(s));
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_EQ(line, "resource,level,factor,iteration_ms,delta_percent,elasticity,limited_by,error");
  std::size_t rows = 0;
  while (std::getline(in, line)) ++rows;
  EXPECT_EQ(rows, s.resources.size() * kFactors.size());
}

/// Characters that nobody sees leave as escapes, and are shown on the page.
TEST(Sensitivity, HiddenCharactersOfTitlesAreEscaped) {
  const Sensitivity s =
      sensitivity_of({"title=X\xC2\x9B"
                      "31m\xE2\x80\xAE"});
  EXPECT_NE(sensitivity_json(s).find("X\\u009b31m\\u202e"), std::string::npos);
  EXPECT_NE(sensitivity_html(s).find("X\\\\xc2\\\\x9b31m\\\\xe2\\\\x80\\\\xae"), std::string::npos);
}

/// The page loads nothing, and holds what --json writes.
TEST(Sensitivity, PageIsSelfContained) {
  const Sensitivity s = sensitivity_of({"title=<b>&"});
  std::string page = sensitivity_html(s);
  const std::string begin = "id=\"page-data\">";
  const std::size_t from = page.find(begin) + begin.size();
  const auto data = nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  EXPECT_EQ(data["kind"], "sensitivity");
  EXPECT_EQ(data["result"], nlohmann::json::parse(sensitivity_json(s)));
  page.erase(page.find(report::page_script()), report::page_script().size());
  EXPECT_EQ(page.find("<b>&"), std::string::npos);
  EXPECT_EQ(page.find("http:"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_NE(page.find("</html>"), std::string::npos);
}

}  // namespace
}  // namespace distsim::study
