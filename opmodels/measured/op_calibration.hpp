// `distsim calibrate ops`: a CSV of measured ops (the columns of op_row.hpp and latency_us, as op_bench writes them)
// into one device's MeasuredTable.
//
// A row's time becomes pure kernel time by its timing convention (timing_convention.hpp): launch taken off; a row whose
// kernels hide behind the host is left out. What comes with the op (the casts of an fp8 linear) is taken off as the
// models price it. Several rows of one op: their geometric mean. Streams; memory is bounded by kMaxPoints points:
// beyond them every second point, by its hash, is let go, as often as needed.
#pragma once

#include <functional>
#include <iosfwd>

#include "opmodels/measured/measured_table.hpp"
#include "opmodels/op_models.hpp"

namespace distsim::opmodels {

struct CalibrationCount {
  std::size_t rows = 0;
  std::size_t used = 0;
  std::size_t other_gpu = 0;   ///< of another GPU than the one asked for
  std::size_t unpriced = 0;    ///< unreadable, or refused by the models
  std::size_t hidden = 0;      ///< behind the host's launch
  std::size_t several = 0;     ///< more than one kernel whose shares are not known
  std::size_t thinned = 0;     ///< rows of points let go
  std::size_t impossible = 0;  ///< faster than the peak rate of the device
  std::string first_problem;   ///< with its line, of the first row that is unpriced or impossible
};

/// `models`: of the device, without a table. `is_device`: whether a gpu column's text means it.
/// Errors: as cost_csv's, no latency_us column, and not one usable row.
Result<MeasuredTable> calibrate_ops(std::istream& in, const std::string& name, const OpModels& models,
                                    const std::function<bool(std::string_view)>& is_device, CalibrationCount& count);

}  // namespace distsim::opmodels
