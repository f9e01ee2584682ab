#include "sim/study/recipes/recipe.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/config/config.hpp"
#include "sim/study/sweep/columns.hpp"
#include "sim/study/sweep/point_experiments.hpp"
#include "test_paths.hpp"

namespace distsim::study {
namespace {

std::unique_ptr<StudyRun> evaluated(const SweepRequest& request) {
  auto run = StudyRun::begin(sweep_points(request, false).value(), {2}).value();
  EXPECT_TRUE(run->evaluate().ok());
  return run;
}

/// What a request says once it is evaluated.
struct Found {
  explicit Found(const Recipe& recipe) {
    const auto run = evaluated(recipe.request);
    text = findings(recipe.find, SweepResult(recipe.request, run->rows()));
  }
  std::string text;
};

/// A comparison draws trials of each variant against the first, which takes a hundred times as long as the points.
Recipe with_two_variants(Recipe recipe) {
  if (recipe.find == Find::comparison) {
    recipe.request.axes.front().values.resize(2);
    recipe.request.axes.front().sets.resize(2);
  }
  return recipe;
}

/// Every shipped study loads, all its points but those for memory are predicted, and it finds what it looks for.
TEST(Recipes, ShippedOnesArePredicted) {
  const std::vector<std::string> names = config::names_in("studies");
  EXPECT_GE(names.size(), 5u);
  for (const std::string& name : names) {
    const auto recipe = load_recipe(name);
    ASSERT_TRUE(recipe.ok()) << recipe.error().text();
    const auto run = evaluated(recipe->request);
    const SweepResult all(recipe->request, run->rows());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const SweepPoint point = all.point(i);
      EXPECT_TRUE(point.error.empty() || point.figures.fits == Fits::no) << name << ": " << point.error;
    }
    EXPECT_EQ(Found(with_two_variants(*recipe)).text.empty(), recipe->find == Find::nothing) << name;
  }
}

TEST(Recipes, TheKneeIsTheSmallestBatchNearTheMost) {
  const Found found(load_recipe("batch_size").value());
  EXPECT_NE(found.text.find("knee at batch "), std::string::npos) << found.text;
  EXPECT_NE(found.text.find("memory ends between batch "), std::string::npos) << found.text;
}

/// With model.memory_check: false points that do not fit are predicted; the knee is that of those that fit.
TEST(Recipes, TheKneeIsOfPointsThatFit) {
  Recipe recipe = load_recipe("batch_size").value();
  recipe.request.sets = {"device.hbm.capacity=20GB"};
  const std::string checked = Found(recipe).text;
  EXPECT_NE(checked.find("memory ends between batch "), std::string::npos) << checked;
  recipe.request.sets.emplace_back("model.memory_check=false");
  EXPECT_EQ(Found(recipe).text, checked);
  const auto run = evaluated(recipe.request);
  const SweepResult result(recipe.request, run->rows());
  EXPECT_EQ(result.predicted(), result.size());
  EXPECT_NE(sweep_table(sweep_view(recipe.request, "", "").value(), result).find(" (too much)"), std::string::npos);
  recipe.request.sets.front() = "device.hbm.capacity=2GB";
  EXPECT_NE(Found(recipe).text.find("no batch fits: "), std::string::npos);
}

TEST(Recipes, PerfectScalingHasNoSerialFraction) {
  const Found weak(load_recipe("weak_scaling").value()), strong(load_recipe("strong_scaling").value());
  EXPECT_NE(weak.text.find("Gustafson: serial fraction "), std::string::npos) << weak.text;
  EXPECT_NE(strong.text.find("Amdahl: serial fraction "), std::string::npos) << strong.text;
  EXPECT_NE(strong.text.find("exposed communication: "), std::string::npos) << strong.text;
}

TEST(Recipes, SayWhyNothingWasFound) {
  const auto why = [](std::vector<SweepAxis> axes) {
    const SweepRequest request{.config = test::config("dgx_a100_4node.yaml"), .axes = std::move(axes)};
    const auto run = evaluated(request);
    const SweepResult result(request, run->rows());
    EXPECT_EQ(findings(Find::scaling, result), "");
    return why_nothing(Find::scaling, result);
  };
  EXPECT_EQ(why({{"variant", {"a", "b"}, {{"cluster.nodes=1"}, {"cluster.nodes=2"}}}}),
            "neither cluster.nodes nor cluster.gpus_per_node is swept");
  EXPECT_EQ(why({{"cluster.nodes", {"1", "0"}}}),
            "no two points that differ only in the number of GPUs have a prediction");
  EXPECT_EQ(why({{"model.global_batch", {"3"}}}), "no point has a prediction");
}

/// Scaling gives a point its batch: its percentiles are of that batch, as its row is.
TEST(Recipes, PercentilesAreOfTheRows) {
  for (const Scaling scaling : {Scaling::weak, Scaling::strong}) {
    SweepRequest request{.config = test::config("dgx_a100_4node.yaml")};
    request.axes = {{"cluster.nodes", {"1", "4"}}};
    request.scaling = scaling;
    if (scaling == Scaling::strong) request.sets = {"model.global_batch=0", "model.per_gpu_batch=8192"};
    const auto run = evaluated(request);
    const SweepResult result(request, run->rows());
    const SweepPoint point = result.point(1);
    ASSERT_EQ(point.error, "");
    EXPECT_EQ(point.figures.global_batch, 65536 * (scaling == Scaling::weak ? 4 : 1));
    const std::string text = findings(Find::comparison, result);
    std::istringstream line(text.substr(std::min(text.find("\n4 "), text.size())));
    double nodes = 0, p10 = 0, p50 = 0;
    line >> nodes >> p10 >> p50;
    EXPECT_NEAR(p50 / point.figures.iteration_ms, 1, 0.1) << text;
  }
}

/// What is found is of the file that the rows are of, also where it has changed since.
TEST(Recipes, TheExperimentIsReadOnce) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("once" + std::to_string(::getpid()) + ".yaml");
  std::filesystem::copy_file(test::config("dgx_a100_4node.yaml"), path);
  SweepRequest request{.config = path.string(), .axes = {{"cluster.nodes", {"1", "4"}}}};
  request.experiment = variants_of(request).value();
  const auto run = evaluated(request);
  std::ofstream(path) << "cluster: {}\n";
  EXPECT_NE(findings(Find::comparison, SweepResult(request, run->rows())), "");
  std::filesystem::remove(path);
}

class RecipeFile : public testing::Test {
 protected:
  RecipeFile()
      : path_((std::filesystem::path(testing::TempDir()) / ("r" + std::to_string(::getpid()) + ".yaml")).string()) {}
  ~RecipeFile() override { std::filesystem::remove(path_); }
  std::string refusal(const std::string& text) const {
    std::ofstream(path_) << text;
    const auto recipe = load_recipe(path_);
    return recipe.ok() ? "" : recipe.error().text();
  }
  /// The values of the first varied key, or why there are none.
  std::vector<std::string> values(const std::string& text) const {
    std::ofstream(path_) << text;
    const auto recipe = load_recipe(path_);
    return recipe.ok() ? recipe->request.axes.at(0).values : std::vector<std::string>{recipe.error().text()};
  }
  const std::string path_;
};

/// Each item of a list is one value, be it a map, a list or a text with commas.
TEST_F(RecipeFile, ItemsOfAListAreValues) {
  using Values = std::vector<std::string>;
  EXPECT_EQ(values("vary: {cluster: [{system: dgx_h100}, {system: dgx_a100_80gb, nodes: 2}]}\n"),
            (Values{"{system: dgx_h100}", "{system: dgx_a100_80gb, nodes: 2}"}));
  EXPECT_EQ(values("vary:\n  cluster:\n    - system: 'a, b'\n      nodes: 2\n    - {system: c}\n"),
            (Values{"{system: \"a, b\", nodes: 2}", "{system: c}"}));
  EXPECT_EQ(values("vary: {parallel.table_order: [[1, 2], [2, 1]]}\n"), (Values{"[1, 2]", "[2, 1]"}));
  EXPECT_EQ(values("vary: {cluster: {system: dgx_h100}}\n"), Values{"{system: dgx_h100}"});
  EXPECT_EQ(values("vary: {model.global_batch: ['1024,2048', 4096]}\n"), (Values{"'1024,2048'", "4096"}));
  EXPECT_EQ(values("vary: {cluster: ['{system: a, nodes: 2}', '{system: b}']}\n"),
            (Values{"{system: a, nodes: 2}", "{system: b}"}));
  EXPECT_EQ(values("vary: {cluster.nodes: [1, 2..4]}\n"), (Values{"1", "2", "3", "4"}));
  EXPECT_EQ(values("vary: {cluster.nodes: '1,2'}\n"), (Values{"1", "2"}));
  EXPECT_NE(refusal("vary: {cluster.nodes: [1, null]}\n").find("found an empty value"), std::string::npos);
  EXPECT_NE(refusal("vary: {cluster.nodes: []}\n").find("found an empty value"), std::string::npos);
}

/// What a variant sets stands in place of what is fixed for all.
TEST(Recipes, VariantsReplaceWhatIsFixed) {
  SweepRequest request{.config = "x.yaml", .sets = {"a.b=1", "a.bc=2", "d=3"}};
  request.axes.push_back({"variant", {"one", "two"}, {{"a.b=4"}, {"e=5"}}});
  using Sets = std::vector<std::string>;
  EXPECT_EQ(sets_at(request, 0), (Sets{"a.bc=2", "d=3", "a.b=4"}));
  EXPECT_EQ(sets_at(request, 1), (Sets{"a.b=1", "a.bc=2", "d=3", "e=5"}));
}

TEST_F(RecipeFile, IsReadWithPositions) {
  EXPECT_EQ(refusal("config: x.yaml\nvary: {cluster.nodes: [1, 2], model.global_batch: 1..4}\n"), "");
  EXPECT_NE(refusal("configs: x.yaml\n").find(":1:1: configs: "), std::string::npos);
  EXPECT_NE(refusal("vary: {cluster.nodes: 4..1}\n").find("4..1"), std::string::npos);
  EXPECT_NE(refusal("find: knees\n").find("did you mean 'knee'"), std::string::npos);
  EXPECT_NE(refusal("variants: [{name: a}]\n").find("two or more"), std::string::npos);
  EXPECT_NE(refusal("variants:\n  - {name: a}\n  - {name: b, sets: [cluster.nodes=2]}\n")
                .find(":3:15: variants.sets: found an unknown key, expected a key of variants; did you mean 'set'?"),
            std::string::npos);
  EXPECT_NE(refusal("set: [a.b=1, nonsense]\n").find(":1:14: set: found 'nonsense', expected KEY=VALUE"),
            std::string::npos);
  EXPECT_NE(refusal("set: [a.b=1, a.b=2]\n").find(":1:6: set: found the key 'a.b' twice"), std::string::npos);
  EXPECT_NE(refusal("set: [cluster.nodes=3]\nvary: {cluster.nodes: [1, 2]}\n")
                .find("vary: found the key 'cluster.nodes', which set has, expected one of them"),
            std::string::npos);
  EXPECT_NE(refusal("scaling: wide\n").find("strong or weak"), std::string::npos);
  EXPECT_NE(load_recipe("batchsize").error().text().find("did you mean 'batch_size'"), std::string::npos);
}

}  // namespace
}  // namespace distsim::study
