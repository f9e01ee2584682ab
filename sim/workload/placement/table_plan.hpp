// TablePlan: how one table is split and which ranks hold it, as a placement file or the planner of tables says. The kinds
// are TorchRec's sharding types:
//
//   table_wise      one rank holds the table
//   column_wise     each of the ranks holds all rows of some columns
//   row_wise        each of the ranks holds some rows; where these are all ranks of the job, partial sums meet in a
//                   reduce-scatter, else they travel as vectors do and are added up where they arrive
//   table_row_wise  row_wise over the GPUs of one node: partial sums meet within the node
//   grid            column_wise over nodes, each of which holds its columns table_row_wise
//   data_parallel   every rank holds a copy and looks up its own samples; gradients are reduced with the dense ones
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/text/names/words.hpp"

namespace distsim::workload {

enum class TableSharding : std::uint8_t { table_wise, column_wise, row_wise, table_row_wise, grid, data_parallel };
const Words<TableSharding>& table_sharding_words();

struct TablePlan {
  TableSharding sharding = TableSharding::table_wise;
  std::vector<std::uint32_t> ranks;   ///< a shard each, in the order of its rows and columns; grid: node by node
  std::vector<std::int64_t> rows;     ///< of each shard where rows are split (grid: of each GPU of a node), else one
  std::vector<std::int64_t> columns;  ///< of each shard (grid: of each node) where columns are split, else one number
  std::uint32_t line = 0;             ///< of the file
  bool operator==(const TablePlan&) const = default;
};

/// A plan for every table of a model, in the model's order.
struct TablePlans {
  std::string name;  ///< of the file, for messages
  std::vector<TablePlan> tables;
  bool operator==(const TablePlans&) const = default;
};

}  // namespace distsim::workload
