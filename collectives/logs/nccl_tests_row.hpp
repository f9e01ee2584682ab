// One row of an nccl-tests table and the columns it must have.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace distsim::collectives {

/// What the last header line of a table promises.
struct NcclColumns {
  bool known = false;  ///< a header has been seen
  bool redop = false;  ///< `redop` column, in which old versions leave out "none"
  bool root = false;   ///< `root` column (since nccl-tests 2.10)
  bool errors = true;  ///< `error` or `#wrong` columns
  int groups = 2;      ///< out-of-place and in-place
  std::size_t numbers() const { return (root ? 1u : 0u) + static_cast<std::size_t>(groups) * (errors ? 4u : 3u); }
};

struct NcclRow {
  double bytes = 0, count = 0;
  std::string type, redop;
  double root = -1;                               ///< -1: none, or not stated
  double time_us = 0, algbw = 0, busbw = 0;       ///< out of place
  double algbw_digit = 0.01, busbw_digit = 0.01;  ///< the last that is printed
  double wrong = 0;  ///< the worse of out of place and in place; 0 where not checked, NaN of results that are
  double low_us = 0, high_us = 0;              ///< range of the time, 0 where not known
  std::optional<double> in_place_busbw;        ///< where the table has the column, and a number in it
  double in_place_us = 0, in_place_algbw = 0;  ///< likewise; 0: not there
  bool no_bandwidth = false;                   ///< the format has only times
  bool no_busbw = false;                       ///< the format has it, this row does not
  bool counts_all = false;                     ///< the count may be that of all ranks together
};

/// Of what the columns of errors say out of place and in place: the larger, and NaN before all. Tables of floats hold
/// 5e-07 and the like.
double worse_result(double a, double b);

std::vector<std::string_view> words_of(std::string_view line);

/// The value of the last digit of a figure: 0.01 of "5.25" and of text that is none.
double last_digit_of(std::string_view figure);

/// The line without what mpirun and srun put in front: "0: ", "[1,0]<stdout>:", "[1,0]<stdout> ", "> ".
std::string_view without_prefix(std::string_view line);

/// Columns of a header line ("#  size  count  type ..."), or nothing when the line is not one.
std::optional<NcclColumns> header_of(std::string_view line);

/// The line of units below a header, "#  (B)  (elements)  (us)  (GB/s)  (GB/s)", or those in the header itself, "time (us)".
/// Errors (no position): another unit than nccl-tests prints, something else behind units.
Result<void> check_units(std::string_view line);

/// A header line. Errors (no position): as check_units, a figure, which is of the row below it.
Result<void> check_header(std::string_view line);

/// Of an element of a data type, by nccl-tests' names ("float", "bfloat16"); 0 for others.
int bytes_of_type(std::string_view type);

/// True when the line starts as a row does: two whole numbers and a data type.
bool starts_as_row(std::string_view line);

/// Reads a row. Errors ("found X, expected Y", no position): a word that is no number, fewer or more words than the
/// columns.
Result<NcclRow> parse_nccl_row(std::string_view line, const NcclColumns& columns);

}  // namespace distsim::collectives
