// A first reading of a Kineto trace, in memory that does not grow with the file: where its steps are and how its
// records lie in time, so that it can be read again slice by slice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "traces/trace_file.hpp"

namespace distsim::traces {

/// Times of a survey and of slices are as the file has them: nanoseconds without `base_ns`.
struct KinetoSurvey {
  /// Records that start in a stretch of time, and the correlation ids of the calls that launch something then.
  struct Bin {
    std::uint64_t records = 0;
    std::uint64_t first_correlation = UINT64_MAX, last_correlation = 0;
    void add(const Bin& other);
  };
  std::int64_t base_ns = 0;          ///< baseTimeNanoseconds, to be added to all times
  std::vector<TraceStep> steps;      ///< marked by ProfilerStep#N or the pattern, by start; empty: none
  std::int64_t bin_ns = 1'000'000;   ///< width of a bin
  std::map<std::int64_t, Bin> bins;  ///< by start / bin_ns, rounded down; at most kMostBins
  static constexpr std::size_t kMostBins = 65'536;
};

/// Errors: those of reading the file; a pattern that is no regular expression; more than a million steps.
Result<KinetoSurvey> survey_kineto(const TraceFile& file, const TraceOptions& options);

/// Slices one after the other that cover all time. They begin at steps where there are any, and hold up to `records`
/// records where their steps allow it. A slice reads the host from one step (or bin) before its begin on, for launches
/// of what runs in it.
std::vector<TraceSlice> plan_slices(const KinetoSurvey& survey, std::uint64_t records);

}  // namespace distsim::traces
