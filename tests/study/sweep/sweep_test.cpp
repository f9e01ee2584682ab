#include "sim/study/sweep/sweep.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/text/csv.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/sweep/columns.hpp"
#include "sim/study/sweep/point_experiments.hpp"
#include "test_paths.hpp"

namespace distsim::study {
namespace {

TEST(ParseAxis, SplitsAtTopLevelCommas) {
  const SweepAxis axis = parse_axis("model.dlrm.top_mlp=[512, 1],[1024, 512, 1]").value();
  EXPECT_EQ(axis.key, "model.dlrm.top_mlp");
  EXPECT_EQ(axis.values, (std::vector<std::string>{"[512, 1]", "[1024, 512, 1]"}));
}

/// Text that is to be one value stays one beside others.
TEST(ParseAxis, OneValueIsNotSplit) {
  for (const char* text :
       {"8", "[1, 2]", "{a: 1, b: 2}", "1024,2048", "it's", "a]", "[1", "", "\"", "'a,b'", "a[1],2", "\"a\\\",b\""}) {
    const std::string one = as_one_value(text);
    if (*text == 0) continue;
    EXPECT_EQ(parse_axis("k=" + one + ",last").value().values, (std::vector<std::string>{one, "last"})) << text;
  }
  EXPECT_EQ(as_one_value("[1, 2]"), "[1, 2]");
  EXPECT_EQ(as_one_value("it's,1"), "'it''s,1'");
}

TEST(ParseAxis, RefusesWhatIsNoAxis) {
  EXPECT_FALSE(parse_axis("cluster.nodes").ok());
  EXPECT_FALSE(parse_axis("=1,2").ok());
  EXPECT_FALSE(parse_axis("cluster.nodes=1,,2").ok());
}

TEST(ParseAxis, RangesAreTheirValues) {
  using Values = std::vector<std::string>;
  EXPECT_EQ(parse_axis("a=1..4").value().values, (Values{"1", "2", "3", "4"}));
  EXPECT_EQ(parse_axis("a=512..2048:512").value().values, (Values{"512", "1024", "1536", "2048"}));
  EXPECT_EQ(parse_axis("a=1..20:x2,7").value().values, (Values{"1", "2", "4", "8", "16", "7"}));
  EXPECT_EQ(parse_axis("a=0..0.3:0.1").value().values, (Values{"0", "0.1", "0.2", "0.3"}));
  EXPECT_EQ(parse_axis("a=../x.yaml").value().values, Values{"../x.yaml"});
  for (const char* refused : {"a=4..1", "a=1..4:0", "a=1..4:x1", "a=0..4:x2", "a=1..4:-1", "a=1..1e12"})
    EXPECT_FALSE(parse_axis(refused).ok()) << refused;
}

/// Whatever the notation; a map that lacks the key is only what it is laid on.
TEST(ParseAxis, KeysThatAreGivenTwiceAreFound) {
  const SweepAxis nodes{"cluster.nodes", {"1", "2"}}, clusters{"cluster", {"{system: dgx_h100}", "{nodes: 4}"}},
      systems{"cluster", {"{system: dgx_h100}", "{system: dgx_a100}"}};
  EXPECT_EQ(key_given_twice({nodes, nodes}), "cluster.nodes");
  EXPECT_EQ(key_given_twice({nodes}, {"cluster.nodes=4"}), "cluster.nodes");
  EXPECT_EQ(key_given_twice({nodes}, {"cluster={system: dgx_h100, nodes: 4}"}), "cluster.nodes");
  EXPECT_EQ(key_given_twice({nodes}, {"cluster={system: dgx_h100}", "model.name=x"}), "");
  EXPECT_EQ(key_given_twice({clusters, nodes}), "cluster.nodes");
  EXPECT_EQ(key_given_twice({systems, nodes}), "");
  EXPECT_EQ(key_given_twice({nodes, systems}), "cluster");  // which would replace it
  EXPECT_EQ(key_given_twice({{"parallel.tensor", {"2", "4"}}}, {"model.parallel.tensor=8"}), "parallel.tensor");
}

TEST(ParseAxis, TooManyValuesAreCountedNotMade) {
  EXPECT_EQ(count_values("a=1..4,7,[1, 2]").value(), 6);
  EXPECT_EQ(count_values("a=1..1e15").value(), 1e15);
  EXPECT_EQ(parse_axis("a=1..4,7", "--vary", 5).value().values.size(), 5u);
  EXPECT_EQ(parse_axis("a=1..4,7", "--vary", 4).error().text(),
            "--vary a: found '1..4,7', 5 values, expected at most 4");
  EXPECT_NE(parse_axis("a=1..9e6,1..9e6").error().text().find("1.8e+07 values, expected at most 10000000"),
            std::string::npos);
  EXPECT_EQ(count_points({2, 3}).value(), 6u);
  EXPECT_NE(count_points({1e7, 1e15}).error().text().find("found 10,000,000 x 1e+15 = 1e+22 points"),
            std::string::npos);
}

TEST(ShortNames, TellTheKeysApart) {
  EXPECT_EQ(short_names({{"parallel.tensor", {}}, {"model.name", {}}, {"framework.name", {}}}),
            (std::vector<std::string>{"tensor", "model.name", "framework.name"}));
}

SweepRequest flagship(std::vector<SweepAxis> axes, Scaling scaling = Scaling::as_given) {
  return {.config = test::config("dgx_a100_4node.yaml"), .axes = std::move(axes), .scaling = scaling};
}

/// All points of a request.
struct Swept {
  explicit Swept(const SweepRequest& request, unsigned jobs = 1) {
    auto points = sweep_points(request, false);
    if (!points.ok()) {
      error = points.error().text();
      return;
    }
    run = std::move(StudyRun::begin(std::move(*points), {jobs}).value());
    EXPECT_TRUE(run->evaluate().ok());
    result = std::make_unique<SweepResult>(request, run->rows());
    for (std::size_t i = 0; i < result->size(); ++i) points_.push_back(result->point(i));
  }
  const SweepPoint& operator[](std::size_t i) const { return points_[i]; }
  std::size_t size() const { return points_.size(); }
  std::string csv(const std::string& columns = "", const std::string& sort = "") const {
    const auto path = std::filesystem::path(testing::TempDir()) / ("sweep" + std::to_string(::getpid()) + ".csv");
    const SweepView view = sweep_view(result->request(), columns, sort).value();
    FilesTogether files;
    EXPECT_TRUE(write_sweep_csv(path.string(), view, *result, files).ok());
    EXPECT_TRUE(files.keep().ok());
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    std::filesystem::remove(path);
    return text.str();
  }
  std::string table(const std::string& columns = "", const std::string& sort = "") const {
    return sweep_table(sweep_view(result->request(), columns, sort).value(), *result);
  }
  std::string error;
  std::unique_ptr<StudyRun> run;
  std::unique_ptr<SweepResult> result;
  std::vector<SweepPoint> points_;
};

TEST(Sweep, NodesScaleStrongly) {
  const Swept points(flagship({{"cluster.nodes", {"1", "2", "4", "8", "16"}}}));
  ASSERT_EQ(points.size(), 5u);
  for (const auto& p : points.points_) {
    ASSERT_EQ(p.error, "");
    EXPECT_EQ(p.figures.global_batch, 65536);
  }
  EXPECT_DOUBLE_EQ(points[0].efficiency, 1.0);
  EXPECT_LT(points[4].figures.compute_ms, points[0].figures.compute_ms);            // a sixteenth of the samples each
  EXPECT_GT(points[4].figures.exposed_comm_ms, points[0].figures.exposed_comm_ms);  // across nodes now
  EXPECT_LT(points[4].efficiency, 1.0);
}

/// Efficiency compares with the fewest GPUs at equal other values, whatever the order of the axes; a faster NIC is no
/// better scaling.
TEST(Sweep, EfficiencyIsOfGpuCounts) {
  const Swept points(flagship({{"cluster.nic.bandwidth", {"50 Gb/s", "200 Gb/s"}}, {"cluster.nodes", {"4", "1"}}}));
  ASSERT_EQ(points.size(), 4u);
  EXPECT_DOUBLE_EQ(points[1].efficiency, 1.0);
  EXPECT_DOUBLE_EQ(points[3].efficiency, 1.0);
  EXPECT_LT(points[0].efficiency, points[2].efficiency);
  EXPECT_LT(points[2].efficiency, 1.0);
}

TEST(Sweep, WeakScalingKeepsSamplesPerGpu) {
  const Swept points(flagship({{"cluster.nodes", {"1", "4"}}}, Scaling::weak));
  ASSERT_EQ(points[1].error, "");
  EXPECT_EQ(points[0].figures.global_batch, 65536);
  EXPECT_EQ(points[1].figures.global_batch, 4 * 65536);
}

/// Also where the model gives its batch per GPU.
TEST(Sweep, StrongScalingKeepsTheGlobalBatch) {
  SweepRequest request = flagship({{"cluster.nodes", {"1", "4"}}}, Scaling::strong);
  request.sets = {"model.global_batch=0", "model.per_gpu_batch=2048"};
  const Swept points(request);
  ASSERT_EQ(points[1].error, "");
  EXPECT_EQ(points[0].figures.global_batch, 8 * 2048);
  EXPECT_EQ(points[1].figures.global_batch, 8 * 2048);
}

/// A batch given per GPU also states the micro-steps: the first row is the experiment as it is, and all rows take as many.
TEST(Sweep, ScalingKeepsTheMicroStepsOfABatchPerGpu) {
  SweepRequest request{.config = test::config("bert_large_dgx_a100.yaml"),
                       .axes = {{"cluster.nodes", {"1", "2", "32"}}}};
  request.sets = {"framework={name: megatron}", "model={name: bert_large, per_gpu_batch: 8}", "parallel.tensor=4"};
  const Swept given(request);
  ASSERT_EQ(given[0].error, "");
  request.scaling = Scaling::weak;
  const Swept weak(request);
  for (std::size_t i = 0; i < given.size(); ++i) EXPECT_EQ(weak[i].figures.fingerprint, given[i].figures.fingerprint);
  request.scaling = Scaling::strong;
  const Swept strong(request);
  EXPECT_EQ(strong[0].figures.fingerprint, given[0].figures.fingerprint);
  const auto alone = [&](std::vector<std::string> sets) {
    sets.insert(sets.begin(), request.sets.begin(), request.sets.end());
    const auto e = config::load_experiment(request.config, sets);
    EXPECT_TRUE(e.ok()) << e.error().text();
    pipeline::Passes passes;
    return pipeline::predict(*e, passes)->report.iteration.ms();
  };
  EXPECT_EQ(strong[1].figures.iteration_ms, alone({"cluster.nodes=2", "model.per_gpu_batch=4"}));
  // A quarter of a sample per GPU, one of four GPUs: a micro-step, as before.
  EXPECT_EQ(strong[2].figures.global_batch, 64);
  EXPECT_EQ(strong[2].figures.iteration_ms,
            alone({"cluster.nodes=32", "model.per_gpu_batch=0", "model.global_batch=64", "parallel.micro_batch=1"}));
}

/// What is said of a point by its settings is of the experiment of its row.
TEST(Sweep, TheSettingsOfAPointHaveItsBatch) {
  SweepRequest per_gpu{.config = test::config("bert_large_dgx_a100.yaml"),
                       .axes = {{"cluster.nodes", {"1", "2", "32"}}}};
  per_gpu.sets = {"framework={name: megatron}", "model={name: bert_large, per_gpu_batch: 8}", "parallel.tensor=4"};
  for (SweepRequest request : {per_gpu, flagship({{"cluster.nodes", {"1", "2", "4"}}})}) {
    for (const Scaling scaling : {Scaling::as_given, Scaling::strong, Scaling::weak}) {
      request.scaling = scaling;
      PointExperiments points(request, variants_of(request).value());
      const Swept rows(request);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        ASSERT_EQ(rows[i].error, "");
        SweepRequest alone{.config = request.config, .sets = points.sets(i)};
        EXPECT_EQ(Swept(alone)[0].figures.fingerprint, rows[i].figures.fingerprint) << name_of(scaling) << " " << i;
      }
    }
  }
}

TEST(Sweep, ASweptBatchPerGpuHoldsOnAnyNumberOfGpus) {
  for (const Scaling scaling : {Scaling::as_given, Scaling::weak}) {
    SweepRequest request =
        flagship({{"cluster.nodes", {"1", "4"}}, {"model.per_gpu_batch", {"1024", "2048"}}}, scaling);
    request.sets = {"model.global_batch=0"};
    const Swept points(request);
    ASSERT_EQ(points.size(), 4u);
    EXPECT_EQ(points[0].figures.global_batch, 8 * 1024);
    EXPECT_EQ(points[1].figures.global_batch, 8 * 2048);
    EXPECT_EQ(points[2].figures.global_batch, 32 * 1024);
    EXPECT_EQ(points[3].figures.global_batch, 32 * 2048);
  }
}

/// The first and the last value of an axis may leave a key unread that those between them read.
TEST(Sweep, FixedKeysAreTriedAtEveryValueOfAnAxis) {
  SweepRequest request{.config = test::config("megatron_gpt_7_5b.yaml"),
                       .sets = {"cluster.nodes=1", "cluster.gpus_per_node=4", "model.llm.layers=2",
                                "model.global_batch=8", "parallel.tensor=4", "framework.kernels.attention=flash",
                                "framework.kernels.flash_library=flash1", "model.rnn.encoder_layers=3"},
                       .axes = {{"cluster.system", {"dgx1_v100_32gb", "dgx_a100_80gb", "mi300x_8x"}}}};
  const auto idle = [&] {
    std::vector<std::string> out;
    for (const IdleArgument& line : sweep_without_effect(*Swept(request).result, "--set"))
      if (line.argument != "--scaling") out.push_back(line.text());
    return out;
  };
  const std::string everywhere = "--set model.rnn.encoder_layers=3: no effect on the prediction";
  EXPECT_EQ(idle(), std::vector<std::string>{everywhere});
  std::swap(request.axes[0].values[1], request.axes[0].values[2]);
  EXPECT_EQ(idle(), std::vector<std::string>{everywhere});
  request.axes.push_back({"model.transformer_xl.layers", {"12", "4"}});
  EXPECT_EQ(idle(),
            (std::vector<std::string>{"--set model.transformer_xl.layers: no effect at any point",
                                      "--set model.rnn.encoder_layers=3: no effect on the 4 predictions tried"}));
}

/// A row is computed with the batch that it is labelled with.
TEST(Sweep, ABatchGivenTwiceIsRefusedAsInAPrediction) {
  SweepRequest request = flagship({{"cluster.nodes", {"1", "2"}}});
  request.sets = {"model.per_gpu_batch=64"};
  const Swept points(request);
  EXPECT_NE(points.error.find("per_gpu_batch"), std::string::npos) << points.error;
}

TEST(Sweep, WeakScalingRefusesASweptGlobalBatch) {
  const Swept points(
      flagship({{"model.global_batch", {"1024", "2048"}}, {"cluster.nodes", {"1", "2"}}}, Scaling::weak));
  EXPECT_NE(points.error.find("--scaling: found weak"), std::string::npos);
}

TEST(Sweep, ScalingDoesNothingWhereGpusAreNotSwept) {
  const Swept points(flagship({{"model.global_batch", {"1024", "2048"}}}, Scaling::weak));
  ASSERT_EQ(points.size(), 2u) << points.error;
  EXPECT_EQ(points[0].figures.global_batch, 1024);
  EXPECT_EQ(points[1].figures.global_batch, 2048);
}

/// --scaling that leaves every point its batch is named, but not what a study says, which holds for any experiment.
TEST(Sweep, ScalingThatHoldsAnywayIsNamed) {
  const auto lines = [](SweepRequest request) {
    std::vector<std::string> out;
    for (const IdleArgument& line : sweep_without_effect(*Swept(request).result, "--set"))
      if (line.argument == "--scaling") out.push_back(line.text());
    return out;
  };
  const std::vector<std::string> named{"--scaling: no effect, every point has the batch that the experiment gives"};
  const std::vector<std::string> per_gpu{"model.global_batch=0", "model.per_gpu_batch=1024"};
  for (const Scaling scaling : {Scaling::as_given, Scaling::strong, Scaling::weak}) {
    SweepRequest request = flagship({{"cluster.nodes", {"1", "2"}}}, scaling);
    EXPECT_EQ(lines(request), scaling == Scaling::strong ? named : std::vector<std::string>());
    request.sets = per_gpu;
    EXPECT_EQ(lines(request), scaling == Scaling::weak ? named : std::vector<std::string>());
    request.scaling_asked = "x.yaml:1:1: scaling";
    EXPECT_TRUE(lines(request).empty());
  }
}

/// Variants are compared as a whole; where an axis counts the GPUs, each is scaled by itself.
TEST(Sweep, ScalingRefusesVariantsThatAloneSetTheGpus) {
  const SweepAxis variants{"variant", {"a", "b"}, {{"cluster.nodes=1"}, {"cluster.nodes=2"}}},
      halves{"variant", {"a", "b"}, {{"cluster.gpus_per_node=4"}, {"cluster.gpus_per_node=8"}}},
      models{"variant", {"a", "b"}, {{}, {"framework.overlap=false"}}}, nodes{"cluster.nodes", {"1", "2"}};
  for (const Scaling scaling : {Scaling::strong, Scaling::weak}) {
    EXPECT_NE(Swept(flagship({variants}, scaling)).error.find("and variants that set cluster.nodes"),
              std::string::npos);
    EXPECT_NE(Swept(flagship({halves}, scaling)).error.find("variants that set cluster.gpus_per_node"),
              std::string::npos);
    EXPECT_TRUE(sweep_points(flagship({halves, nodes}, scaling), false).ok());
    EXPECT_TRUE(sweep_points(flagship({models}, scaling), false).ok());
  }
  EXPECT_TRUE(sweep_points(flagship({variants}), false).ok());
}

TEST(Sweep, StrongScalingRefusesASweptBatchPerGpu) {
  SweepRequest request =
      flagship({{"model.per_gpu_batch", {"1024", "2048"}}, {"cluster.nodes", {"1", "2"}}}, Scaling::strong);
  request.sets = {"model.global_batch=0"};
  const Swept points(request);
  EXPECT_NE(points.error.find("--scaling: found strong"), std::string::npos) << points.error;
  EXPECT_NE(points.error.find("swept model.per_gpu_batch"), std::string::npos) << points.error;
}

/// A row is what a prediction with its values alone gives, where nothing else is asked.
TEST(Sweep, KeepsTheBatchThatTheExperimentGives) {
  for (const bool per_gpu : {false, true}) {
    SweepRequest request = flagship({{"cluster.nodes", {"4", "1", "2"}}});
    if (per_gpu) request.sets = {"model.global_batch=0", "model.per_gpu_batch=2048"};
    const Swept points(request);
    ASSERT_EQ(points.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      pipeline::Passes passes;
      const auto alone = pipeline::predict(request.config, sets_at(request, i), passes);
      ASSERT_TRUE(alone.ok()) << alone.error().text();
      EXPECT_DOUBLE_EQ(points[i].figures.iteration_ms, alone->report.iteration.ms()) << per_gpu << " " << i;
      EXPECT_EQ(points[i].figures.global_batch, per_gpu ? 2048 * points[i].figures.gpus : 65536) << i;
    }
  }
}

TEST(Sweep, FirstAxisVariesSlowestAndThreadsDoNotMatter) {
  const SweepRequest request = flagship({{"cluster.nodes", {"1", "2"}}, {"model.global_batch", {"32768", "65536"}}});
  const Swept one(request), three(request, 3);
  ASSERT_EQ(one.size(), 4u);
  EXPECT_EQ(one[1].values, (std::vector<std::string>{"1", "65536"}));
  EXPECT_EQ(one[2].values, (std::vector<std::string>{"2", "32768"}));
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one.run->rows().bytes(i), three.run->rows().bytes(i));
  EXPECT_EQ(one.csv(), three.csv());
}

TEST(Sweep, PointWithoutPredictionKeepsItsPlace) {
  const Swept points(flagship({{"model.global_batch", {"65536", "3"}}}));
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].error, "");
  EXPECT_NE(points[1].error, "") << "3 samples on 32 GPUs cannot be trained";
  EXPECT_EQ(points[1].figures.fits, Fits::unknown) << "memory is not the reason";
  std::istringstream csv(points.csv());
  CsvReader reader = CsvReader::open(csv, "sweep").value();
  EXPECT_TRUE(reader.next().value().has_value());
  const auto failed = reader.next().value();
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ((*failed)[reader.column("iteration_ms").value()], "");
  EXPECT_EQ((*failed)[reader.column("error").value()], "'" + points[1].error) << "no formula of a spreadsheet";
}

/// A type that the GPU lacks is refused whether the job would fit or not: smaller batches cannot help.
TEST(Sweep, OfATypeThatCannotBeMemoryIsNoMatter) {
  const SweepRequest request{.config = test::config("megatron_gpt_145b.yaml"),
                             .sets = {"cluster.system=dgx1_v100_32gb", "cluster.nodes=1", "parallel.pipeline=1",
                                      "parallel.tensor=8", "parallel.schedule=1f1b", "model.precision=bf16"},
                             .axes = {{"model.memory_check", {"true", "false"}}}};
  const Swept points(request);
  ASSERT_EQ(points.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NE(points[i].error.find("model.precision: found bf16"), std::string::npos) << points[i].error;
    EXPECT_EQ(points[i].figures.fits, Fits::unknown);
    EXPECT_GT(points[i].figures.memory_gb, points[i].figures.capacity_gb);
  }
}

/// Nodes without a network are no job, whether it would fit or not: the line is that of a prediction.
TEST(Sweep, OfAClusterThatCannotBeMemoryIsNoMatter) {
  const SweepRequest request{.config = test::config("megatron_gpt_145b.yaml"),
                             .sets = {"cluster.nodes=2", "parallel.pipeline=1", "parallel.tensor=4"},
                             .axes = {{"cluster.system", {"pcie_l40s"}}}};
  const Swept points(request);
  EXPECT_TRUE(points[0].error.ends_with(
      "/systems/pcie_l40s.yaml:16:10: cluster.nic.count: found 0, expected at least 1 to join 2 nodes"))
      << points[0].error;
  EXPECT_EQ(points[0].figures.fits, Fits::unknown);
}

TEST(Sweep, ColumnsAreThoseOfTheContract) {
  const Swept points(flagship({{"cluster.nodes", {"1", "2"}}, {"model.global_batch", {"32768", "65536"}}}));
  EXPECT_TRUE(points.csv().starts_with(
      "cluster.nodes,model.global_batch,iteration_ms,low_ms,high_ms,samples_per_s,tokens_per_s_per_gpu,mfu,"
      "exposed_comm_ms,memory_gb,fits,limited_by,error,"))
      << points.csv();
}

/// One word in the table, the reason once below it; the size that memory would need.
TEST(Sweep, WhatDoesNotFitIsOneWord) {
  const SweepRequest request{.config = test::config("megatron_gpt_7_5b.yaml"),
                             .axes = {{"parallel.tensor", {"1", "2"}}}};
  const Swept points(request);
  EXPECT_NE(points[0].error, "");
  EXPECT_EQ(points[0].figures.fits, Fits::no);
  EXPECT_GT(points[0].figures.memory_gb, points[0].figures.capacity_gb);
  const std::string table = points.table();
  EXPECT_NE(table.find("\nmemory: 1 point does not fit"), std::string::npos) << table;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line) && !line.empty();) EXPECT_LT(line.size(), 140u) << line;
}

/// Also where the tables of a recommender cannot even be dealt.
TEST(Sweep, TablesThatCannotBeDealtDoNotFitEither) {
  SweepRequest request = flagship({{"device.hbm.capacity", {"2 GB", "80 GB"}}});
  const Swept points(request);
  EXPECT_EQ(points[0].figures.fits, Fits::no);
  EXPECT_EQ(points[1].figures.fits, Fits::yes);
}

TEST(Sweep, ColumnsAndOrderAreTheUsers) {
  const Swept points(flagship({{"cluster.nodes", {"1", "2", "4"}}, {"model.global_batch", {"65536", "3"}}}));
  const std::string csv = points.csv("nodes,samples_per_s,model.global_batch", "cluster.nodes:desc");
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "nodes,samples_per_s,model.global_batch");
  std::string firsts;
  while (std::getline(lines, line)) firsts += line.substr(0, line.find(','));
  EXPECT_EQ(firsts, "442211");
  const std::string by_time = points.csv("iteration_ms,error", "iteration_ms");
  EXPECT_NE(by_time.find("\n,"), std::string::npos);
  EXPECT_GT(by_time.find("\n,"), by_time.find("\n2.")) << "points without a figure come last";
}

TEST(Sweep, ColumnsThatAreNotThereAreRefused) {
  const SweepRequest request = flagship({{"cluster.nodes", {"1", "2"}}});
  const auto refusal = [&](const std::string& columns, const std::string& sort) {
    const auto view = sweep_view(request, columns, sort);
    return view.ok() ? "" : view.error().text();
  };
  EXPECT_NE(refusal("iteration", "").find("did you mean 'iteration_ms'"), std::string::npos);
  EXPECT_NE(refusal("gpus,gpus", "").find("twice"), std::string::npos);
  EXPECT_NE(refusal("", "mfuu").find("did you mean 'mfu'"), std::string::npos);
  EXPECT_NE(refusal("", "mfu:up").find(":desc"), std::string::npos);
  EXPECT_NE(refusal("gpus,", ""), "");
}

/// Also where micro-steps or micro-batches are folded.
TEST(Sweep, FiguresAreThoseOfThePrediction) {
  for (const char* file : {"dgx_a100_4node.yaml", "dlrm_skewed_2node.yaml", "resnet50_dgx_a100.yaml",
                           "bert_large_dgx_a100.yaml", "megatron_gpt_7_5b.yaml", "megatron_gpt_145b.yaml"}) {
    const auto e = config::load_experiment(test::config(file), {}).value();
    pipeline::Passes passes;
    pipeline::CostModelCache cache;
    const auto whole =
        pipeline::predict(e, passes, cache, pipeline::kPlayedMicroSteps, report::Detail::figures).value().report;
    const Swept points(SweepRequest{.config = test::config(file)});
    const SweepFigures &a = points[0].figures, b = figures_of(e, whole);
    EXPECT_EQ(encode(row_of(a, "")), encode(row_of(b, ""))) << file;
    EXPECT_GT(a.iteration_ms, 0) << file;
  }
}

TEST(Sweep, PointsOfOneMachineFollowEachOther) {
  const SweepRequest request =
      flagship({{"model.global_batch", {"1", "2"}}, {"cluster.nodes", {"1", "2"}}, {"framework.name", {"a", "b"}}});
  EXPECT_EQ(sweep_order(request), (std::vector<std::size_t>{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(sweep_order(flagship({{"cluster.nodes", {"1", "2"}}, {"model.global_batch", {"1", "2", "3"}}})),
            (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Sweep, TooManyPointsAreOneLine) {
  SweepAxis nodes{"cluster.nodes", std::vector<std::string>(1'000'000, "1")};
  SweepAxis batch{"model.global_batch", std::vector<std::string>(1'000'000, "65536")};
  const auto points = sweep_points(flagship({nodes, batch}), false);
  ASSERT_FALSE(points.ok());
  EXPECT_NE(points.error().text().find("1e+12 points"), std::string::npos) << points.error().text();
}

TEST(Sweep, KeysWithoutEffectAreNamed) {
  const Swept points(flagship({{"cluster.nodes", {"1", "2"}}, {"model.dlrm.cross_rank", {"3", "5"}}}));
  EXPECT_EQ(points.result->axes_without_effect(), std::vector<std::string>{"model.dlrm.cross_rank"});
}

TEST(Sweep, WordsOfALayoutAreNoEffect) {
  SweepRequest request = flagship({{"parallel.shard", {"none", "optimizer", "weights"}}});
  request.sets = {"cluster.nodes=1", "cluster.gpus_per_node=4",
                  "model={name: megatron_gpt_7_5b, global_batch: 16, llm: {layers: 4}}", "framework.name=megatron"};
  EXPECT_EQ(Swept(request).result->axes_without_effect(), std::vector<std::string>{"parallel.shard"});
}

/// Axes of maps are what their values say.
TEST(Sweep, MapsCountGpusAndSayBatches) {
  const SweepAxis machines{"cluster", {"{system: dgx_a100_80gb, nodes: 1}", "{system: dgx_a100_80gb, nodes: 2}"}};
  EXPECT_TRUE(counts_gpus(machines));
  EXPECT_FALSE(counts_gpus({"cluster", {"{system: dgx_h100}", "{system: dgx_a100_80gb}"}}));
  EXPECT_FALSE(counts_gpus({"variant", {"a"}, {{"cluster.nodes=2"}}}));
  const Swept maps(flagship({machines})), dotted(flagship({{"cluster.nodes", {"1", "2"}}}));
  EXPECT_LT(maps[1].efficiency, 1);
  EXPECT_DOUBLE_EQ(maps[1].efficiency, dotted[1].efficiency);
  SweepRequest request =
      flagship({{"cluster.nodes", {"1", "2"}},
                {"model", {"{name: gpt2_xl, per_gpu_batch: 4}", "{name: gpt2_xl, per_gpu_batch: 8}"}}});
  request.scaling = Scaling::strong;
  const auto points = sweep_points(request, false);
  ASSERT_FALSE(points.ok());
  EXPECT_NE(points.error().text().find("a swept model.per_gpu_batch"), std::string::npos) << points.error().text();
}

TEST(Sweep, AKeyIsGivenTwiceInAnyNotation) {
  const SweepAxis nodes{"cluster.nodes", {"1", "2"}}, tensor{"parallel.tensor", {"1", "2"}};
  const SweepAxis counted{"cluster", {"{nodes: 1}", "{nodes: 2}"}}, named{"cluster", {"{system: a}", "{system: b}"}};
  const SweepAxis split{"model", {"{name: a, parallel: {tensor: 2}}", "{name: b}"}},
      plain{"model", {"{name: a}", "{name: b}"}};
  const SweepAxis variants{"variant", {"a", "b"}, {{"cluster.nodes=2"}, {}}};
  EXPECT_EQ(key_given_twice({nodes, nodes}), "cluster.nodes");
  EXPECT_EQ(key_given_twice({counted, nodes}), "cluster.nodes");
  EXPECT_EQ(key_given_twice({nodes, named}), "cluster");
  EXPECT_EQ(key_given_twice({named, nodes}), "");
  EXPECT_EQ(key_given_twice({split, tensor}), "parallel.tensor");
  EXPECT_EQ(key_given_twice({tensor, split}), "model");
  EXPECT_EQ(key_given_twice({tensor, plain}), "");
  EXPECT_EQ(key_given_twice({tensor, {"model.parallel.tensor", {"1", "2"}}}), "model.parallel.tensor");
  EXPECT_EQ(key_given_twice({variants, nodes}), "cluster.nodes");
  EXPECT_EQ(key_given_twice({nodes}, {"cluster={nodes: 3}"}), "cluster.nodes");
  EXPECT_EQ(key_given_twice({variants}, {"cluster.nodes=3"}), "");
}

/// Whoever gives very many keys waits no longer than they take to read.
TEST(Sweep, ManyKeysAreComparedAtOnce) {
  std::vector<SweepAxis> axes;
  for (int i = 0; i < 100'000; ++i) axes.push_back({"a.k" + std::to_string(i), {"1", "2"}});
  EXPECT_EQ(key_given_twice(axes), "");
  axes.push_back(axes.front());
  EXPECT_EQ(key_given_twice(axes), "a.k0");
}

}  // namespace
}  // namespace distsim::study
