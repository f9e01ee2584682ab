// Many predictions: sweeps, plans, comparisons.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiment.hpp"

namespace distsim::api {

/// A key and the values that it takes, each as in --set: "8", "25 GB/s", or a range: "1..64:x2".
struct Axis {
  std::string key;
  std::vector<std::string> values;
};

enum class Scaling : std::uint8_t {
  as_given,  ///< the batch that the experiment gives stays: global, or per GPU
  strong,    ///< the global batch stays
  weak       ///< the samples per GPU stay
};

struct SweepRequest {
  Experiment experiment;
  std::vector<Axis> axes;  ///< the first varies slowest; at most 10,000,000 points together
  Scaling scaling = Scaling::as_given;
  unsigned jobs = 0;  ///< threads; 0: as many as the process has cores to itself
  Stop stop = {};
};

struct SweepPoint {
  std::vector<std::string> values;  ///< one for each axis
  std::string error;                ///< why this point has no prediction; empty where it has one
  double nodes = 0, gpus = 0, global_batch = 0;
  double iteration_ms = 0, low_ms = 0, high_ms = 0, samples_per_s = 0, tokens_per_s_per_gpu = 0;
  double compute_ms = 0, exposed_comm_ms = 0, waiting_ms = 0, host_bound_ms = 0, idle_ms = 0;
  double mfu = 0, memory_gb = 0;
  double speedup = 0;        ///< samples/s over that of the point with the fewest GPUs and else the same values
  double efficiency = 0;     ///< speedup over the growth in GPUs; 1 is perfect scaling
  std::optional<bool> fits;  ///< false: the GPUs lack the memory; none: not known, as the point has no prediction
  std::string limited_by;
};

class DISTSIM_API Sweep {
 public:
  const std::vector<std::string>& keys() const;  ///< of the axes
  std::size_t size() const;
  SweepPoint point(std::size_t index) const;  ///< throws std::out_of_range
  std::string csv() const;                    ///< what `distsim sweep --csv` writes, --html, and what it prints
  std::string html() const;
  std::string text() const;

  /// What was asked and changes none of the points, in lines: "vary parallel.tensor: no effect at any point",
  /// "set model.rnn.encoder_layers=3: no effect on the prediction", "scaling: no effect, ...". A key of the experiment's `sets`
  /// is tried at up to 16 points, with every value of axes of up to 16 at one of them; where there are more, the line says
  /// so: "no effect on the 16 predictions tried". The first call looks, which takes some predictions for each key and point,
  /// and asks `stop` meanwhile: Interrupted, and the next call looks again. So it is with the other studies.
  const std::vector<std::string>& without_effect(const Stop& stop = {}) const;

  class Parts;
  explicit Sweep(std::shared_ptr<const Parts> parts);
  Sweep(const Sweep&);
  Sweep& operator=(const Sweep&);
  ~Sweep();

 private:
  std::shared_ptr<const Parts> parts_;
};

/// Every combination of the values. Throws ConfigError, also where no point has a prediction; Interrupted.
DISTSIM_API Sweep sweep(const SweepRequest& request);

struct PlanRequest {
  Experiment experiment;
  std::vector<Axis> vary;  ///< empty: the layouts that the framework offers
  std::string gpus;        ///< numbers to choose from: "64,96", or "64..1024" in powers of two; empty: the experiment's
  std::string objective;   ///< time (also where empty), cost, energy or memory
  std::string pareto;      ///< two objectives, "time,memory"; empty: one
  std::size_t top = 10;    ///< rows, 1 to 100,000
  bool exhaustive = false;
  std::uint64_t most_played = 0;  ///< 0: no limit
  std::size_t draws = 0;          ///< random layouts that say where the experiment stands, up to 100,000
  unsigned jobs = 1;              ///< threads, 1 to 256
  double price_per_gpu_hour = 0, tokens = 0, samples = 0;  ///< for cost and energy; 0: not given
  std::string constraints;                                 ///< recommenders: a CSV file of what each table may be
  std::int64_t least_columns = 0;  ///< recommenders: least width of a column-wise shard; 0: as usual
  Stop stop = {};
};

struct PlanRow {
  std::vector<std::string> sets;  ///< that make it of the experiment, of a recommender with its `placement`
  /// Recommenders: where the tables lie, the text of a file for parallel.placement_file; empty: where the experiment and
  /// `sets` say.
  std::string placement;
  double iteration_ms = 0;  ///< 0 where there is an error
  bool fits = true;         ///< false: the GPUs lack the memory; without an error where model.memory_check is false
  std::string error;        ///< why it has no time: "memory", or what a prediction says; empty where it has one
};

class DISTSIM_API Plan {
 public:
  const std::vector<PlanRow>& rows() const;  ///< the best first
  std::string json() const;                  ///< what `distsim plan --json`, --csv and --html write, and what it prints
  std::string csv() const;
  std::string html() const;
  std::string text() const;
  /// What was asked and changes none of the rows: also "top: no effect, no more were played". A member of the request that
  /// has its default value was not asked for.
  const std::vector<std::string>& without_effect(const Stop& stop = {}) const;

  class Parts;
  explicit Plan(std::shared_ptr<const Parts> parts);
  Plan(const Plan&);
  Plan& operator=(const Plan&);
  ~Plan();

 private:
  std::shared_ptr<const Parts> parts_;
};

/// The best ways to run an experiment on its cluster. Throws ConfigError, Interrupted.
DISTSIM_API Plan plan(const PlanRequest& request);

struct CompareSide {
  std::string name;
  Experiment experiment;
};

struct ComparedSide {
  std::string name;
  double iteration_ms = 0;
  double ratio = 1, low = 1, high = 1;  ///< time per sample over that of the first side, and its range
};

class DISTSIM_API Comparison {
 public:
  const std::vector<ComparedSide>& sides() const;
  std::string csv() const;  ///< what `distsim compare --csv` and --html write, and what it prints
  std::string html() const;
  std::string text() const;
  /// The `sets` that change nothing: of all sides, where all have them, else of the sides that do.
  const std::vector<std::string>& without_effect(const Stop& stop = {}) const;

  class Parts;
  explicit Comparison(std::shared_ptr<const Parts> parts);
  Comparison(const Comparison&);
  Comparison& operator=(const Comparison&);
  ~Comparison();

 private:
  std::shared_ptr<const Parts> parts_;
};

/// At least two experiments; all are compared with the first. Throws ConfigError, Interrupted.
DISTSIM_API Comparison compare(const std::vector<CompareSide>& sides, const Stop& stop = {});

}  // namespace distsim::api
