// Rank 0's outputs of a run: the table on standard output, the progress line, the curve file, the JSON file. Other
// ranks keep quiet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mpi_bench/collective/output/curve_output.hpp"
#include "mpi_bench/collective/output/json_output.hpp"
#include "mpi_bench/collective/output/machine_facts.hpp"
#include "mpi_bench/collective/run/backends.hpp"
#include "mpi_bench/collective/run/measure/measure.hpp"
#include "mpi_bench/common/progress.hpp"

namespace distsim::bench {

class RunReport {
 public:
  RunReport(const Options& options, const Ranks& ranks, const ChosenBackend& chosen, double total_work,
            const std::string& flags);

  /// All ranks together: who they are and what `backend` runs on.
  void introduce(const Backend& backend);
  void begin_table(const CollectiveCase& what, const Backend& backend, const Team& team);
  void comment(const std::string& text);
  void begin_curve(const Sweep& sweep, const Backend& backend, const Team& team);
  void announce(const CollectiveCase& what, std::uint64_t bytes);
  /// Prints the row and saves the files as partial. An unwritable file is an error.
  Result<void> add(const Row& row, double work);
  /// Prints the row with its count of wrong elements and says which one came first. No curve is given a time of a
  /// collective that does not work.
  void add_wrong(const MeasuredRow& measured);
  void end_table(Outcome outcome);
  /// A line of a table of another kind.
  void line(const std::string& text);
  /// Curve of the messages between two ranks on so many nodes.
  void begin_pair_curve(int nodes, const Backend& backend);
  Result<void> add_pair(std::uint64_t bytes, const Summary& microseconds);
  Result<void> save(bool partial);

 private:
  void print(const Row& row);
  bool speaks() const { return ranks_.rank() == 0; }

  const Options& options_;
  const Ranks& ranks_;
  const ChosenBackend& chosen_;
  const std::string flags_;
  std::string library_, device_;
  std::vector<RankLine> rank_lines_;
  std::vector<FinishedTable> tables_;
  std::optional<CurveOutput> curves_;
  Progress progress_;
  double total_work_, done_work_ = 0;
};

}  // namespace distsim::bench
