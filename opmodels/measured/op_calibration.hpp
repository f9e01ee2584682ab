// `distsim calibrate ops`: CSV of measured ops (the columns of op_row.hpp and latency_us, as op_bench writes them) into
// one device's MeasuredTable.
//
// A row's time becomes pure kernel time by its timing convention (timing_convention.hpp): launch taken off; a row whose
// kernels hide behind the host is left out. What comes with the op (the casts of an fp8 linear) is taken off as the
// models price it. A row that states an SM clock clearly below that of prices at free clocks, which a table is of, is carried
// there by the ratio of the models (models_at_clocks.hpp). Several rows of one op: their geometric mean, with a range that
// holds them all; rows that name different kernels are one op where the models describe them alike, which a remark names.
// Streams; memory is bounded by kMaxPoints points: beyond them every second point, by its hash, is let go, as often as
// needed.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "opmodels/measured/falling_times.hpp"
#include "opmodels/measured/measured_table.hpp"
#include "opmodels/measured/models_at_clocks.hpp"
#include "opmodels/op_models.hpp"

namespace distsim::opmodels {

/// Times of one op on one GPU that are so many times apart differ by more than runs and libraries do; chosen.
inline constexpr double kOpTimesApart = 3;
/// Times of kernels that the models describe alike differ by more than those of one kernel do; chosen.
inline constexpr double kKernelsApart = 1.1;
/// SM clocks of one op that differ by more than boards and power limits make them differ; chosen.
inline constexpr double kClocksApart = 1.1;

struct CalibrationCount {
  std::size_t rows = 0;
  std::size_t used = 0;
  std::size_t other_gpu = 0;         ///< of another GPU than the one asked for
  std::size_t unpriced = 0;          ///< unreadable, or refused by the models
  std::size_t hidden = 0;            ///< behind the host's launch
  std::size_t several = 0;           ///< more than one kernel whose shares are not known
  std::size_t thinned = 0;           ///< rows of points let go
  std::size_t impossible = 0;        ///< faster than the peak rate of the device
  std::size_t unreported = 0;        ///< used rows beyond those that are kept for a report
  std::size_t apart = 0;             ///< ops whose rows say times far apart
  std::string first_apart;           ///< where the first of them is, by the row that shows it
  std::size_t alike = 0;             ///< ops of rows that name different kernels, with different times
  std::string first_alike;           ///< the first of them, with its line
  std::size_t too_long = 0;          ///< used rows whose times are far above the models'
  std::string first_too_long;        ///< the first of them, with its line
  std::size_t at_other_clocks = 0;   ///< ops whose rows state SM clocks apart
  std::string first_other_clock;     ///< the first of them, with its line
  std::size_t at_other_memory = 0;   ///< used rows whose memory clock is apart from that of the first that states one
  std::string first_other_memory;    ///< the first of them, with its line
  std::size_t carried = 0;           ///< used rows that state an SM clock below that of prices
  std::string first_carried;         ///< the first of them, with its line
  std::size_t no_clock = 0;          ///< used rows that state none
  std::size_t launched = 0;          ///< used rows whose times held a launch of the host, which is taken off
  std::string first_launched;        ///< the first of them, with its line and how much that is
  std::string first_other;           ///< what the gpu column of the first such row says, for a refusal
  std::string first_problem;         ///< with its line, of the first row that is unpriced or impossible
  std::string first_unusable;        ///< likewise, of the first row of this GPU that is not used, for a refusal
  std::vector<std::string> remarks;  ///< of columns that are nearly ours (OpColumns::remarks), with their files
};

/// A usable row: what was measured, as pure kernel time, and what the models say without any table.
struct MeasuredOp {
  std::string kind;   ///< "linear bf16 fwd": op, dtype and pass as in the file
  std::string shape;  ///< "1x4096x4096x1024", sizes in the order of OpColumns::sizes
  graph::Op op;
  OpPoint point;
  bool warm = false;
  double measured_us = 0, models_us = 0;
};

class OpPoints;
struct OpRow;

class OpCalibration {
 public:
  static constexpr std::size_t kMostRows = MeasuredTable::kMaxPoints;  ///< that are kept for a report

  /// `models`: of the device at free clocks, without a table. `is_device`: whether a gpu column's text means it.
  /// `keep_rows`: for a report.
  OpCalibration(const OpModels& models, std::function<bool(std::string_view)> is_device, bool keep_rows = false);
  ~OpCalibration();

  /// Adds a file. Errors: as cost_csv's, and no latency_us column.
  Result<void> add(std::istream& in, const std::string& name);
  /// Of all files. Error: not one usable row.
  Result<MeasuredTable> table() const;

  /// "rows.csv:2: latency_us: found 468 us, where the larger op of rows.csv:4 took 45 us; ...": times that fall as sizes
  /// grow (falling_times.hpp). Empty: none.
  std::string falling() const;
  /// The row that is farthest above the models with none larger beside it (last_times); "": none.
  std::string last_above() const;

  const CalibrationCount& count() const { return count_; }
  const std::vector<MeasuredOp>& rows() const { return rows_; }

 private:
  struct File;
  Result<void> add_row(const File& file, const std::vector<std::string>& fields, RowPlace place);
  void leave_out(std::size_t& counter, RowPlace place, const std::string& why);
  void note_unread(const OpRow& row, RowPlace place);
  void note_memory(Hertz memory, RowPlace place);
  std::string position_of(RowPlace place) const;

  const OpModels& models_;
  ModelsAtClocks clocks_;
  const std::function<bool(std::string_view)> is_device_;
  const bool keep_rows_;
  CalibrationCount count_;
  Hertz memory_{0};     ///< clock of the memory in the first used row that states one
  RowPlace of_memory_;  ///< that row
  std::unique_ptr<OpPoints> points_;
  std::vector<MeasuredOp> rows_;
  std::set<std::string> libraries_;
  std::vector<std::string> files_;
};

}  // namespace distsim::opmodels
