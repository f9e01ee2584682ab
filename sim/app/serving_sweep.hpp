// Sweeps over serving experiments: `distsim sweep` where --config is one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/study/points/study_run.hpp"
#include "sim/study/sweep/axis.hpp"

namespace distsim::app {

/// Whether a file is a serving experiment: a map with gpus and policies. False where it cannot be read.
bool is_serving_experiment(const std::string& path);

struct ServingSweep {
  std::string config, csv, html;
  std::vector<std::string> sets;       ///< fixed
  std::vector<study::SweepAxis> axes;  ///< the first varies slowest
  study::RunOptions run;
  std::function<std::string(const std::string& line)> as_given;  ///< a remark or an error, with its key as it was given
};

/// A row as it is shown, its error as_given. REQUIRES: rows.has(index).
study::Row shown_row(const ServingSweep& sweep, const study::Rows& rows, std::size_t index);

/// Plays every policy and rate of the experiment at every combination of values. Writes a CSV row for each, and a page
/// with curves over the first axis whose values are numbers; or prints them. Rows do not depend on the number of threads
/// and processes. Errors: an error in the file itself; no point at all could be played.
Result<void> sweep_serving(const ServingSweep& sweep);

}  // namespace distsim::app
