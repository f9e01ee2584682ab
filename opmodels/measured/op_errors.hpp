// How far prices of ops are from measured ones, kind by kind: from the models alone, and with a measured table.
//
// At its points a table is exact, so an error with the table that holds the shape says nothing. Each shape is therefore
// priced with a table of the others: shapes are cut into kParts parts by their hash, and each part is priced with the
// table of the other parts.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "opmodels/measured/op_calibration.hpp"

namespace distsim::opmodels {

struct OpErrors {
  double median = 0, p90 = 0, worst = 0;  ///< of |predicted / measured - 1|
};

struct PricedOp {
  const MeasuredOp* op = nullptr;
  double after_us = 0;
  double before() const;  ///< predicted / measured - 1
  double after() const;
};

struct OpKindErrors {
  std::string kind;  ///< "linear bf16 fwd"; "all" for the last
  OpErrors before, after;
  std::vector<PricedOp> ops;  ///< largest error after first
};

constexpr std::size_t kParts = 5;

/// Kinds by name, then all of them together. `with_table`: models of the device that hold the table. REQUIRES: `rows`
/// outlive the result. Errors: those of `with_table`.
using WithTable = std::function<Result<OpModels>(MeasuredTable table)>;
Result<std::vector<OpKindErrors>> op_errors(const std::vector<MeasuredOp>& rows, const WithTable& with_table);

/// A line for each kind and below it its `worst` worst shapes.
std::string op_errors_text(const std::string& device, const std::vector<OpKindErrors>& kinds, std::size_t worst);

/// kind,shape,measured_us,before_us,after_us,before_error_percent,after_error_percent: a row for each measured op.
std::string op_errors_csv(const std::vector<OpKindErrors>& kinds);

}  // namespace distsim::opmodels
