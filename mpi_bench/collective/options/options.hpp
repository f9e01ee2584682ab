// Flags of collective_bench: those of nccl-tests under the same letters, and our own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/collective/cases/collective_case.hpp"
#include "mpi_bench/collective/cases/data_type.hpp"
#include "mpi_bench/collective/ranks/groups.hpp"
#include "mpi_bench/collective/ranks/lanes.hpp"

namespace distsim::bench {

enum class BackendChoice : std::uint8_t { automatic, mpi, nccl, mpi_cuda, tcp };
enum class Report : std::uint8_t { rank0, average, minimum, maximum };  ///< -a: which rank's time is in the table
enum class PairTest : std::uint8_t { latency, bandwidth, matrix };
enum class CurveTime : std::uint8_t { median, p10 };  ///< which of the samples is a curve's time
enum class LoadKind : std::uint8_t { none, compute, collective };

/// One curve that is wanted: a line of a plan file, or the cross product of the flags.
struct PlannedCurve {
  const CollectiveCase* what = nullptr;
  DataType type = DataType::float32;
  GroupRequest group;
  std::vector<std::uint64_t> sizes;  ///< ascending
};

/// -b, -e, -i, -f: the size column of nccl-tests.
struct SizeRange {
  std::uint64_t min_bytes = 32u << 20, max_bytes = 32u << 20;
  std::uint64_t step_bytes = 1u << 20;
  std::uint64_t step_factor = 0;  ///< 0: add step_bytes
};

/// What is measured, and between which ranks.
struct Selection {
  std::vector<const CollectiveCase*> collectives;
  std::vector<DataType> types = {DataType::float32};
  std::vector<RedOp> ops = {RedOp::sum};
  int root = 0;
  bool all_roots = false;  ///< -r all
  double imbalance = 1;    ///< alltoallv: load of rank 0 divided by that of the last rank
  std::vector<GroupRequest> groups = {{}};
  std::vector<PairTest> pair_tests;
  bool overhead = false;              ///< compare the timing loop with a bare one
  std::string plan;                   ///< file, or "simulate" with config
  std::string config;                 ///< experiment whose collectives are measured
  std::vector<PlannedCurve> planned;  ///< from the plan; empty: the flags decide
  std::string plan_remarks;           ///< of the program that made it
};

struct Timing {
  int iterations = 20;
  int warmup = 1;
  Report report = Report::average;
  double relative_error = 0;  ///< standard error of the median at which a size is done; 0: after -n iterations
  double max_seconds = 10;    ///< per size, when relative_error asks for more iterations
  int graph_launches = 0;
  bool blocking = false;  ///< -z: wait for each call; only NCCL returns before it is done
};

/// What runs concurrently with the timed collective.
struct Load {
  LoadKind kind = LoadKind::none;
  std::uint64_t bytes = 4u << 20;  ///< of the concurrent all_reduce
};

struct OutputFiles {
  std::string json;  ///< -J
  std::string out;   ///< curve file
  CurveTime curve_time = CurveTime::median;
  std::string system = "unnamed";
  std::string topology;  ///< file to store in the curve file (NCCL_TOPO_DUMP_FILE)
  bool hash_hosts = false;
  bool stats = false;  ///< a '# stats' line below each row of the table
};

/// Where the ranks find each other when they are started one by one.
struct LaunchPlaces {
  std::vector<std::string> hosts;  ///< in rank order
  int rank = -1;                   ///< of this process in hosts; -1: the environment says
  int port = 0;                    ///< of rank 0; 0: from the job's number, or 18515
};

/// Faults for tests: {rank, number}.
struct InjectedFaults {
  std::optional<std::pair<int, std::uint64_t>> fault;  ///< this element is damaged before it is checked
  std::optional<std::pair<int, std::uint64_t>> stall;  ///< the rank stops working before its row of that number
};

struct Options {
  SizeRange sizes;
  Selection selected;
  Timing timing;
  Load load;
  OutputFiles files;
  LaunchPlaces launch;
  InjectedFaults injected;
  BackendChoice backend = BackendChoice::automatic;
  int streams = 1;  ///< tcp: connections per pair of ranks
  LaneShape lanes;  ///< -t, -g
  bool check = true;
  double stall_limit_s = 60;  ///< the job is aborted after that long without progress; 0: never
};

/// What the command line asks for: a run, or a text to print (--help).
struct CommandLine {
  std::optional<std::string> print;
  Options options;
  /// Every flag with its value, one per line ("-b 8"), except those that may differ between ranks: where a rank finds
  /// the others, and files that only rank 0 reads.
  std::string flags;
  std::vector<std::string> given;  ///< flags that have a value other than their default, such as "-b"
};
Result<CommandLine> parse_command_line(int argc, const char* const* argv);

/// "8", "1K", "1.5M", "4G": binary suffixes as in nccl-tests. Whole bytes, at most 2^50.
Result<std::uint64_t> parse_size(std::string_view text);

/// Sizes of one sweep, ascending, from min to max inclusive.
std::vector<std::uint64_t> sweep_sizes(const SizeRange& range);

/// Everything that must be equal on all ranks, one item per line: `build` (a fingerprint of the program), the flags,
/// the contents of the plan.
std::string canonical_text(const CommandLine& line, const std::string& build = "");
/// The first line in which two canonical texts differ: "found '-b 8', expected '-b 16'". Empty where they are equal.
std::string first_difference(const std::string& theirs, const std::string& ours);

}  // namespace distsim::bench
