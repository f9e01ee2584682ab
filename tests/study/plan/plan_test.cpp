#include "sim/study/plan/plan.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/threads/stop.hpp"
#include "plan_fixture.hpp"
#include "sanitizers.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/plan/experiment_file.hpp"
#include "sim/study/plan/plan_rows.hpp"
#include "sim/study/plan/plan_sites.hpp"
#include "test_paths.hpp"

namespace distsim::study {
namespace {

TEST_F(PlanTest, IsSortedWithTheBaselineAmongThem) {
  const Plan plan = planned(small()).value();
  ASSERT_GE(plan.rows.size(), 3u);
  std::size_t baselines = 0;
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    baselines += plan.rows[i].kind != PlanRowKind::candidate ? 1 : 0;
    if (i > 0 && plan.rows[i].error.empty()) {
      EXPECT_GE(plan.rows[i].value, plan.rows[i - 1].value);
    }
  }
  EXPECT_EQ(baselines, 1u);
  EXPECT_TRUE(plan_csv(plan).starts_with("parallel.tensor,parallel.sequence_parallel,"));
  EXPECT_NE(plan_csv(plan).find("iteration_ms,low_ms,high_ms,samples_per_s,tokens_per_s_per_gpu,mfu,exposed_comm_ms,"
                                "memory_gb,fits,limited_by,error"),
            std::string::npos);
  EXPECT_NE(plan_text(plan).find("baseline"), std::string::npos);
}

/// Also where a value that is varied, and none of the best, reads them.
TEST_F(PlanTest, FixedKeysAreTriedAtEveryValueThatIsVaried) {
  PlanRequest request;
  request.config = test::config("megatron_gpt_7_5b.yaml");
  request.sets = {"cluster.nodes=1",
                  "cluster.gpus_per_node=4",
                  "model.llm.layers=2",
                  "model.global_batch=8",
                  "parallel.tensor=4",
                  "framework.kernels.attention=flash",
                  "framework.kernels.flash_library=flash1",
                  "model.rnn.encoder_layers=3"};
  request.varied = {{"cluster.system", {"dgx1_v100_32gb", "dgx_a100_80gb", "mi300x_8x"}},
                    {"parallel.micro_batch", {"8"}},
                    {"parallel.recompute", {"none"}},
                    {"parallel.schedule", {"1f1b"}}};
  for (const std::size_t top : {1u, 10u}) {
    request.top = top;
    std::vector<std::string> idle;
    for (const IdleArgument& line : plan_without_effect(request, planned(request).value()))
      if (line.argument.starts_with("--set")) idle.push_back(line.text());
    ASSERT_EQ(idle.size(), 1u);
    EXPECT_TRUE(idle[0].starts_with("--set model.rnn.encoder_layers=3: no effect on the ")) << idle[0];
  }
}

/// What keeps other layouts from being chosen has an effect, though no row shows it; what leaves the search as it is has none.
TEST_F(PlanTest, KeysThatNarrowTheSearchAreNotIdle) {
  const auto idle = [](const PlanRequest& request) {
    std::vector<std::string> out;
    for (const IdleArgument& line : plan_without_effect(request, planned(request).value()))
      if (line.argument.starts_with("--set")) out.push_back(line.argument);
    return out;
  };
  using Lines = std::vector<std::string>;
  PlanRequest layouts;
  layouts.config = test::config("megatron_gpt_7_5b.yaml");
  layouts.top = 1;
  for (const char* set : {"parallel.schedule=1f1b", "parallel={schedule: 1f1b}", "parallel.virtual_stages=1",
                          "parallel.stage_layers=[18,18]"}) {
    layouts.sets = {set};
    if (std::string(set).starts_with("parallel.stage")) layouts.sets.emplace_back("parallel.pipeline=2");
    EXPECT_EQ(idle(layouts), Lines{}) << set;
  }
  layouts.sets = {"model.rnn.encoder_layers=3", "parallel.schedule=1f1b"};
  EXPECT_EQ(idle(layouts), Lines{"--set model.rnn.encoder_layers=3"});
  PlanRequest combinations;
  combinations.config = test::config("resnet50_dgx_a100.yaml");
  combinations.top = 1;
  combinations.sets = {"collectives.algorithms=[Ring]", "model.rnn.encoder_layers=3"};
  EXPECT_EQ(idle(combinations), Lines{"--set model.rnn.encoder_layers=3"});
}

/// Of what is not drawn the reason is the true one.
TEST_F(PlanTest, IdleDrawsHaveTheirReason) {
  PlanRequest request;
  request.config = test::config("resnet50_dgx_a100.yaml");
  request.draws = 5;
  request.varied = {{"framework.gradients.bucket_size", {"5 MiB", "25 MiB"}}};
  const auto lines = plan_without_effect(request, planned(request).value());
  const auto draws = std::ranges::find(lines, "--draws", &IdleArgument::argument);
  ASSERT_NE(draws, lines.end());
  EXPECT_NE(draws->says.find("only layouts of language models are drawn"), std::string::npos) << draws->says;
}

/// An empty list of algorithms is any of them, of blocks of stages an even division.
TEST_F(PlanTest, EmptyListsAreShownAsWhatTheyMean) {
  PlanRequest request;
  request.config = test::config("resnet50_dgx_a100.yaml");
  request.varied = {{"collectives.algorithms", {"[]", "[Ring]"}}};
  const std::string text = plan_text(planned(request).value());
  EXPECT_EQ(text.find(" even "), std::string::npos) << text;
  EXPECT_NE(text.find(" any "), std::string::npos) << text;
}

/// A key of another kind of model makes every row twice, and nothing says why.
TEST_F(PlanTest, VariedKeysThatChangeNoRowAreNamed) {
  PlanRequest request = small({"parallel.context=1", "parallel.pipeline=1"});
  request.varied = {{"model.resnet.classes", {"7", "8"}},
                    {"parallel.micro_batch", {"1", "2"}},
                    {"model.rnn.encoder_layers", {"3"}},
                    {"device.hbm.bandwidth", {"2 TB/s", "3 TB/s"}}};
  EXPECT_EQ(planned(request).value().idle,
            (std::vector<std::string>{"model.resnet.classes", "model.rnn.encoder_layers"}));
  PlanRequest graph;
  graph.config = test::config("resnet50_dgx_a100.yaml");
  graph.varied = {{"framework.gradients.bucket_size", {"5 MiB", "25 MiB"}}, {"model.llm.layers", {"3", "5"}}};
  EXPECT_EQ(planned(graph).value().idle, std::vector<std::string>{"model.llm.layers"});
}

/// An experiment that is in no file is planned as one that is, and every play is told, the winner among them.
/// Titles and keys of any characters are the same when they are read back, and drive no terminal.
TEST(ExperimentFile, TextsComeBackAsTheyWere) {
  for (const std::string text :
       {"X\xC2\x9B"
        "31m\xC2\x85Z",
        "\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAE\xEF\xBB\xBF", "a\"b\\c\n\t\x1b\x7f", "null", "- \xC3\xA9"}) {
    ConfigNode value;
    value.kind = ConfigNode::Kind::scalar;
    value.scalar = text;
    value.quoted = true;
    ConfigNode map;
    map.kind = ConfigNode::Kind::map;
    map.entries.emplace_back();
    map.entries[0].key = text;
    map.entries[0].value = value;
    const std::string yaml = yaml_of(map);
    EXPECT_TRUE(std::ranges::none_of(std::string(yaml).substr(0, yaml.size() - 1), [](char c) {
      return static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '\xC2' || c == '\xE2' || c == '\xEF';
    })) << yaml;
    const auto again = parse_yaml(yaml, "x.yaml");
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(again->entries[0].key, text);
    EXPECT_EQ(again->entries[0].value.scalar, text);
  }
}

TEST_F(PlanTest, OfATextIsThatOfItsFile) {
  PlanRequest request = small({"parallel.context=1", "parallel.pipeline=1"});
  const Plan of_file = planned(request).value();
  request.experiment =
      config::Variants::of_text(test::llm_text("llama3_8b", "megatron_core", "dgx_h100", 1, 16), request.config)
          .value();
  request.config = "no such file.yaml";
  double told = 0;
  bool has_winner = false;
  PlanProgress last;
  request.on_progress = [&](const PlanProgress& p) {
    told += static_cast<double>(p.points.size());
    EXPECT_GE(p.played, last.played);
    for (const PlayedPoint& point : p.points)
      has_winner = has_winner || (point.iteration == of_file.rows.front().report.iteration &&
                                  point.sets == of_file.rows.front().sets);
    last = p;
  };
  const Plan of_text = planned(request).value();
  EXPECT_EQ(plan_json(of_text), plan_json(of_file));
  EXPECT_EQ(told, of_text.counts.played);
  EXPECT_EQ(last.played, of_text.counts.played);
  EXPECT_TRUE(has_winner || of_text.rows.front().kind == PlanRowKind::baseline);
}

/// Somebody who asked for a plan and does not want it any more.
TEST_F(PlanTest, EndsWhenItIsStopped) {
  PlanRequest request = small();
  std::atomic<bool> flag{false};
  request.on_progress = [&](const PlanProgress&) { flag = true; };
  const StopScope scope(flag);
  EXPECT_THROW((void)planned(request), Stopped);
  request.on_progress = nullptr;
  request.config = file(
      "dlrm.yaml",
      "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: {name: dlrm_mlperf, global_batch: 65536}\nframework: {name: pytorch_dlrm}\n");
  EXPECT_THROW((void)planned(request), Stopped);
}

/// Written, read back and priced again: the same to the picosecond.
TEST_F(PlanTest, WritesTheWinner) {
  const PlanRequest request = small({"model.global_batch=32"});
  const Plan plan = planned(request).value();
  std::vector<std::string> sets = request.sets;
  sets.insert(sets.end(), plan.rows.front().sets.begin(), plan.rows.front().sets.end());
  const std::string path = (folder_ / "best.yaml").string();
  const Result<void> written = write_experiment(path, request.config, sets, plan.rows.front().report.iteration);
  ASSERT_TRUE(written.ok()) << written.error().text();
  pipeline::Passes passes;
  const auto again = pipeline::predict(path, {}, passes);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->report.iteration, plan.rows.front().report.iteration);
  EXPECT_FALSE(write_experiment(path, request.config, sets, Duration::picoseconds(1)).ok());
}

/// The baseline is played once more by the search; the others keep their places.
TEST_F(PlanTest, ABaselineThatWinsLeavesAsManyRows) {
  PlanRequest request = small();
  const Plan before = planned(request).value();
  const std::string best = (folder_ / "best.yaml").string();
  ASSERT_TRUE(write_experiment(best, request.config, before.rows.front().sets, before.rows.front().report.iteration));
  request.config = best;
  const Plan plan = planned(request).value();
  ASSERT_EQ(plan.rows.size(), request.top);
  EXPECT_EQ(plan.rows.front().kind, PlanRowKind::baseline);
  for (std::size_t i = 0; i < request.top; ++i)
    EXPECT_EQ(plan.rows[i].report.iteration, before.rows[i].report.iteration) << i;
}

TEST_F(PlanTest, WhatDoesNotFitIsOneWord) {
  PlanRequest request = small();
  request.config = file("large.yaml", test::llm_text("llama3_70b", "megatron_core", "dgx_h100", 4, 64) +
                                          "parallel: {tensor: 1, shard: none, recompute: none}\n");
  request.top = 1;
  const Plan plan = planned(request).value();
  EXPECT_EQ(plan.rows.back().error, "memory");
  EXPECT_FALSE(plan.rows.back().fits);
  EXPECT_NE(plan_text(plan).find("memory"), std::string::npos);
}

TEST_F(PlanTest, WithoutAMemoryCheckItIsSaidWhatDoesNotFit) {
  const Plan plan = planned(small({"model.memory_check=false", "model.llm.layers=200"})).value();
  for (const PlanRow& row : plan.rows) {
    EXPECT_TRUE(row.error.empty());
    EXPECT_EQ(row.fits, fullest_gpu(row.report) <= row.report.context.memory_capacity);
  }
  ASSERT_FALSE(plan.rows.front().fits);
  EXPECT_NE(plan_text(plan).find("that a GPU has: model.memory_check is false"), std::string::npos) << plan_text(plan);
}

TEST_F(PlanTest, SaysWhatWouldFit) {
  PlanRequest request = small();
  request.config = file("huge.yaml", test::llm_text("llama3_70b", "megatron_core", "dgx_h100", 1, 16));
  const Result<Plan> plan = planned(request);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().text().find("--set cluster.nodes="), std::string::npos) << plan.error().text();
}

/// No memory helps where the GPU does not multiply the precision's type.
TEST_F(PlanTest, APrecisionThatTheGpuLacksIsSaidBeforeItsMemory) {
  PlanRequest request = small();
  for (const int nodes : {1, 4}) {
    request.config = file("v.yaml", test::llm_text("qwen3_30b_a3b", "megatron_deepspeed", "dgx1_v100_32gb", nodes, 64));
    const Result<Plan> plan = planned(request);
    ASSERT_FALSE(plan.ok());
    EXPECT_NE(plan.error().text().find("model.precision: found bf16 on v100_sxm2_32gb"), std::string::npos)
        << plan.error().text();
  }
}

/// Nothing is held that could be let go of.
TEST_F(PlanTest, ABatchThatNoLayoutDividesIsTheReason) {
  PlanRequest request = small();
  request.config = file("b.yaml", test::llm_text("mixtral_8x7b", "fsdp1_fms", "dgx_h100", 4, 48));
  const Result<Plan> plan = planned(request);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().text().find("let go of"), std::string::npos) << plan.error().text();
  EXPECT_NE(plan.error().text().find("global_batch: found 48"), std::string::npos) << plan.error().text();
}

/// The fewest keys without which there is a layout.
TEST_F(PlanTest, HeldKeysAreNamedWhereNoLayoutDividesForThem) {
  const auto said = [&](std::vector<std::string> sets) { return planned(small(std::move(sets))).error().text(); };
  EXPECT_TRUE(said({"parallel.tensor=3"}).ends_with("; some do where parallel.tensor may be chosen"));
  EXPECT_TRUE(said({"parallel.tensor=3", "parallel.pipeline=3", "parallel.shard=optimizer"})
                  .ends_with("; some do where parallel.pipeline, parallel.tensor may be chosen"));
}

/// Values of a key that come to the same are one layout, and the experiment as it is one row.
TEST_F(PlanTest, ValuesThatMeanTheSameAreOneRow) {
  for (const char* model : {"llama3_8b", "qwen3_30b_a3b"}) {
    PlanRequest request = small({"parallel.expert=1", "parallel.tensor=1"});
    request.config = file("m.yaml", test::llm_text(model, "megatron_core", "dgx_h100", 4, 64));
    request.varied = {{"parallel.expert_tensor", {"0", "1"}}};
    request.top = 10;
    const Result<Plan> plan = planned(request);
    if (!plan.ok()) continue;  // it does not fit on one GPU
    std::set<std::vector<std::string>> rows;
    for (const PlanRow& row : plan->rows) {
      std::vector<std::string> values = row.values;
      for (std::size_t i = 0; i < plan->keys.size(); ++i)
        if (plan->keys[i] == "parallel.expert_tensor") values[i].clear();
      EXPECT_TRUE(rows.insert(values).second) << model;
    }
  }
}

/// What the experiment as it is keeps on the host to fit, other layouts may keep there too.
TEST_F(PlanTest, LayoutsMayOffloadWhatTheExperimentDoes) {
  PlanRequest request = small();
  request.config = file("p.yaml", test::llm_text("qwen3_30b_a3b", "deepspeed_hf", "p4d_a100_40gb", 1, 48));
  request.top = 4;
  const Plan plan = planned(request).value();
  const PlanRow& best = plan.rows.front();
  EXPECT_EQ(best.kind, PlanRowKind::candidate);
  EXPECT_EQ(plan.counts.above_bound, 0);
  PlanRequest given = request;
  for (const char* offload : {"parallel.offload=optimizer", "parallel.offload=automatic"}) {  // the latter is its own
    given.sets = {offload};
    EXPECT_EQ(planned(given).value().rows.front().report.iteration, best.report.iteration) << offload;
  }
  request.exhaustive = true;
  const Plan all = planned(request).value();
  ASSERT_EQ(all.rows.size(), plan.rows.size());
  for (std::size_t i = 0; i < all.rows.size(); ++i)
    EXPECT_EQ(all.rows[i].report.iteration, plan.rows[i].report.iteration) << i;
  EXPECT_EQ(all.counts.above_bound, 0);
}

/// Of another layout the framework may offload another part.
TEST_F(PlanTest, WhatIsLeftOpenMayOffloadMoreOfAnotherLayout) {
  PlanRequest request = small();
  request.config = file("g.yaml", test::llm_text("qwen3_30b_a3b", "deepspeed_hf", "g4dn_t4", 2, 64));
  request.sets = {"model.precision=fp16"};
  const Duration best = planned(request).value().rows.front().report.iteration;
  request.sets.push_back("parallel.offload=automatic");
  EXPECT_EQ(planned(request).value().rows.front().report.iteration, best);
}

/// An experiment that cannot be planned says nothing of what other layouts need, whether it divides nowhere or on some GPUs.
TEST_F(PlanTest, WhatIsLeftOpenMayOffloadWhereTheExperimentCannotBePlanned) {
  struct Case {
    const char *model, *system;
    int batch;
    const char* parallel;
    std::vector<std::int64_t> gpus;
  };
  const std::vector<Case> cases = {
      {"qwen3_30b_a3b", "g4dn_t4", 1024, "{micro_batch: 48, recompute: none}", {}},  // nothing fits without it
      {"llama2_7b", "dgx1_v100_16gb", 32, "{micro_batch: 4}", {}},                   // something does, and is slower
      {"qwen3_30b_a3b", "g4dn_t4", 64, "{micro_batch: 4, shard: weights}", {16, 32}},
      {"qwen3_30b_a3b", "g4dn_t4", 64, "{micro_batch: 4, shard: weights}", {32}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.model) + " " + c.parallel);
    PlanRequest request = small({"model.precision=fp16"});
    request.config = file("u.yaml", test::llm_text(c.model, "deepspeed_hf", c.system, c.batch == 32 ? 4 : 2, c.batch) +
                                        "parallel: " + c.parallel + "\n");
    request.gpus = c.gpus;
    const Result<Plan> plan = planned(request);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    EXPECT_EQ(plan->counts.above_bound, 0);
    PlanRequest open = request;
    open.sets.emplace_back("parallel.offload=automatic");
    const Plan given = planned(open).value();
    EXPECT_EQ(plan->rows.front().report.iteration, given.rows.front().report.iteration);
    request.exhaustive = true;
    const Plan all = planned(request).value();
    ASSERT_EQ(all.rows.size(), plan->rows.size());
    for (std::size_t i = 0; i < all.rows.size(); ++i)
      EXPECT_EQ(all.rows[i].report.iteration, plan->rows[i].report.iteration) << i;
    EXPECT_EQ(all.counts.above_bound, 0);
  }
}

/// Left open it is none, whatever does not divide.
TEST_F(PlanTest, FrameworksThatDoNotOffloadHaveNoLayoutTwice) {
  PlanRequest request = small();
  request.config = file(
      "n.yaml", test::llm_text("llama3_8b", "fsdp2_torchtitan", "dgx_h100", 1, 16) + "parallel: {micro_batch: 3}\n");
  const Plan plan = planned(request).value();
  request.sets = {"parallel.offload=none"};
  EXPECT_EQ(plan.counts.space.considered, planned(request).value().counts.space.considered);
}

/// How many there are does not depend on how many are played.
TEST_F(PlanTest, WhatIsConsideredIsTheSameWhereAllIsPlayed) {
  PlanRequest request;
  request.config = file("c.yaml", test::llm_text("bert_large", "megatron_bridge", "dgx_h200", 1, 32) +
                                      "parallel: {micro_batch: 4, recompute: full}\n");
  request.varied = {{"parallel.recompute", {"none", "selective"}}};
  const SearchCounts pruned = planned(request).value().counts;
  request.exhaustive = true;
  const SearchCounts all = planned(request).value().counts;
  EXPECT_EQ(pruned.space.considered, all.space.considered);
  EXPECT_GT(all.same, 0);
  for (const SearchCounts& c : {pruned, all})
    EXPECT_EQ(c.space.considered, c.space.undivided + c.unfit + c.same + c.not_priced + c.pruned + c.played + c.left);
}

/// Draws are rows of the journal too, and a run that is resumed finds them there.
TEST_F(PlanTest, DrawsAreKept) {
  PlanRequest request = small({"parallel.context=1", "parallel.pipeline=1"});
  request.draws = 12;
  const Plan alone = planned(request).value();
  ASSERT_EQ(alone.rank.drawn, 12u);
  request.journal = (folder_ / "draws.j").string();
  const Plan kept = planned(request).value();
  const auto size = std::filesystem::file_size(request.journal);
  request.resume = true;
  const Plan resumed = planned(request).value();
  EXPECT_EQ(plan_json(kept), plan_json(alone));
  EXPECT_EQ(plan_json(resumed), plan_json(alone));
  EXPECT_EQ(std::filesystem::file_size(request.journal), size);
  request.draws = 13;
  const Result<Plan> other = planned(request);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().text().find("--draws: found '12', expected '13'"), std::string::npos) << other.error().text();
}

/// Of a baseline that nothing beats, or hardly.
TEST_F(PlanTest, SaysHowMuchBetterItIs) {
  PlanRequest request;
  request.config = test::config("resnet50_dgx_a100.yaml");
  request.varied = {{"framework.gradients.bucket_size", {"25MiB"}}};
  const std::string same = plan_text(planned(request).value());
  EXPECT_NE(same.find("the baseline is as fast; nothing that was found is better"), std::string::npos) << same;
  request.varied = {{"framework.gradients.bucket_size", {"20MiB", "25MiB"}}};
  const std::string hardly = plan_text(planned(request).value());
  EXPECT_NE(hardly.find("less than 0.1 % faster than the baseline"), std::string::npos) << hardly;
  request.varied = {{"framework.gradients.bucket_size", {"200MiB"}}};
  const std::string worse = plan_text(planned(request).value());
  EXPECT_NE(worse.find("the experiment as it is, which is not among what was asked for, is better: 0.4 % faster"),
            std::string::npos)
      << worse;
}

TEST_F(PlanTest, ContradictionsAreOneLine) {
  EXPECT_FALSE(planned(small({"parallel.tensor=3"})).ok());
  PlanRequest request = small();
  request.varied = {{"parallel.tensr", {"1"}}};
  EXPECT_NE(planned(request).error().text().find("tensor"), std::string::npos);
  request.varied = {{"parallel.data", {"1"}}};
  EXPECT_NE(planned(request).error().text().find("follows"), std::string::npos);
  request.varied = {{"model.global_btch", {"1", "2"}}};
  EXPECT_NE(planned(request).error().text().find("global_batch"), std::string::npos);
}

TEST_F(PlanTest, MoreGpusForLessTimeAndMoreMoney) {
  PlanRequest request = small({"parallel.pipeline=1", "parallel.context=1", "parallel.recompute=none"});
  request.gpus = {8, 16};
  request.purchase = {2, 1e9, 0};
  const Plan fastest = planned(request).value();
  EXPECT_EQ(fastest.rows.front().values.front(), "2");
  EXPECT_NE(fastest.subject.find("on 16 x "), std::string::npos) << fastest.subject;
  request.goal.objective = Objective::cost;
  const Plan cheapest = planned(request).value();
  EXPECT_LE(cheapest.rows.front().cost, fastest.rows.front().cost);
}

TEST_F(PlanTest, FewerGpusAreTheReasonWhereNothingElseIs) {
  PlanRequest request = small({"parallel.tensor=8", "parallel.pipeline=1", "parallel.context=1",
                               "parallel.recompute=full", "parallel.micro_batch=1"});
  request.gpus = {8, 16};
  request.top = 1000;
  const Plan plan = planned(request).value();
  const auto fewer = std::ranges::find_if(plan.rows, [](const PlanRow& r) { return r.values.front() == "1"; });
  ASSERT_NE(fewer, plan.rows.end());
  EXPECT_TRUE(fewer->why_slower.starts_with("fewer GPUs")) << fewer->why_slower;
}

/// A journal gives the same plan, whether it is new, whole, or cut: and nothing is played twice.
TEST_F(PlanTest, GoesOnFromAJournal) {
  for (const char* config : {"megatron_gpt_7_5b.yaml", "resnet50_dgx_a100.yaml"}) {
    PlanRequest request;
    request.config = test::config(config);
    request.top = 3;
    if (std::string(config) == "resnet50_dgx_a100.yaml")
      request.varied = {{"framework.gradients.bucket_size", {"5 MiB", "25 MiB", "50 MiB"}}};
    const std::string plain = plan_csv(planned(request).value());
    request.journal = (std::filesystem::path(testing::TempDir()) / ("plan" + std::to_string(::getpid()))).string();
    std::filesystem::remove(request.journal);
    EXPECT_EQ(plan_csv(planned(request).value()), plain);
    EXPECT_FALSE(planned(request).ok()) << "a journal that exists is not written over";
    request.resume = true;
    const auto whole = std::filesystem::file_size(request.journal);
    EXPECT_EQ(plan_csv(planned(request).value()), plain);
    EXPECT_EQ(std::filesystem::file_size(request.journal), whole) << "nothing is played twice";
    std::filesystem::resize_file(request.journal, whole - 20);
    EXPECT_EQ(plan_csv(planned(request).value()), plain);
    EXPECT_EQ(std::filesystem::file_size(request.journal), whole);
    request.goal.objective = Objective::memory;
    EXPECT_FALSE(planned(request).ok()) << "of another study";
    std::filesystem::remove(request.journal);
  }
}

/// Layouts of other batches and GPUs say nothing of where the experiment stands among its own.
TEST_F(PlanTest, DrawsAreOfTheExperimentAsItIs) {
  PlanRequest request = small({"parallel.context=1", "parallel.pipeline=1"});
  request.draws = 12;
  const Plan alone = planned(request).value();
  for (const std::vector<std::string>& batches : {std::vector<std::string>{"16", "64"}, {"64", "16"}}) {
    PlanRequest varied = request;
    varied.varied = {{"model.global_batch", batches}};
    const Plan plan = planned(varied).value();
    EXPECT_EQ(plan.rank.drawn, alone.rank.drawn);
    EXPECT_EQ(plan.rank.faster, alone.rank.faster) << batches.front();
  }
}

/// A framework that can split a model is asked for its layouts, also of one that is played layer by layer as it is.
TEST_F(PlanTest, LayoutsAreSearchedWhereTheExperimentIsPlayedLayerByLayer) {
  PlanRequest held, varied;
  held.config = varied.config = test::config("megatron_gpt_7_5b.yaml");
  held.sets = {"parallel.tensor=1", "cluster.nodes=2", "model.global_batch=64"};
  varied.sets = {"cluster.nodes=2", "model.global_batch=64"};
  varied.varied = {{"parallel.tensor", {"1"}}};
  const auto set = planned(held), tried = planned(varied);
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->rows.front().report.iteration, tried->rows.front().report.iteration);
  held.sets = {"model.name=gpt3_xl", "model.global_batch=512"};
  const auto small = planned(held);
  ASSERT_TRUE(small.ok()) << small.error().text();
  EXPECT_GT(small->counts.space.considered, 100);
}

TEST_F(PlanTest, ALayoutIsHeldInAnyNotation) {
  const auto rows = [&](const std::string& set) {
    std::vector<std::vector<std::string>> out;
    const Plan plan = planned(small({set, "cluster.nodes=1"})).value();
    for (const PlanRow& row : plan.rows) out.push_back(row.values);
    return out;
  };
  const auto dotted = rows("parallel.tensor=4");
  EXPECT_EQ(dotted.front().front(), "4");
  EXPECT_EQ(rows("parallel={tensor: 4}"), dotted);
  EXPECT_EQ(rows("model.parallel.tensor=4"), dotted);
}

TEST_F(PlanTest, AModelWithoutANameIsCalledByItsKind) {
  PlanRequest request;
  request.config =
      file("p.yaml",
           "cluster: {system: dgx_a100_80gb, nodes: 1}\nframework: {name: pytorch}\nmodel: {kind: program, "
           "per_gpu_batch: 4, program: {steps: [{name: a, compute: 1 ms}]}}\n");
  EXPECT_EQ(planned(request).value().subject, "program on 8 x a100_sxm4_80gb");
}

/// Layouts of a model that is split are all played by blocks, and each row says how to see its figures again; whole, it
/// has the keys of data parallel jobs.
TEST_F(PlanTest, LayoutsAreComparedAsBlocks) {
  const std::string text = test::llm_text("bert_base_seq128", "pytorch", "dgx_a100_80gb", 1, 64);
  PlanRequest request;
  request.config = file("split.yaml", text + "parallel: {tensor: 2}\n");
  const Plan plan = planned(request).value();
  std::size_t whole = 0;
  for (const PlanRow& row : plan.rows) {
    const auto e = config::load_experiment(request.config, row.sets);
    ASSERT_TRUE(e.ok()) << e.error().text();
    pipeline::Passes passes;
    EXPECT_EQ(pipeline::predict(*e, passes)->report.iteration, row.report.iteration);
    whole += std::ranges::count(row.sets, "framework.parallel.layer_by_layer=false");
    // and so do its columns
    std::vector<std::string> columns;
    for (std::size_t k = 0; k < plan.keys.size(); ++k) columns.push_back(plan.keys[k] + "=" + row.values[k]);
    const auto same = config::load_experiment(request.config, columns);
    ASSERT_TRUE(same.ok()) << same.error().text();
    EXPECT_EQ(pipeline::predict(*same, passes)->report.iteration, row.report.iteration);
  }
  EXPECT_GT(whole, 0u);
  EXPECT_LT(whole, plan.rows.size());
  request.config = file("whole.yaml", text);
  EXPECT_EQ(planned(request)->keys.front(), "framework.gradients.bucket_size");
}

}  // namespace
}  // namespace distsim::study
