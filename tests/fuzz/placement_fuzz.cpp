// Placement files, constraints of tables, and tables to draw from.
#include <sstream>

#include "fuzz_target.hpp"
#include "sim/study/plan_tables/table_constraints.hpp"
#include "sim/study/random_dlrm.hpp"
#include "sim/workload/placement/placement_file.hpp"

FUZZ_TARGET(placement) {
  using namespace distsim;
  static const std::vector<workload::ModelTable> tables(4, {1000, 64});
  const std::string all(text);
  std::istringstream placement(all), constraints(all), pool(all);
  auto plans = workload::read_placement(placement, "fuzz.csv");
  fuzz::check_answer(plans);
  fuzz::check_answer(study::read_constraints(constraints, "fuzz.csv", tables));
  fuzz::check_answer(study::read_table_pool(pool, "fuzz.csv"));
  if (!plans.ok()) return;
  workload::DlrmSpec spec;
  spec.embedding_dim = 64;
  for (std::size_t t = 0; t < plans->tables.size() && t < 64; ++t) spec.tables.push_back({.rows = 1000});
  fuzz::check_answer(workload::place_tables(spec, {.plans = std::move(*plans)}, {8, 2, 1'000'000}));
}
