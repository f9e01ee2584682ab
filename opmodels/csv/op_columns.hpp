// The columns of a shapes file, and one row's fields by their names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/csv.hpp"

namespace distsim::opmodels {

/// Where the columns are. Made once from the header.
class OpColumns {
 public:
  /// Errors: no gpu, op or dtype column (the nearest spelling is suggested); one that differs from ours in capital letters
  /// alone (B); the sizes of no op complete and no extra column either.
  static Result<OpColumns> from(const CsvReader& reader);
  /// The same where a single op is asked for and its own error says what it lacks: no size is needed.
  static Result<OpColumns> of_one_op(const CsvReader& reader);

  /// All columns that hold sizes or choices of an op, in a fixed order: b, m, ..., master_weights, then those that only
  /// the fields of newer ops have.
  static const std::vector<std::string_view>& sizes();
  /// The same and `layout`: what the command line takes as NAME=VALUE.
  static std::vector<std::string> size_names();
  std::optional<std::size_t> index(std::string_view column) const;

  /// "column 'heds' is carried along unread; did you mean 'heads'?" for each column that is nearly one of ours. Data sets
  /// have such columns of their own, so that they are no error.
  const std::vector<std::string>& remarks() const { return remarks_; }
  /// "foo, bar": columns that are neither ours, nor those of op_bench and the public data sets, nor in remarks().
  const std::string& unused() const { return unused_; }

 private:
  std::vector<std::optional<std::size_t>> indices_;
  std::vector<std::string> remarks_;
  std::string unused_;
};

/// The column latency_us. Errors: none; another column with a time of the same row, as latency_ms.
Result<std::size_t> require_latency(const CsvReader& reader);

class OpFields {
 public:
  OpFields(const OpColumns& columns, const std::vector<std::string>& fields) : columns_(columns), fields_(fields) {}

  /// Empty where the column is absent.
  std::string_view text(std::string_view column) const;
  /// The same, or else what `extra` has for it: "heads=16;dim=64".
  std::string_view said(std::string_view column) const;
  bool has(std::string_view column) const { return !said(column).empty(); }
  // Numbers are looked for in the column, then in `extra`.
  /// Errors: absent or empty; not a whole number ("m: found 'x', expected a whole number"). A fraction of zero (128.0)
  /// is whole.
  Result<std::int64_t> integer(std::string_view column) const;
  Result<std::int64_t> integer_or(std::string_view column, std::int64_t fallback) const;
  Result<double> number(std::string_view column) const;
  Result<double> number_or(std::string_view column, double fallback) const;
  /// 1, true, yes; 0, false, no, empty.
  Result<bool> flag(std::string_view column) const;
  /// "heads, causal": sizes that the row has in their columns or in `extra`, other than 0, and that nothing has asked for so far.
  std::string idle_sizes() const;
  /// As OpColumns::remarks(), of the first such name in `extra`. Empty: none.
  std::string remark() const;
  /// Errors: a size or choice that the row states twice, in its column and in `extra` or twice there, with two values.
  Result<void> check_once() const;

 private:
  /// As text() and said(), but the column does not count as read.
  std::string_view peek(std::string_view column) const;
  std::string_view peek_said(std::string_view column) const;
  std::string_view extra(std::string_view key) const;
  const OpColumns& columns_;
  const std::vector<std::string>& fields_;
  mutable std::vector<std::string_view> read_;  ///< columns
};

/// The row's sizes as text.
std::string shape_text(const OpFields& fields);

}  // namespace distsim::opmodels
