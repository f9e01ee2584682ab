// AlpaServe's goodput on 16 GPUs, from configs/serving/alpaserve.yaml: replication and model parallelism.

#include <cmath>
#include <fstream>
#include <sstream>

#include "base/text/csv.hpp"
#include "scenarios.hpp"
#include "sim/serving/report/comparison.hpp"
#include "test_data.hpp"
#include "test_paths.hpp"

namespace distsim::serving {
namespace {

struct Row {
  std::string name, shape;
  double slo_scale = 0, measured = 0;
  std::vector<std::vector<int>> groups;  ///< models of each
};

std::vector<Row> measured_rows() {
  const std::string path = distsim::test::data("serving/alpaserve_goodput.csv");
  std::ifstream in(path);
  auto csv = CsvReader::open(in, path);
  EXPECT_TRUE(csv.ok());
  std::vector<Row> rows;
  while (csv.ok()) {
    const auto line = csv->next();
    if (!line.ok() || !*line) break;
    const auto cell = [&](const std::string& column) { return (**line)[*csv->require(column)]; };
    Row row{cell("row"),
            cell("group_shape_dp_op_pp"),
            std::stod(cell("slo_scale")),
            std::stod(cell("goodput_measured")),
            {}};
    std::istringstream groups(cell("models_in_each_group"));
    for (std::string group; groups >> group;) {
      row.groups.emplace_back();
      std::istringstream models(group);
      for (std::string model; std::getline(models, model, '+');) row.groups.back().push_back(std::stoi(model));
    }
    rows.push_back(row);
  }
  return rows;
}

/// The experiment's keys for another row: groups, and each model's place and deadline.
std::vector<std::string> sets_of(const Row& row, double alone_s) {
  const std::string count = std::to_string(row.groups.size());
  std::vector<std::string> sets;
  if (row.shape == "1x1x1")
    sets.push_back("gpus=[{name: group, kind: one, count: " + count +
                   ", memory: 13 GiB, speed: 0.7, host_latency: 100 us}]");
  else if (row.shape == "1x4x1")
    sets.push_back("gpus=[{name: group, kind: operators_4, count: " + count +
                   ", memory: 52 GiB, speed: 0.7, host_latency: 100 us}]");
  for (int m = 0; m < 24; ++m) {
    const std::string model = "models." + std::to_string(m) + ".";
    std::string places;
    for (std::size_t g = 0; g < row.groups.size(); ++g) {
      if (std::ranges::find(row.groups[g], m) != row.groups[g].end())
        places += (places.empty() ? "" : ", ") + ("group" + std::to_string(g));
    }
    sets.push_back(model + "placed_on=[" + places + "]");
    sets.push_back(model + "refused=" + (places.empty() ? "true" : "false"));
    sets.push_back(model + "deadline=" + std::to_string(row.slo_scale * alone_s * 1e3) + " ms");
  }
  return sets;
}

/// The GPUs' speed was fitted to the rows of replication; those of model parallelism follow. Mean over seeds.
TEST(AlpaServe, Goodput) {
  constexpr double kAloneSeconds = 0.148 / 0.7;
  constexpr int kSeeds = 3;
  double off_sum = 0;
  const std::vector<Row> rows = measured_rows();
  ASSERT_GE(rows.size(), 6u);
  for (const Row& row : rows) {
    auto e = load_experiment(distsim::test::root() + "/configs/serving/alpaserve.yaml", sets_of(row, kAloneSeconds));
    ASSERT_TRUE(e.ok()) << e.error().text();
    double goodput = 0;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      e->load.seed = static_cast<std::uint64_t>(seed);
      const auto r = emulate(e->scenario, *e->policies[0], e->policy_options, e->load, e->run);
      ASSERT_TRUE(r.ok()) << r.error().text();
      goodput += (1 - static_cast<double>(r->all.violations) / static_cast<double>(r->all.requests)) / kSeeds;
    }
    RecordProperty(row.name, std::to_string(goodput));
    EXPECT_NEAR(goodput, row.measured, 0.10) << row.name;
    off_sum += std::abs(goodput - row.measured);
  }
  const bool sample = distsim::test::is_sample("serving/alpaserve_goodput.csv");
  EXPECT_LE(off_sum / static_cast<double>(rows.size()), sample ? 0.025 : 0.02);
}

}  // namespace
}  // namespace distsim::serving
