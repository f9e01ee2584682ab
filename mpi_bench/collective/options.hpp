// Flags of collective_bench: those of nccl-tests under the same letters, and our own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/collective/collective_case.hpp"
#include "mpi_bench/collective/data_type.hpp"
#include "mpi_bench/collective/groups.hpp"
#include "mpi_bench/collective/lanes.hpp"

namespace distsim::bench {

enum class BackendChoice : std::uint8_t { automatic, mpi, nccl, mpi_cuda, tcp };
enum class Report : std::uint8_t { rank0, average, minimum, maximum };  ///< -a: which rank's time is in the table
enum class PairTest : std::uint8_t { latency, bandwidth, matrix };
enum class CurveTime : std::uint8_t { median, p10 };                ///< which of the samples is a curve's time
enum class Beside : std::uint8_t { nothing, compute, collective };  ///< what else runs while a collective is timed

/// One curve that is wanted: a line of a plan file, or the cross product of the flags.
struct PlannedCurve {
  const CollectiveCase* what = nullptr;
  DataType type = DataType::float32;
  GroupRequest group;
  std::vector<std::uint64_t> sizes;  ///< ascending
};

struct Options {
  std::uint64_t min_bytes = 32u << 20, max_bytes = 32u << 20;
  std::uint64_t step_bytes = 1u << 20;
  std::uint64_t step_factor = 0;  ///< 0: step by step_bytes
  int iterations = 20;
  int warmup = 1;
  bool check = true;
  std::vector<RedOp> ops = {RedOp::sum};
  std::vector<DataType> types = {DataType::float32};
  int root = 0;
  bool all_roots = false;  ///< -r all
  Report report = Report::average;
  int graph_launches = 0;
  bool blocking = false;  ///< -z: wait for each call; only NCCL returns before it is done
  LaneShape lanes;        ///< -t, -g
  std::string json;       ///< -J
  std::string out;        ///< curve file
  std::vector<const CollectiveCase*> collectives;
  std::vector<GroupRequest> groups = {{}};
  std::vector<PairTest> pair_tests;
  BackendChoice backend = BackendChoice::automatic;
  double imbalance = 1;
  std::string system = "unnamed";
  bool stats = false;  ///< a '# stats' line below each row

  double relative_error = 0;  ///< standard error of the median at which a size is done; 0: -n iterations
  double max_seconds = 10;    ///< of one size, where relative_error asks for more iterations
  double stall_limit_s = 60;  ///< without progress for so long, the job is ended; 0: never
  Beside beside = Beside::nothing;
  std::uint64_t beside_bytes = 4u << 20;

  std::vector<std::string> hosts;  ///< ranks started one by one: their hosts in rank order
  int my_rank = -1;                ///< of --hosts; -1: the environment says
  int port = 0;                    ///< of rank 0; 0: from the job's number, or 18515
  int streams = 1;                 ///< tcp: connections of a pair

  std::string plan;                   ///< file, or "simulate" with config
  std::string config;                 ///< experiment whose collectives are measured
  std::vector<PlannedCurve> planned;  ///< from the plan; empty: flags
  CurveTime curve_time = CurveTime::median;
  bool hash_hosts = false;
  std::string topology;   ///< file to be kept in the curve file (NCCL_TOPO_DUMP_FILE)
  bool overhead = false;  ///< our timing loop against a bare one

  // Tests.
  std::optional<std::pair<int, std::uint64_t>> fault;  ///< this rank's element is damaged before it is checked
  std::optional<std::pair<int, std::uint64_t>> stall;  ///< this rank stops working before its row of that number
};

/// What the command line asks for: to run, or to print a text and stop (--help, --version).
struct CommandLine {
  std::optional<std::string> print;
  Options options;
};
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

/// "8", "1K", "1.5M", "4G": binary suffixes as in nccl-tests. Whole bytes, at most 2^50.
Result<std::uint64_t> parse_size(std::string_view text);

/// Sizes of one sweep, ascending, from min to max inclusive.
std::vector<std::uint64_t> sweep_sizes(const Options& options);

/// Everything that must be equal on all ranks, a line each; `build` (a fingerprint of the program) first.
std::string canonical_text(const Options& options, const std::string& build = "");
/// The first line in which two canonical texts differ: "found '-b 8', expected '-b 16'". Empty where they are equal.
std::string first_difference(const std::string& theirs, const std::string& ours);

}  // namespace distsim::bench
