// What was asked of a study and changes nothing: the lines of the command, about the library's arguments.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "sim/api/public/distsim.hpp"
#include "sim/serving/policies/library/distsim_policy.hpp"
#include "test_paths.hpp"

namespace distsim::api {
namespace {

using Lines = std::vector<std::string>;

Experiment dlrm(Lines sets = {}) {
  Experiment out = Experiment::of_text(
      "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: {name: dlrm_mlperf, global_batch: 8192}\nframework: {name: "
      "hugectr}\n",
      "job");
  out.sets = std::move(sets);
  return out;
}

constexpr const char* kIdle = "model.transformer_xl.layers=7";
constexpr const char* kIdleLine = "set model.transformer_xl.layers=7: no effect on the prediction";

TEST(WithoutEffect, ASweepNamesItsKeysSettingsAndScaling) {
  const Sweep idle = sweep({dlrm({kIdle}), {{"parallel.tensor", {"1", "2"}}}, Scaling::strong});
  EXPECT_EQ(idle.without_effect(),
            (Lines{"scaling: no effect, neither cluster.nodes nor cluster.gpus_per_node is swept",
                   "vary parallel.tensor: no effect at any point", kIdleLine}));
  const Sweep plain = sweep({dlrm(), {{"model.global_batch", {"8192", "16384"}}}});
  EXPECT_EQ(plain.without_effect(), Lines{}) << "no scaling was asked for";
  EXPECT_EQ(sweep({dlrm({"model.precision=fp16"}), {{"cluster.nodes", {"1", "2"}}}, Scaling::weak}).without_effect(),
            Lines{});
}

TEST(WithoutEffect, AStopEndsTheLookAndTheNextCallLooksAgain) {
  const Stop at_once = [] { return true; };
  const Sweep swept = sweep({dlrm({kIdle}), {{"cluster.nodes", {"1", "2"}}}});
  EXPECT_THROW(swept.without_effect(at_once), Interrupted);
  EXPECT_EQ(swept.without_effect(), Lines{kIdleLine});
  const Plan planned = plan({dlrm({kIdle}), {{"model.global_batch", {"8192", "16384"}}}});
  EXPECT_THROW(planned.without_effect(at_once), Interrupted);
  EXPECT_EQ(planned.without_effect(), Lines{kIdleLine});
  const Comparison compared = compare({{"a", dlrm({kIdle})}, {"b", dlrm({kIdle, "cluster.nodes=1"})}});
  EXPECT_THROW(compared.without_effect(at_once), Interrupted);
  EXPECT_EQ(compared.without_effect().size(), 1u);
}

TEST(WithoutEffect, ASweepOfAFileNamesTheSame) {
  Experiment file = Experiment::of_file(test::root() + "/configs/dgx_a100_4node.yaml");
  file.sets = {kIdle};
  EXPECT_EQ(sweep({file, {{"cluster.nodes", {"1", "2"}}}}).without_effect(), Lines{kIdleLine});
}

TEST(WithoutEffect, APlanNamesArgumentsThatAreNotTheUsualOnes) {
  PlanRequest request{dlrm({kIdle}), {{"model.global_batch", {"8192", "16384"}}, {"parallel.tensor", {"1", "2"}}}};
  EXPECT_EQ(plan(request).without_effect(),
            (Lines{"vary parallel.tensor: no effect on any row",
                   "set model.transformer_xl.layers=7: no effect on the 3 predictions tried"}));
  request.vary.pop_back();
  request.experiment.sets.clear();
  request.top = 50;
  request.exhaustive = true;
  request.most_played = 1000;
  request.draws = 2;
  request.least_columns = 64;
  EXPECT_EQ(plan(request).without_effect(),
            (Lines{"exhaustive: no effect, everything is played",
                   "draws: no effect, only layouts of language models are drawn, where their framework splits them",
                   "least_columns: no effect, no tables are planned", "top: no effect, no more were played",
                   "max_played: no effect, there is no more to play"}));
}

TEST(WithoutEffect, AComparisonNamesWhatChangesNoSideOrNothingOfItsSides) {
  const Comparison common = compare({{"a", dlrm({kIdle})}, {"b", dlrm({kIdle, "cluster.nodes=4"})}});
  EXPECT_EQ(common.without_effect(), Lines{kIdleLine});
  const Comparison own = compare({{"a", dlrm()}, {"b", dlrm({kIdle, "cluster.nodes=4"})}});
  EXPECT_EQ(own.without_effect(), Lines{kIdleLine});
  const Comparison some = compare({{"a", dlrm()}, {"b", dlrm({kIdle})}, {"c", dlrm({kIdle, "cluster.nodes=4"})}});
  EXPECT_EQ(some.without_effect(), (Lines{std::string(kIdleLine) + " of b", std::string(kIdleLine) + " of c"}));
  EXPECT_EQ(compare({{"a", dlrm()}, {"b", dlrm({"cluster.nodes=4"})}}).without_effect(), Lines{});
}

TEST(WithoutEffect, ThreadsThatAskAtTheSameTimeAreToldTheSame) {
  const Sweep idle = sweep({dlrm({kIdle}), {{"parallel.tensor", {"1", "2"}}}});
  std::vector<Lines> found(4);
  std::vector<std::thread> threads;
  for (Lines& own : found) threads.emplace_back([&own, copy = idle] { own = copy.without_effect(); });
  for (std::thread& thread : threads) thread.join();
  for (const Lines& own : found) EXPECT_EQ(own, (Lines{"vary parallel.tensor: no effect at any point", kIdleLine}));
}

TEST(WithoutEffect, ASettingThatALaterOneReplacesIsNamedOnce) {
  const Lines twice{"model.global_batch=4096", "model.global_batch=8192"};
  const std::string line = "set model.global_batch=4096: no effect, replaced by set model.global_batch=8192";
  const Experiment job = dlrm({twice[0], "model.global_batch=16384"});
  EXPECT_EQ(sweep({dlrm(twice), {{"cluster.nodes", {"1", "2"}}}}).without_effect().front(), line);
  EXPECT_EQ(plan({dlrm(twice), {{"cluster.nodes", {"1", "2"}}}}).without_effect().front(), line);
  EXPECT_EQ(compare({{"a", job}, {"b", job}}).without_effect(),
            Lines{"set model.global_batch=4096: no effect, replaced by set model.global_batch=16384"});
  const Lines idle{"model.rnn.encoder_layers=2", "model.rnn.encoder_layers=3"};
  EXPECT_EQ(sweep({dlrm(idle), {{"cluster.nodes", {"1", "2"}}}}).without_effect(),
            (Lines{"set " + idle[0] + ": no effect, replaced by set " + idle[1],
                   "set " + idle[1] + ": no effect on the prediction"}));
}

TEST(WithoutEffect, ASettingThatOneSideReplacesIsNamedWithTheSide) {
  const Lines twice{"cluster.nodes=4", "cluster.nodes=2"};
  const Comparison some = compare({{"a", dlrm({twice[0]})}, {"b", dlrm(twice)}});
  EXPECT_EQ(some.without_effect(), Lines{"set cluster.nodes=4: no effect, replaced by set cluster.nodes=2 of b"});
  const Comparison one = compare({{"a", dlrm()}, {"b", dlrm(twice)}});
  EXPECT_EQ(one.without_effect(), Lines{"set cluster.nodes=4: no effect, replaced by set cluster.nodes=2"});
}

TEST(WithoutEffect, APredictionNamesSettingsThatLaterOnesReplace) {
  const std::string json = predict(dlrm({"cluster.nodes=4", "cluster.nodes=2"})).json();
  EXPECT_NE(json.find("no effect on this prediction: cluster.nodes=4 (replaced by --set cluster.nodes=2)"),
            std::string::npos);
  EXPECT_EQ(predict(dlrm({"cluster.nodes=2"})).json().find("replaced by"), std::string::npos);
}

TEST(WithoutEffect, ACollectiveNamesMembersThatChangeNoPrice) {
  CollectiveRequest request{"dgx_a100_80gb", "all_gather", {"1000001"}};
  request.exchange = "hierarchical";
  request.use_curves = false;
  request.allow_partial = true;
  const Lines idle{"bytes: 1000001 is not a multiple of 8 ranks; nccl-tests would send less",
                   "allow_partial: no effect, the cost is the same", "exchange: no effect, the cost is the same"};
  Lines found = cost_collective(request).remarks;
  std::erase_if(found, [](const std::string& line) { return line.find("use_curves: ") == 0; });
  EXPECT_EQ(found, idle);

  CollectiveRequest chosen{"dgx_a100_80gb", "broadcast", {"1MiB"}};
  chosen.algorithms = {"Tree"};
  EXPECT_EQ(cost_collective(chosen).remarks,
            Lines{"algorithms, protocols: none of them supports broadcast on this group; priced with NCCL's default "
                  "choice"});
  EXPECT_EQ(cost_collective({"dgx_a100_80gb", "all_reduce", {"1MiB"}}).remarks, Lines{});
}

TEST(WithoutEffect, AReplayOfChakraTracesNotesWhatChangesNoTime) {
  ReplayRequest request;
  request.traces = {test::root() + "/tests/data/traces/astra_et/all_reduce_8npus_1MB_all_reduce.*.et"};
  request.experiment = Experiment::of_file(test::root() + "/configs/dgx_a100_4node.yaml");
  request.experiment->sets = {kIdle};
  request.compute_scale = 2;
  const Replay done = replay(request);
  const std::string line = "no effect on this replay: --set " + std::string(kIdle) + ", --compute-scale";
  EXPECT_NE(done.json.find(line), std::string::npos);
  EXPECT_NE(done.text.find(line), std::string::npos);
}

class Oldest : public serving_policy::Policy {
 public:
  std::uint32_t arrived(const serving_policy::State&, std::uint32_t id) override {
    waiting_.push_back(id);
    return serving_policy::kAny;
  }
  serving_policy::Work next(const serving_policy::State&, std::uint32_t) override {
    serving_policy::Work work;
    if (waiting_.empty()) return work;
    work.requests.push_back(waiting_.front());
    waiting_.erase(waiting_.begin());
    return work;
  }

 private:
  std::vector<std::uint32_t> waiting_;
};

TEST(WithoutEffect, ServingNamesKeysOfTheTextAndSettings) {
  ServingRequest request;
  request.experiment = Experiment::of_text(
      "gpus: [{name: a}]\nmodels: [{name: m, layer_times: [1 ms], priority: 2}]\n"
      "load: {rate_per_s: 100, requests: 100}\npolicies: [fifo]\n",
      "small");
  request.experiment.sets = {"load.cv=2", "run.confidence=0.95"};
  const Lines idle{"small:2:51: models[0].priority: no effect, no policy goes by priority"};
  const Lines sets{"set load.cv: no effect, it is of kind gamma",
                   "set run.confidence=0.95: no effect, the experiment is the same without it"};
  EXPECT_EQ(serving(request).without_effect(), (Lines{sets[0], idle[0], sets[1]}));

  request.policy = [] { return std::make_unique<Oldest>(); };
  EXPECT_EQ(serving(request).without_effect(), sets) << "a policy of the caller's may go by priority";
}

}  // namespace
}  // namespace distsim::api
