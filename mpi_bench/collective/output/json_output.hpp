// All statistics of a run as one JSON document:
// {"version":1,"partial":..,"ranks":..,"backend":..,"device":..,"nThread":..,"nGpus":..,"graph":..,"date":..,"tables":[{"collective":..,
// "settings":..,"rows":[..]}]}. A row holds size, count,
// type, redop, root and the objects out_of_place and in_place (null where the library cannot do it) with time_us,
// algbw, busbw, wrong (null where not checked), iterations{count, median_us, mad_us, p5_us, p10_us, p90_us, p95_us,
// min_us, max_us}, calls_each, noisy and ranks{count, min_us, median_us, max_us, mad_us, p5_us, p95_us, slowest,
// arrival_skew_us}: medians of single ranks. A table says which group it is of.
#pragma once

#include <string>
#include <vector>

#include "mpi_bench/collective/output/table.hpp"

namespace distsim::bench {

struct FinishedTable {
  std::string collective;
  std::string group = "all";
  int ranks = 0, nodes = 0, groups_at_once = 1;
  std::vector<Row> rows;
  std::string not_used{};  ///< as CurveFacts::not_used
  std::string settings{};  ///< as CurveFacts::settings
};

/// Who ran the tables. `device`: the name of the first rank's GPU, or "host memory".
struct JsonRun {
  std::string backend, device;
  int ranks = 0, nodes = 0;
  int threads = 1, gpus = 1;  ///< of a process; of a thread
  bool cuda_graph = false;
  std::string date{};
};

std::string json_text(const std::vector<FinishedTable>& tables, const JsonRun& run, bool partial);

}  // namespace distsim::bench
