// Random multi-GPU DLRM tasks, with the ranges of the published generator (owensgroup/ml_perf_model,
// generate_random_dlrm_tasks.py): sets of embedding tables to compare placements and sizes of jobs on.
//
//   tables           of N GPUs: uniform from 9.1 N to 16.9 N (13 per GPU, times 0.7 to 1.3), drawn from a pool without
//                    replacement
//   heavy or light   every other task: mean pooling factor of its tables at least 20, or below
//   widths           32, 64, 128 or 256, drawn for the task; with mixed widths for each table
//   memory           sum of rows x width x 4 bytes at most 0.8 of the GPUs' memory
//   network          bottom MLP 512-1024-256-width, top MLP 1024-512-256-1, fp32; the tables are placed by the planner
//
// The published pool are the 856 tables of facebookresearch/dlrm_datasets, which are not part of distsim. `pool` may
// hold them; else a stand-in is drawn: 856 tables, rows log-uniform from 100, the least that the generator has, to 40
// million, the cap of the MLPerf tables; pooling factor 200^(u^2) for u uniform in [0, 1), which is 4 in the median and
// 21 in the mean.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "topology/devices/cluster_spec.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::study {

struct PoolTable {
  std::int64_t rows = 0;
  double pooling_factor = 1;
};

struct RandomDlrmRequest {
  std::string system;  ///< as the experiments name it
  topology::ClusterSpec cluster;
  topology::DeviceSpec device;
  std::vector<PoolTable> pool;  ///< empty: the stand-in
  std::uint32_t tasks = 20;
  std::uint64_t seed = 1;
  std::int64_t global_batch = 4096;
  bool mixed_widths = false;  ///< vectors are then concatenated: dot products need equal lengths
};

struct RandomDlrm {
  std::string name;        ///< "random_dlrm_1_00"
  std::string experiment;  ///< text of its file
  std::size_t tables = 0;
  std::int64_t bytes = 0;  ///< of all tables
  double mean_pooling = 0;
  bool heavy = false;
};

/// The same request gives the same tasks, on every machine; a task depends on the seed and its number alone. Errors: a
/// pool with fewer tables than a task may need; no task within the ranges in 1000 draws (too little memory, or a pool
/// whose pooling factors are all on one side of 20).
Result<std::vector<RandomDlrm>> random_dlrms(const RandomDlrmRequest& request);

/// A pool from a CSV file with the columns `rows` and `pooling_factor`; others are not read. Errors: with the line.
Result<std::vector<PoolTable>> read_table_pool(std::istream& in, const std::string& name);

}  // namespace distsim::study
