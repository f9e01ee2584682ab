// Files of arrival times. What a file holds is told by its columns:
//
//   arrival_s[,model]              seconds from the start, ascending; a model of the experiment
//   TIMESTAMP,...                  Azure LLM inference traces: "2023-11-16 18:15:46.6805900", ascending; from the first row on
//   end_timestamp,duration,...     Azure functions invocations (2021): seconds; a request comes at end - duration, and rows
//                                  are put in that order, which the files are not in
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/serving/load/arrivals.hpp"

namespace distsim::serving {

/// `models`: names by number. Errors name the line: a time that is negative, no number, or before the one above it; a
/// model that is not among `models`; a file without rows; more than 50 million rows.
Result<std::vector<TraceRow>> read_arrivals(const std::string& path, const std::vector<std::string>& models);

/// Whether the last line of a file has no end, as where it was cut: its last time may be only the first digits of one.
bool ends_within_a_line(const std::string& path);

/// Columns of a file that are not read. The public formats have more than is needed: requests are alike.
std::vector<std::string> unused_arrival_columns(const std::string& path);

}  // namespace distsim::serving
