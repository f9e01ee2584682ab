// What a user asks of single tables, in the words of TorchRec's ParameterConstraints. A CSV file, a line for each table or
// range of tables; empty cells leave things open:
//
//   table,sharding_types,min_partition,compute_kernels,device_group
//   0-25,table_wise column_wise,32,,
//   20,row_wise,,fused,cuda
//
// A later line adds to what earlier ones say of a table and replaces what both say.
//
//   sharding_types   the kinds that it may be split in, between blanks; grid is also grid_shard, as TorchRec writes it
//   min_partition    least columns of a shard, a divisor of the table's dim
//   compute_kernels  fused (the optimizer runs in the backward pass) or dense, which is data_parallel's; others keep rows
//                    off the GPU, which is not modelled
//   device_group     cuda; nothing else is modelled
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/workload/placement/placement.hpp"

namespace distsim::study {

enum class ComputeKernel : std::uint8_t { fused, dense };

struct TableConstraint {
  std::vector<workload::TableSharding> sharding_types;  ///< none: all
  std::int64_t min_partition = 0;                       ///< 0: the planner's
  std::vector<ComputeKernel> compute_kernels;           ///< none: all
  std::string where;                                    ///< of the line that said it last

  bool allows(workload::TableSharding sharding) const;
  /// A kind that it allows, and no shard of fewer columns than min_partition.
  bool allows(const workload::TablePlan& plan) const;
};

/// One for every table. Errors, with file and line: no such table, word or number; a min_partition that does not divide a
/// table's dim; kinds and kernels that leave a table none.
Result<std::vector<TableConstraint>> read_constraints(std::istream& in, const std::string& name,
                                                      const std::vector<workload::ModelTable>& tables);
Result<std::vector<TableConstraint>> read_constraints_file(const std::string& path,
                                                           const std::vector<workload::ModelTable>& tables);

}  // namespace distsim::study
