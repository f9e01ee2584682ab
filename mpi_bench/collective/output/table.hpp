// The table that nccl-tests prints, character for character where its readers look.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mpi_bench/common/stats.hpp"

namespace distsim::bench {

/// How the ranks differ: of each, the median of its own samples; and how far apart they came to the first call, on one
/// clock.
struct RankSpread {
  Summary medians;        ///< microseconds, over the ranks that took part
  int slowest = 0;        ///< rank
  double arrival_us = 0;  ///< last arrival less first
};

/// One half of a row: out-of-place or in-place.
struct Measured {
  double time_us = 0;                  ///< mean of the iterations, of the rank that -a names
  double algbw = 0, busbw = 0;         ///< GB/s, GB = 1e9
  std::optional<std::uint64_t> wrong;  ///< elements, over all ranks; empty (N/A) where not checked
  Summary iterations;                  ///< microseconds; of each sample, the slowest rank
  int calls_each = 1;                  ///< calls in a sample
  RankSpread ranks;
  bool noisy = false;  ///< see is_noisy
};

struct Row {
  std::uint64_t bytes = 0, count = 0;
  std::string type, redop = "none";
  int root = -1;
  std::optional<Measured> out_of_place, in_place;  ///< empty: the library cannot do it; printed as N/A
};

/// algbw = bytes / time, busbw = algbw x factor, as nccl-tests defines them.
Measured measured_from(std::uint64_t bytes, double seconds, double bus_factor);

struct RankLine {
  int rank = 0, pid = 0, device = 0;
  std::string host, bus_id, name;
};

struct TableHeader {
  std::string collective;  ///< "all_reduce"
  std::string backend;     ///< one line: which backend, library and why
  std::uint64_t min_bytes = 0, max_bytes = 0, step = 0;
  bool by_factor = false;
  std::string group;  ///< a line about the groups; empty: all ranks in one
  int threads = 1, gpus = 1;
  int warmup = 0, iterations = 0, graph = 0;
  bool check = true;
  std::vector<RankLine> ranks;
};

std::string header_text(const TableHeader& header);
std::string row_text(const Row& row);
std::string stats_text(const Row& row);  ///< "# stats ..." lines
std::string noise_text(const Row& row);  ///< "# noisy: ..." where a half is; else empty
/// Mean of the bus bandwidths of all halves of all rows, rows of size 0 included, as in nccl-tests.
double average_bus_bandwidth(const std::vector<Row>& rows);
/// How a run ended.
enum class Outcome : std::uint8_t { finished, interrupted, wrong };
std::string footer_text(const std::vector<Row>& rows, std::string_view collective, Outcome outcome);

}  // namespace distsim::bench
