// An experiment, run: every policy at every rate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/result.hpp"
#include "sim/serving/results/tally.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {

struct Point {
  const PolicyEntry* policy = nullptr;
  double rate_per_s = 0;  ///< of each stream; 0: the load has no rate of its own
  RunResult result;
  std::string error;  ///< not empty: there is no result
};

struct Comparison {
  const Experiment* experiment = nullptr;
  std::vector<Point> points;  ///< rates in the order of the experiment, policies within
};

/// On at most `jobs` threads; results do not depend on how many. on_done() after each point. Errors of single points stay
/// with them.
Comparison compare_policies(const Experiment& experiment, unsigned jobs, const std::function<void()>& on_done);

/// Points without a result keep their rows; where there is any, an error says so.
Result<void> failed_points(const Comparison& c);

/// The load at one of the experiment's rates.
Load load_at(const Experiment& experiment, double rate_per_s);

/// What a row of a table states, of a model, of all (row = models.size()) or of a class of service (above).
struct Figures {
  std::string model;
  double offered_per_s = 0;  ///< by the load; 0: answers decide it, or all come at once
  const Tally* tally = nullptr;
  double makespan_ms = 0, throughput_per_s = 0, goodput_per_s = 0;
  bool has_work = false;  ///< below: not known of classes
  double utilisation = 0;
  std::uint64_t moves = 0, batches = 0;
  double joules = 0;  ///< of all GPUs; 0: not known, or of a single model

  bool any() const { return tally->requests > 0; }
  /// Whether there is work of it in the span, be it of requests that came before and are not counted.
  bool works() const { return has_work && (any() || utilisation > 0 || batches > 0); }
};
Figures figures_of(const Experiment& experiment, const Point& point, std::size_t row);
/// Rows of a table: all, the models, the classes of service.
std::size_t rows_of(const Experiment& experiment);

/// Of the requests that come, the part that a row is about.
double share_of_row(const Experiment& experiment, std::size_t row);

/// A latency at a quantile with its interval. Neighbours are alike, so ranks are as uncertain as those of
/// BatchMeans::independent() values: q n +- z sqrt(q (1 - q) / independent) n.
struct QuantileEstimate {
  double ms = 0, low_ms = 0, high_ms = 0;
};
QuantileEstimate quantile_of(const Tally& tally, double q, double confidence);

/// A row per rate, policy and row of the table; cells without a figure are empty, the last one says why there are none.
std::string comparison_csv(const Comparison& c);
std::string comparison_text(const Comparison& c);
std::string comparison_json(const Comparison& c);
/// Data of the page, `kind` "serving" (web/src/app/pages/serving_page.tsx): every policy at every rate, of all requests and of
/// each model and class of service, with how its latencies are distributed.
std::string comparison_page_json(const Comparison& c);

/// "2 models on 2 GPUs, Poisson arrivals, seed 1".
std::string facts_of(const Experiment& experiment);
/// "all", the models, "class NAME": what row of a table is figures_of(..., row).
std::string name_of_row(const Experiment& experiment, std::size_t row);
/// Policies above capacity, verdicts of MLPerf's scenarios, energy, why rows have dashes: a line each.
std::vector<std::string> notes_of(const Comparison& c);

/// Of these the policies above capacity, over the whole run or for a while.
std::vector<std::string> overloads_of(const Comparison& c);

/// The pieces of work of every policy at the first rate, a process for each policy and a track for each GPU. Returns a line
/// for each policy of which only the first 500,000 are in it.
Result<std::vector<std::string>> write_timeline(const Comparison& c, const std::string& path, FilesTogether& files);

}  // namespace distsim::serving
