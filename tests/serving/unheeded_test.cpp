// What is written and does not count, or contradicts itself: each gets a line.

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "scenarios.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {
namespace {

const std::string kTwoGpus =
    "gpus: [{name: a}, {name: b, speed: 2}]\n"
    "models: [{name: m, layer_times: [1 ms, 2 ms]}]\n"
    "load: {rate_per_s: 100, requests: 1000}\n"
    "policies: [fifo]\n";

std::string file_with(const std::string& name, const std::string& text) {
  const std::string path = (std::filesystem::path(testing::TempDir()) / name).string();
  std::ofstream(path) << text;
  return path;
}

bool says(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST(Unheeded, KeysOfGpusWithoutEffectAreNamed) {
  const auto idle = [](const std::vector<std::string>& sets) {
    const auto e = parse_experiment(kTwoGpus, "x.yaml", sets);
    EXPECT_TRUE(e.ok()) << (e.ok() ? "" : e.error().text());
    return e.ok() ? e->idle_keys : std::vector<std::string>{};
  };
  const std::string one = "gpus=[{name: a}]", link = "models.0.input=1 MB";
  EXPECT_TRUE(says(idle({one, "gpus.0.slots=4"}), "gpus.0.slots: no effect, nothing is copied"));
  EXPECT_TRUE(says(idle({one, "gpus.0.slots=4", "gpus.0.execution=pipeline"}), "gpus.0.slots: no effect"));
  EXPECT_EQ(idle({one, "gpus.0.slots=4", link}).size(), 0u);
  EXPECT_EQ(idle({one, "gpus.0.slots=4", "gpus.0.execution=shared"}).size(), 0u);
  EXPECT_EQ(idle({one, "gpus.0.slots=4", "gpus.0.count=2"}).size(), 0u);
  EXPECT_TRUE(says(idle({"gpus.0.execution=shared"}), "gpus.0.execution: no effect, with one slot"));
  EXPECT_EQ(idle({"gpus.0.execution=shared", "models.0.sm_limit=0.5"}).size(), 0u);
  EXPECT_TRUE(says(idle({"cluster.system=dgx_a100_80gb"}), "cluster.system: no effect, nothing is copied"));
  EXPECT_EQ(idle({"cluster.system=dgx_a100_80gb", link}).size(), 0u);
  EXPECT_TRUE(
      says(idle({"gpus.0.count=2", "gpus.0.host_link_shared_by=2"}), "shared_by: no effect, nothing is copied"));
  EXPECT_EQ(idle({"gpus.0.count=2", "gpus.0.host_link_shared_by=2", link}).size(), 0u);
  EXPECT_TRUE(says(idle({one, "gpus.0.host_bandwidth=1 GB/s", "cluster.system=dgx_a100_80gb", link}),
                   "cluster.system: no effect, the one GPU has a link"));
  EXPECT_TRUE(says(idle({"load.per_model=true"}), "load.per_model: no effect, there is one model"));
  EXPECT_TRUE(
      says(idle({"load={kind: offline, duration: 1 s}"}), "load.duration: no effect, all samples come at once"));
  const std::string branches = "models.0={name: m, layer_times: [1 ms, 1 ms], after: [[], []]}";
  EXPECT_TRUE(says(idle({branches}), "after: no effect, no GPU has streams"));
  EXPECT_EQ(idle({branches, "policies=[branch_fifo]"}).size(), 0u);
}

/// Numbers of boxes only say which GPUs share one, and placements which GPUs they leave out.
TEST(Unheeded, NumbersOfBoxesAndPlacementsOnAllGpusAreNamed) {
  const auto idle = [](const std::vector<std::string>& sets) {
    return sets_without_effect(
        [](const std::vector<std::string>& all) { return parse_experiment(kTwoGpus, "x.yaml", all); }, sets);
  };
  using Sets = std::vector<std::string>;
  for (const Sets& sets : {Sets{"models.0.placed_on=[a, b]"}, Sets{"models.0.placed_on=[b, a]"}})
    EXPECT_EQ(idle(sets), sets);
  EXPECT_EQ(idle({"models.0.placed_on=[b]"}), Sets{});
  EXPECT_EQ(idle({"gpus=[{name: a, count: 2}]", "gpus.0.box=1"}), Sets{"gpus.0.box=1"});
  EXPECT_EQ(idle({"gpus=[{name: a, count: 2}]", "models.0.placed_on=[a]"}), Sets{"models.0.placed_on=[a]"});
  EXPECT_EQ(idle({"gpus.0.box=1"}), Sets{});
  EXPECT_EQ(idle({"gpus=[{name: a, box: 3}, {name: b}]", "gpus.0.box=1"}), Sets{"gpus.0.box=1"});
}

/// A table that no model finds is no silent matter.
TEST(Unheeded, TablesThatNothingFindsAreNamed) {
  const auto idle = [](const std::string& rows, const std::vector<std::string>& sets) {
    const std::string table = file_with("unmatched.csv", "model,gpu,batch,layer,time_us\n" + rows);
    std::vector<std::string> all{"times=[" + table + "]"};
    all.insert(all.end(), sets.begin(), sets.end());
    const auto e = parse_experiment(kTwoGpus, "x.yaml", all);
    EXPECT_TRUE(e.ok()) << (e.ok() ? "" : e.error().text());
    return e.ok() ? e->idle_keys : std::vector<std::string>{};
  };
  const std::string two = "gpus=[{name: a}]";
  EXPECT_EQ(idle("m,a,1,x,1000\n", {two, "models.0={name: m}"}).size(), 0u);
  EXPECT_TRUE(says(idle("M,a,1,x,1000\n", {two}), "models[0].name: no table of times has 'm'; did you mean 'M'?"));
  EXPECT_TRUE(says(idle("M,a,1,x,1000\n", {two}), "times[0]: no effect, no row is of a model and a GPU"));
  EXPECT_TRUE(
      says(idle("m,a,1,x,1000\n", {"gpus=[{name: a, kind: b}]"}), "gpus[0].kind: no table of times has 'b'; one of a"));
  EXPECT_TRUE(says(idle("ResNet18,a,1,x,1000\n", {two, "models.0.table_name=Resnet18"}),
                   "table_name: no table of times has 'Resnet18'; did you mean 'ResNet18'?"));
}

/// The answer does not depend on which GPU of a box comes first.
TEST(Unheeded, ABoxHasOneAdapter) {
  const auto adapter = [](const std::string& a, const std::string& b) {
    const std::string gpus = "gpus=[{name: a, box: 0" + a + "}, {name: b, box: 0" + b + "}, {name: c, box: 1}]";
    const auto e = parse_experiment(kTwoGpus, "x.yaml", {gpus});
    return e.ok() ? std::to_string(e->scenario.links[e->scenario.gpus[0].box_in].bytes_per_s) : e.error().text();
  };
  const std::string slow = ", box_bandwidth: 1 GB/s", fast = ", box_bandwidth: 10 GB/s";
  EXPECT_EQ(adapter(slow, ""), adapter("", slow));
  EXPECT_EQ(adapter(slow, ""), adapter(slow, slow));
  EXPECT_NE(adapter(slow, "").find("1000000000"), std::string::npos);
  EXPECT_NE(adapter(slow, fast).find("gpus[1].box_bandwidth: found 10 GB/s, expected 1 GB/s as of gpus[0], a"),
            std::string::npos);
  EXPECT_NE(adapter(", box_latency: 1 us", ", box_latency: 2 us").find("gpus[1].box_latency: found 2 us, expected"),
            std::string::npos);
}

/// More waits than memory is meant for: said before it is played, where no policy can help it.
TEST(Unheeded, AnEvidentOverloadIsNotPlayed) {
  const auto failure = [](const std::vector<std::string>& sets) {
    const auto e = parse_experiment(
        "gpus: [{name: a}]\nmodels: [{name: m, layer_times: [1 s]}]\nload: {rate_per_s: 1000000, requests: 100000000}\n"
        "policies: [fifo]\n",
        "x.yaml", sets);
    EXPECT_TRUE(e.ok()) << (e.ok() ? "" : e.error().text());
    return e.ok() ? compare_policies(*e, 1, [] {}).points[0].error : e.error().text();
  };
  const std::string refusal =
      "policy fifo: load above capacity, 1e+06 requests/s arrive and at most 1 can be served: after 4 s more than "
      "4000000 requests are in the system, expected at most 4000000";
  EXPECT_EQ(failure({}), refusal);
  EXPECT_EQ(failure({"load={kind: constant, rate_per_s: 1000000, duration: 100 s}"}), refusal);
  EXPECT_EQ(failure({"load={kind: offline, requests: 1000000000000}"}),
            "policy fifo: 4000001 requests in the system after 0 s, expected at most 4000000; run.max_in_system is how "
            "many there may be");
  EXPECT_EQ(failure({"load.requests=100000"}), "");  // ends before there are too many
  EXPECT_EQ(failure({"load.requests=100000", "run.max_in_system=60000"}).find("policy fifo: 60001 requests in"), 0u);
}

}  // namespace
}  // namespace distsim::serving
