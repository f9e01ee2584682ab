// Prices of single shards of tables on one rank; the formulas are at the head of price_choices.hpp.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "sim/config/config.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/pipeline/kernel_time.hpp"
#include "sim/study/plan_tables/search/table_choice.hpp"
#include "sim/workload/placement/placement.hpp"
#include "sim/workload/specs/numerics.hpp"
#include "sim/workload/specs/samples.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::study {

/// A part of a table: its rows, columns and ids per sample, and where its vectors meet.
struct TableShard {
  std::int64_t rows = 0, columns = 0;
  double ids = 0;
  workload::Meeting meeting = workload::Meeting::pairs;
  bool whole_nodes = false;  ///< the GPUs of a node have parts alike
};

class TablePrices {
 public:
  static Result<TablePrices> create(const config::Experiment& experiment, pipeline::CostModelCache& cache);

  std::uint32_t ranks() const { return cluster_.ranks(); }
  std::uint32_t nodes() const { return cluster_.nodes; }
  std::int64_t room() const { return room_; }  ///< bytes of a rank for tables and the buffers that depend on them
  bool splits_rows_anywhere() const { return experiment_->framework.embedding.hybrid; }

  Result<ShardCost> shard(const workload::ModelTable& table, const TableShard& shard) const;
  Result<ShardCost> copy(const workload::ModelTable& table) const;
  std::int64_t shard_memory(const workload::ModelTable& table, const TableShard& shard) const;
  std::int64_t copy_memory(const workload::ModelTable& table) const;

 private:
  /// Seconds that one more byte adds to the collective that carries it.
  struct Links {
    double pairs = 0, pairs_in_node = 0, ids = 0, rows = 0, rows_back = 0, in_node = 0, in_node_back = 0, rails = 0,
           reduce = 0, sum_in_node = 0, sum = 0;  ///< sums: of a byte that comes out
  };
  explicit TablePrices(const config::Experiment& experiment) : experiment_(&experiment) {}
  const workload::DlrmSpec& spec() const;
  const workload::TableSplit& split() const;
  Result<void> find_room();
  Result<void> price_links();
  Result<double> lookup(const workload::ModelTable& table, const TableShard& shard, std::int64_t samples,
                        graph::Pass pass, bool dense) const;
  Result<double> kernel_seconds(const graph::Op& op) const;
  Result<double> sum_seconds(double parts) const;
  void add_exchange(ShardCost& cost, const TableShard& shard, double vector, bool sums) const;
  double vector_bytes(const workload::ModelTable& table, std::int64_t columns) const;
  double host_seconds(const graph::Op& op) const;

  const config::Experiment* experiment_;
  std::shared_ptr<const pipeline::CostModels> models_;
  workload::ClusterShape cluster_;
  workload::SamplePlan samples_;
  workload::SampleSplit split_;
  workload::Numerics numerics_;
  pipeline::KernelTime factors_;
  bool by_rails_ = false;
  std::int64_t bytes_per_copied_parameter_ = 0;
  std::int64_t room_ = 0;
  Links links_;
  using Key = std::tuple<std::int64_t, std::int64_t, double, double, std::int64_t, std::int64_t, int, bool>;
  mutable std::map<Key, double> lookups_;
};

}  // namespace distsim::study
