// One training iteration.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "experiment.hpp"

namespace distsim::api {

/// The figures of a prediction in the units of their names; a mean is over ranks. All others: Prediction::json().
/// compute + exposed_comm + waiting + host_bound + idle = iteration.
struct Figures {
  std::int64_t iteration_ps = 0;  ///< steady state, to the picosecond
  double iteration_ms = 0;
  double low_ms = 0, high_ms = 0;  ///< about the 10th and 90th percentile of what the iteration may take
  double samples_per_second = 0;   ///< of all ranks
  double achieved_tflops_per_gpu = 0;
  double mfu = 0;  ///< model FLOP/s over the peak at the model's precision, 0 to 1
  double compute_ms = 0, comm_ms = 0, hidden_comm_ms = 0, exposed_comm_ms = 0, waiting_ms = 0, host_bound_ms = 0,
         idle_ms = 0;
  double memory_gb = 0;    ///< of the fullest GPU, 10^9 bytes
  std::int64_t ranks = 0;  ///< GPUs
  std::string limited_by;  ///< "compute", "network", ...; empty where the iteration takes no time
};

struct PredictOptions {
  std::uint32_t trials = 0;  ///< iterations with randomized speeds, 0 to 1,000,000: docs/report.md
  std::uint64_t seed = 1;    ///< of the trials
  Stop stop = {};
};

/// A prediction, which holds its timeline until it is gone. Copies share it. May be used by several threads.
class DISTSIM_API Prediction {
 public:
  const Figures& figures() const;

  /// The bytes that `distsim predict --json`, --csv and --html write, and that it prints. The first of these calls looks
  /// which of the experiment's own keys change nothing, which takes up to two predictions for each key. The page and the
  /// text are made anew by each call.
  std::string json() const;
  std::string csv() const;
  std::string html() const;
  std::string text() const;

  class Parts;
  explicit Prediction(std::shared_ptr<const Parts> parts);
  Prediction(const Prediction&);
  Prediction& operator=(const Prediction&);
  ~Prediction();

 private:
  std::shared_ptr<const Parts> parts_;
};

/// Time of one training iteration, in steady state: what `distsim predict` does. Files and cost models that earlier calls
/// read are used again as long as they have not changed. May be called by several threads. Throws ConfigError,
/// Interrupted, std::bad_alloc.
DISTSIM_API Prediction predict(const Experiment& experiment, const PredictOptions& options = {});

}  // namespace distsim::api
