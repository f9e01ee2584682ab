// The columns of a sweep's table: their names in CSV files, their heads in the terminal, and the order of the rows.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/result.hpp"
#include "sim/study/sweep/sweep.hpp"

namespace distsim::study {

/// One column: a swept key, or a figure.
struct Column {
  std::string name;             ///< "iteration_ms", or the key
  std::string head;             ///< "iteration ms", or the short key
  int decimals = 4, shown = 2;  ///< in CSV files, and in the terminal; -1: text
  std::optional<std::size_t> axis;
  double (*figure)(const SweepPoint&) = nullptr;     ///< NaN: none
  std::string (*text)(const SweepPoint&) = nullptr;  ///< of columns that are no figures
  bool always = false;                               ///< also of points without a prediction
};

/// All columns: the swept keys, then iteration_ms, low_ms, high_ms, samples_per_s, tokens_per_s_per_gpu, mfu,
/// exposed_comm_ms, memory_gb, fits, limited_by, error, and what else is known.
std::vector<Column> all_columns(const SweepRequest& request);

/// How a user wants to see a sweep.
struct SweepView {
  std::vector<Column> columns;
  bool chosen = false;  ///< by --columns
  std::optional<Column> sort;
  bool descending = false;
};

/// `columns`: names joined by commas; empty: all. `sort`: a name, with :desc for the largest first; empty: as listed. Errors:
/// no such column (nearest spelling), one named twice.
Result<SweepView> sweep_view(const SweepRequest& request, const std::string& columns, const std::string& sort);

/// Numbers of the points in the order of the view. Points without the figure come last; equal ones stay as listed.
std::vector<std::size_t> order_of(const SweepView& view, const SweepResult& result);

/// The cell of a CSV file.
std::string csv_cell(const Column& column, const SweepPoint& point);

/// Writes the table as CSV.
void write_sweep_csv(std::ostream& out, const SweepView& view, const SweepResult& result);
Result<void> write_sweep_csv(const std::string& path, const SweepView& view, const SweepResult& result,
                             FilesTogether& files);

/// The table for the terminal, at most kMostLines points of it, and why some have no prediction, summed up.
std::string sweep_table(const SweepView& view, const SweepResult& result);

/// "tensor=1 pipeline=2".
std::string name_of_point(const SweepRequest& request, const SweepPoint& point);

/// Why points have no prediction, a line for each kind of reason, behind an empty line; "" where all have one.
std::string reasons_text(const SweepResult& result);

/// A page that works offline: curves of one key, a heat map of two, parallel coordinates of more, and the table.
std::string sweep_html(const SweepResult& result, const std::string& title);

}  // namespace distsim::study
