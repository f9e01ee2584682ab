// `distsim cost op`: prices every row of a shapes file. Streams: memory does not grow with the number of rows.
//
// Output: the input's columns as they were, then predicted_us,low_us,high_us,basis,source. A row that cannot be priced
// keeps its place, with the three figures empty and the reason in `basis`. Predictions are in the convention that the
// row's `timing` column names (timing_convention.hpp), so that they compare with a measurement in the same row; without
// that column they are pure kernel time.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "opmodels/csv/op_row.hpp"
#include "opmodels/op_models.hpp"

namespace distsim::opmodels {

/// The models of the device that a gpu column names; the pointer stays valid while the file is read. Called once for
/// each new name.
using DeviceLookup = std::function<Result<const OpModels*>(std::string_view gpu)>;

/// Rows read and rows that could not be priced.
struct CostCsvCount {
  std::size_t rows = 0;
  std::size_t unpriced = 0;
  std::string first_problem;  ///< of a row that could not be priced
  std::vector<std::string>
      remarks;  ///< of columns that are not used, of names in `extra` that are nearly ours, of sizes without effect; a few
};

/// `name` appears in error messages. Errors: what CsvReader and OpColumns::from refuse, a row with another number of
/// fields than the header, no row at all, an input that already has one of the five output columns.
Result<CostCsvCount> cost_csv(std::istream& in, const std::string& name, std::ostream& out, const DeviceLookup& lookup);

/// Cost of all ops of a row in its own timing convention.
Result<graph::Cost> price_row(const OpModels& models, const OpRow& row, std::string_view gpu);

}  // namespace distsim::opmodels
