#include "sim/workload/specs/table_split.hpp"

namespace distsim::workload {
namespace {

constexpr Range kTableBytes{0, 1e18};

void add_kinds(Schema<TableSplit>& s) {
  s.choice("sharding", &TableSplit::sharding,
           {{"planner", Sharding::planner},
            {"table_wise", Sharding::table_wise},
            {"row_wise", Sharding::row_wise},
            {"column_wise", Sharding::column_wise},
            {"data_parallel", Sharding::data_parallel}},
           "Recommenders: how the tables are distributed over the ranks.");
  s.choice(
      "balance", &TableSplit::balance,
      {{"cost", Balance::cost},
       {"basic", Balance::basic},
       {"memory_balanced", Balance::memory_balanced},
       {"memory_optimized", Balance::memory_optimized}},
      "planner: how tables are dealt to the ranks. cost: balances lookups and exchange, splitting costly tables (NVIDIA's MLPerf planner). The strategies of distributed-embeddings: basic, in turn; memory_balanced, sorted by size and back and forth; memory_optimized, the largest first to the emptiest rank. With fewer tables than ranks these cut the largest by columns.");
  s.scalars("placement", &TableSplit::placement, {0, 4e9}, "table_wise: the rank that holds each table.");
  s.optional(
      "placement_file", &TableSplit::placement_file,
      "Recommenders: a CSV file that says how each table is split and which ranks hold it (docs/recommenders.md); it replaces parallel.sharding.");
}

void add_limits(Schema<TableSplit>& s) {
  s.optional(
      "data_parallel_below", &TableSplit::data_parallel_below, kTableBytes,
      "planner, row_wise, column_wise: tables smaller than this with their optimizer state are replicated on every rank.");
  s.optional("data_parallel_below_nodes", &TableSplit::data_parallel_below_nodes, kTableBytes,
             "The same limit on several nodes; 0: as on one node.");
  s.optional(
      "table_memory", &TableSplit::table_memory, kTableBytes,
      "planner: memory per GPU for tables and their optimizer state, at most; 0: what the rest of the model leaves.");
  s.optional(
      "bandwidth_ratio", &TableSplit::bandwidth_ratio, {0, 1e6},
      "planner: ratio of GPU memory bandwidth to exchange bandwidth (NVIDIA's MEM_COMM_BW_RATIO); 0: 7 on one node, 67 on several.");
  s.optional(
      "work_ratio", &TableSplit::work_ratio, {1e-6, 1e6},
      "planner: ratio of the memory traffic of a lookup to the exchange traffic of a pooled vector (NVIDIA's MEM_COMM_WORK_RATIO).");
  s.optional("row_wise_above", &TableSplit::row_wise_above, kTableBytes,
             "planner: tables larger than this are split by rows; 0: only those that do not fit.");
  s.optional("column_wise_above", &TableSplit::column_wise_above, kTableBytes,
             "planner: tables larger than this are split by columns; 0: never.");
}

}  // namespace

Schema<TableSplit> table_split_schema() {
  Schema<TableSplit> s("parallel", "How embedding tables are split.");
  add_kinds(s);
  add_limits(s);
  s.optional("exchange_through_host", &TableSplit::exchange_through_host,
             "Recommenders: pooled vectors are exchanged between GPUs through host memory.");
  s.optional(
      "distribute_input", &TableSplit::distribute_input,
      "Recommenders: ids are sent to the ranks that hold the tables; otherwise each of these reads its own ids of the global batch.");
  return s;
}

}  // namespace distsim::workload
