// TableSplit: how a recommender's embedding tables are split over ranks, and how ids and vectors travel between them:
// keys of the section `parallel`. What each key means is said in table_split.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "base/config/schema.hpp"
#include "sim/workload/placement/planner.hpp"
#include "sim/workload/placement/table_plan.hpp"

namespace distsim::workload {

enum class Sharding : std::uint8_t { planner, table_wise, row_wise, column_wise, data_parallel };

struct TableSplit {
  Sharding sharding = Sharding::planner;
  Balance balance = Balance::cost;
  Bytes data_parallel_below{0};
  Bytes data_parallel_below_nodes{0};
  Bytes table_memory{0};
  double bandwidth_ratio = 0;
  double work_ratio = 4;  ///< NVIDIA's own default
  Bytes row_wise_above{0};
  Bytes column_wise_above{0};
  std::vector<std::int64_t> placement;
  std::string placement_file;
  TablePlans plans;  ///< of placement_file; where there are any, they decide instead of the keys above
  bool exchange_through_host = false;
  bool distribute_input = true;

  bool by_planner() const { return sharding == Sharding::planner && plans.tables.empty(); }
};

Schema<TableSplit> table_split_schema();

}  // namespace distsim::workload
