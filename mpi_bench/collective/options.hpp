// Flags of collective_bench: those of nccl-tests under the same letters, and a few of our own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/collective/collective_case.hpp"
#include "mpi_bench/collective/data_type.hpp"

namespace distsim::bench {

enum class BackendChoice : std::uint8_t { automatic, mpi, nccl };
enum class Report : std::uint8_t { rank0, average, minimum, maximum };  ///< -a: which rank's time stands in the table

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
  std::string json;  ///< -J
  std::string out;   ///< curve file
  std::vector<const CollectiveCase*> collectives;
  BackendChoice backend = BackendChoice::automatic;
  double imbalance = 1;
  std::string system = "unnamed";
  bool stats = false;  ///< a '# stats' line below each row
  std::optional<std::pair<int, std::uint64_t>> fault;  ///< tests: this rank's element is damaged before it is checked
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

/// Everything that must be equal on all ranks, a line each; the version of the exchange first.
std::string canonical_text(const Options& options);
/// The first line in which two canonical texts differ: "found '-b 8', expected '-b 16'". Empty where they are equal.
std::string first_difference(const std::string& theirs, const std::string& ours);

}  // namespace distsim::bench
