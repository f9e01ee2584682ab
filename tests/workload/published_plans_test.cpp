// The planner against the plans that NVIDIA's planner made for MLPerf DLRM-DCNv2: 16 of its versions v3.0 and v4.0 run
// on known clusters, and 21 printed in the logs of MLPerf Training v3.0 to v4.0 by Dell, IEI, Supermicro, Quanta,
// xFusion, Fujitsu and others.
//
// A plan is a list of tables for every GPU. Ours is equal when the same tables are replicated, every table is cut in as
// many pieces, and the ranks hold the same loads slice by slice. Which of two slices of equal cost goes where is left
// open: NVIDIA's order among them is that of an unstable sort.
//
// What the files leave open is settled as follows:
//   bandwidth ratio   from the log; else our default (7 in a node, 67 over nodes), and 9 on GB200, as in NVIDIA's
//   configuration files whole nodes       hier_auto on several nodes; on GB200, whose nodes share an NVLink domain, the
//   plain planner replication       the thresholds of the model, where the plan replicates at all (v3.0 and some
//   submitters set none); on GB200 that of one node memory of tables  no file names it. 60 GB for GPUs of 80 GB and
//   more (the plans admit 54.8 to 61.4 GB), 35 GB for the three systems with A40, L40
//                     and L40S of 48 GB (34 to 35.9 GB): one value for each size of GPU, not for each plan
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "base/json/json.hpp"
#include "sim/workload/placement/placement.hpp"
#include "sim/workload/registry.hpp"
#include "test_data.hpp"
#include "test_paths.hpp"

namespace distsim::workload {
namespace {

using Matrix = std::vector<std::vector<int>>;  // tables of every GPU

struct PublishedPlan {
  std::string name;
  Matrix matrix;  // without the replicated tables
  std::set<int> replicated;
  std::uint32_t nodes = 1, gpus = 8;
  bool whole_nodes = false;  // every GPU of a node holds its share of the rows of the node's slices
  bool threshold_of_one_node = false;
  double bandwidth_ratio = 0;  // 0: our default
  double work_ratio = 4;
  std::int64_t table_memory = 60'000'000'000;
};

nlohmann::json json_in(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

/// The logs print Python's lists and tuples.
nlohmann::json python_literal(std::string text) {
  for (char& c : text) c = c == '(' ? '[' : c == ')' ? ']' : c == '\'' ? '"' : c;
  return nlohmann::json::parse(text);
}

int number(const nlohmann::json& j) { return j.is_string() ? std::stoi(j.get<std::string>()) : j.get<int>(); }

void read_tables(PublishedPlan& plan, const nlohmann::json& strategy, const nlohmann::json& matrix) {
  for (const auto& part : strategy) {
    if (part[0] != "dp") continue;
    for (const auto& t : part[1]) plan.replicated.insert(number(t));
  }
  for (const auto& gpu : matrix) {
    auto& tables = plan.matrix.emplace_back();
    for (const auto& t : gpu) {
      if (!plan.replicated.contains(number(t))) tables.push_back(number(t));
    }
  }
}

std::vector<PublishedPlan> planner_runs(const std::string& path) {
  std::vector<PublishedPlan> plans;
  const auto all = json_in(path);
  for (const auto& [name, entry] : all.items()) {  // such as v4.0_16x4_gb200
    PublishedPlan& p = plans.emplace_back();
    p.name = name;
    read_tables(p, entry["strategy"], entry["matrix"]);
    const bool gb200 = name.ends_with("gb200");
    p.nodes = static_cast<std::uint32_t>(std::stoi(name.substr(name.find('_') + 1)));
    p.gpus = static_cast<std::uint32_t>(p.matrix.size()) / p.nodes;
    p.whole_nodes = p.nodes > 1 && !gb200;
    p.threshold_of_one_node = gb200;
    if (gb200) p.bandwidth_ratio = 9;
  }
  return plans;
}

std::vector<PublishedPlan> logged_plans(const std::string& path) {
  std::vector<PublishedPlan> plans;
  for (const auto& entry : json_in(path)) {
    PublishedPlan& p = plans.emplace_back();
    p.name = entry["dir"];
    read_tables(p, python_literal(entry["strategy"]), python_literal(entry["shard_matrix"]));
    p.gpus = static_cast<std::uint32_t>(p.matrix.size());
    p.bandwidth_ratio = std::stod(entry["bw"].get<std::string>());
    p.work_ratio = std::stod(entry["wr"].get<std::string>());
    if (p.name.find("L40") != std::string::npos || p.name.find("nf5468m6") != std::string::npos)
      p.table_memory = 35'000'000'000;
  }
  return plans;
}

const ModelSpec& dcnv2() {
  static const ModelSpec model = [] {
    const auto node = parse_yaml_file(test::config("models/dlrm_dcnv2_mlperf.yaml"));
    CHECK(node.ok()) << node.error().text();
    auto m = model_schema().read(*node, "model");
    CHECK(m.ok()) << m.error().text();
    return std::move(m).value();
  }();
  return model;
}

Placement ours(const PublishedPlan& plan) {
  TableSplit split = dcnv2().parallel.tables;
  if (plan.replicated.empty()) split.data_parallel_below = split.data_parallel_below_nodes = Bytes(0);
  if (plan.threshold_of_one_node) split.data_parallel_below_nodes = Bytes(0);
  split.table_memory = Bytes(plan.table_memory);
  split.bandwidth_ratio = plan.bandwidth_ratio;
  split.work_ratio = plan.work_ratio;
  auto placement = place_tables(dcnv2().as<DlrmSpec>(), split,
                                {plan.nodes * plan.gpus, plan.nodes, 1'000'000'000'000, plan.whole_nodes});
  CHECK(placement.ok()) << placement.error().text();
  return std::move(placement).value();
}

/// `together` GPUs hold the rows of their slices in shares; one of them has none where a table has fewer rows than
/// that.
Matrix matrix_of(const Placement& p, std::uint32_t together) {
  Matrix m;
  for (std::size_t first = 0; first < p.set_of_rank.size(); first += together) {
    std::set<int> tables;
    for (std::size_t rank = first; rank < first + together; ++rank) {
      for (const Shard& s : p.sets[p.set_of_rank[rank]].shards) tables.insert(static_cast<int>(s.table));
    }
    m.insert(m.end(), together, {tables.begin(), tables.end()});
  }
  return m;
}

std::map<int, int> pieces_of(const Matrix& m) {
  std::map<int, int> pieces;
  for (const auto& gpu : m) {
    for (const int t : gpu) ++pieces[t];
  }
  return pieces;
}

/// What a rank's slices cost, one by one; ranks in the order of their costs.
std::vector<std::vector<double>> loads_of(const Matrix& m, double ratio) {
  const auto pieces = pieces_of(m);
  std::vector<std::vector<double>> loads;
  for (const auto& gpu : m) {
    auto& costs = loads.emplace_back();
    for (const int t : gpu)
      costs.push_back(dcnv2().as<DlrmSpec>().tables[static_cast<std::size_t>(t)].pooling_factor / pieces.at(t) + ratio);
    std::sort(costs.begin(), costs.end());
  }
  std::sort(loads.begin(), loads.end());
  return loads;
}

struct Comparison {
  bool replicated = false, pieces = false, loads = false;
  std::string published_cuts, our_cuts;
  bool equal() const { return replicated && pieces && loads; }
};

std::string cuts_of(const Matrix& m, std::uint32_t together) {
  std::string out;
  for (const auto& [table, n] : pieces_of(m)) {
    const int cuts = n / static_cast<int>(together);
    if (cuts > 1) out += (out.empty() ? "" : ", ") + std::to_string(table) + " in " + std::to_string(cuts);
  }
  return out.empty() ? "none" : out;
}

Comparison compare(const PublishedPlan& plan) {
  const Placement p = ours(plan);
  const std::uint32_t together = plan.whole_nodes ? plan.gpus : 1;
  const Matrix m = matrix_of(p, together);
  Comparison c;
  c.replicated = std::set<int>(p.replicated.begin(), p.replicated.end()) == plan.replicated;
  c.pieces = pieces_of(m) == pieces_of(plan.matrix);
  c.loads = loads_of(m, 1.75) == loads_of(plan.matrix, 1.75);  // any ratio tells slices of different lookups apart
  c.published_cuts = cuts_of(plan.matrix, together);
  c.our_cuts = cuts_of(m, together);
  return c;
}

std::size_t compare_all(const std::vector<PublishedPlan>& plans) {
  std::size_t equal = 0;
  for (const PublishedPlan& plan : plans) {
    const Comparison c = compare(plan);
    std::printf("%-62s %-5s split: published %s; ours %s\n", plan.name.c_str(), c.equal() ? "equal" : "OTHER",
                c.published_cuts.c_str(), c.our_cuts.c_str());
    EXPECT_TRUE(c.replicated) << plan.name;
    EXPECT_TRUE(c.pieces) << plan.name;
    EXPECT_TRUE(c.loads) << plan.name << ": loads of the ranks";
    equal += c.equal();
  }
  return equal;
}

TEST(PublishedPlans, AllOfNvidiasPlanner) {
  const auto plans = planner_runs(test::data("iteration_times/dcnv2_sharding_plans_planner.json"));
  ASSERT_EQ(plans.size(), test::is_sample("iteration_times") ? 8u : 16u);
  EXPECT_EQ(compare_all(plans), plans.size());
}

TEST(PublishedPlans, AllInLogs) {
  const auto plans = logged_plans(test::data("iteration_times/dcnv2_sharding_plans_from_logs.json"));
  ASSERT_EQ(plans.size(), test::is_sample("iteration_times") ? 11u : 21u);
  EXPECT_EQ(compare_all(plans), plans.size());
}

// Needs no files: the plans of one DGX H100 and of eight, as NVIDIA's logs of v4.0 have them (tables by number; 20 has
// 100 lookups, 21 has 27).
TEST(PublishedPlans, OneAndEightNodesOfV40) {
  PublishedPlan one{"1x8",
                    {{21, 20}, {21, 20}, {20, 19}, {20, 22, 2}, {20, 14, 1}, {20, 11, 0}, {20, 9, 23}, {20, 4, 10}},
                    {3, 5, 6, 7, 8, 12, 13, 15, 16, 17, 18, 24, 25}};
  EXPECT_TRUE(compare(one).equal());
  PublishedPlan eight{"8x8", {}, {3, 5, 6, 7, 8, 12, 13, 14, 15, 16, 17, 18, 24, 25}, 8, 8, true};
  for (const std::vector<int>& node : Matrix{{21}, {20, 10}, {20, 0}, {20, 1}, {20, 2}, {19, 23}, {22, 4}, {11, 9}}) {
    eight.matrix.insert(eight.matrix.end(), 8, node);
  }
  EXPECT_TRUE(compare(eight).equal());
  eight.matrix[0] = {22};  // a plan that differs is told apart
  EXPECT_FALSE(compare(eight).equal());
}

}  // namespace
}  // namespace distsim::workload
