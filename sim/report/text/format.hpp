// Numbers and names as the reports show them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

/// `value` with `digits` after the point. Not finite reads as 0: reports hold finite numbers only.
std::string fixed(double value, int digits);

/// The unit that a duration is best read in, and its digits: "us" below 0.1 ms, "ms" below 10 s, "s" below 10000 s, "h"
/// beyond. A column of durations shares the scale of the iteration.
struct TimeScale {
  std::string unit;
  double per_second = 1;  ///< units in a second
  int digits = 0;         ///< after the point: 1234, 123.4, 12.34, 1.234
  std::string text(Duration d) const { return fixed(d.seconds() * per_second, digits); }
};
TimeScale time_scale(Duration d);
/// "20.50 ms", "4080 s": a duration in its own scale.
std::string time_text(Duration d);

/// 5.31 M, 12.3 k, 999.
std::string count_text(double value);
/// 25.0 MiB, 512 B.
std::string binary_bytes(double bytes);
/// 24.1 GB.
std::string decimal_bytes(double bytes);
/// a / b in percent with one digit, "0.0" where b is 0.
std::string percent_text(double a, double b);

/// Text fit for a line: control characters and bytes that are not UTF-8 become '?'.
std::string one_line(std::string_view text);
/// Columns that `text` (valid UTF-8) takes, a character one column.
std::size_t columns_of(std::string_view text);
/// `text` in exactly `width` columns: padded, or cut with "..".
std::string padded(std::string_view text, std::size_t width);
std::string padded_left(std::string_view text, std::size_t width);
/// At most `width` columns, cut with "..".
std::string shortened(std::string_view text, std::size_t width);
/// At most `width` columns, ".." in place of the middle: "embedding.exch..dgrad".
std::string shortened_inside(std::string_view text, std::size_t width);

/// Lines of at most `width` columns, broken at blanks; a longer word stands alone. All but the first are indented by
/// two.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// "gradient_sync" -> "gradient sync".
std::string phase_text(std::string_view phase);

/// "4 x 8 A100-SXM4-40GB", "1 x V100".
std::string machine_text(const ReportContext& context);

/// "1 shorter stretch between them", "4 shorter stretches between them": what a table of the longest runs leaves out.
std::string shorter_stretches(std::size_t count);

/// Consecutive entries of the critical path on one stream and in one phase, as one line.
struct PathRun {
  std::string name;  ///< "gemm a .. gemm b"
  std::string stream;
  std::string_view phase;
  std::uint32_t rank = 0;
  std::uint32_t steps = 0;
  Duration start, time;
};
std::vector<PathRun> path_runs(const std::vector<CriticalStep>& path);

/// Rows of the table of the critical path, in order of time: its longest runs. Where there are over a hundred runs and
/// the `most` longest are less than half of the path, as in a pipeline, where ranks take turns: its causes instead, the
/// longest first, one for each stream, phase and op kind over all ranks.
struct PathTable {
  std::vector<PathRun> rows;
  bool by_cause = false;     ///< then a row's name is an op kind, and it is on no rank
  std::size_t left_out = 0;  ///< runs, or causes, that have no row
  Duration shown;            ///< sum of the rows
  std::string rank_text(const PathRun& row) const { return by_cause ? "-" : std::to_string(row.rank); }
  std::string left_out_text() const;
};
PathTable path_table(const std::vector<CriticalStep>& path, std::size_t most);

/// Why the host's share of the critical path is larger than in the split of the iteration; empty where it is not, by 2
/// % of the iteration or more.
std::string host_note(const Report& report);

/// Which of `runs` are the `most` longest, kept in their order.
std::vector<std::size_t> longest_runs(const std::vector<PathRun>& runs, std::size_t most);

}  // namespace distsim::report
