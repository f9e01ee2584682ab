// Placement files: which ranks hold which part of which table, a CSV line for each table.
//
//   table,sharding,ranks,rows,columns,memory,cost
//   0,row_wise,0-7,5000000x8,128,20.5 GB,3.1 ms
//   1,column_wise,3 5,40000000,64x2,10.2 GB,2.4 ms
//
// `table` is the table's number in the model, from 0. Lists are separated by blanks; 0-7 are the ranks 0 to 7, 64x2 is
// 64 twice. What the lists mean: table_plan.hpp. Other columns are carried along by whoever writes them and not read.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "base/result.hpp"
#include "sim/workload/placement/table_plan.hpp"

namespace distsim::workload {

/// Errors, with file and line: no such sharding, text that is no list, a table twice, none for a table below the last, no
/// table at all.
Result<TablePlans> read_placement(std::istream& in, const std::string& name);
Result<TablePlans> read_placement_file(const std::string& path);

/// The first five fields of a table's line.
std::vector<std::string> placement_fields(std::size_t table, const TablePlan& plan);

}  // namespace distsim::workload
