// A serving experiment as its file describes it. docs/serving.md shows one; `distsim list serving` prints all keys.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/config/schema.hpp"
#include "base/units.hpp"
#include "sim/serving/emulator/emulator.hpp"
#include "sim/serving/load/arrivals.hpp"
#include "sim/serving/policies/registry.hpp"
#include "sim/workload/specs/model_spec.hpp"

namespace distsim::serving {

struct GpuSpec {
  std::string name;
  std::string kind;    ///< as the tables of times call it; empty: the name
  std::string device;  ///< of configs/devices, for models that are graphs; empty: none
  std::int64_t count = 1;
  std::int64_t box = 0;
  std::optional<Bytes> memory;  ///< for weights; none: what the device has free, or no limit
  std::int64_t slots = 1;
  Execution execution = Execution::serial;
  std::int64_t stages = 1;
  std::int64_t streams = 1;
  Watts idle_power{0}, busy_power{0};  ///< 0: those of the device, or not known
  double speed = 1;
  std::map<std::string, double> time_factors;
  BytesPerSecond host_bandwidth{0}, peer_bandwidth{0}, box_bandwidth{0};  ///< 0: that of `cluster.system`
  Duration host_latency;
  std::optional<Duration> peer_latency, box_latency;  ///< none: that of `cluster.system`
  std::int64_t host_link_shared_by = 1;
};

struct ModelTimesSpec {
  std::string name;
  std::string table_name;  ///< in the tables of times; empty: the name
  std::string graph;       ///< file of a graph of calls; empty: none
  workload::Precision precision = workload::Precision::fp32;
  bool fused = false;
  std::string framework;  ///< whose host launches the kernels of the graph; empty: kernels alone
  std::vector<Duration> layer_times;
  std::vector<double> layer_sm_demands, layer_memory_demands;  ///< empty: those of the model
  std::vector<std::vector<std::uint32_t>> after;               ///< by layer; empty: a chain, or what the graph has
  double batch_cost = 1;
  std::int64_t max_batch = 0;                          ///< 0: the largest of the table, or 1
  std::optional<Bytes> weights, input, output, state;  ///< none: what the graph says, or nothing
  Duration deadline;                                   ///< 0: none
  double deadline_factor = 0;                          ///< of the time alone on the first kind of GPU; 0: none
  std::int64_t priority = 0;
  double weight = 1;
  Variation variation = Variation::none;
  double cv = 1;
  double sm_demand = 1, memory_demand = 0, launch_demand = 0, sm_limit = 1;
  bool cells = false;
  bool refused = false;
  std::vector<std::string> placed_on;  ///< names of GPUs; empty: all
};

struct BurstSpec {
  double rate_per_s = 0;
  Duration duration;
};

struct ClassSpec {
  std::string name;
  double weight = 1;
  std::int64_t priority = 0;
  Duration deadline;  ///< 0: that of the model
};

struct LoadSpec {
  LoadKind kind = LoadKind::poisson;
  double rate_per_s = 0;
  double cv = 1;
  std::vector<BurstSpec> bursts;
  std::string file;
  std::int64_t requests = 0;
  Duration duration;
  bool per_model = false;
  std::int64_t streams = 1, clients = 1, samples = 0;
  Duration think;
  std::int64_t seed = 1;
  std::int64_t schedule_seed = -1;  ///< -1: none
};

struct BatchingSpec {
  std::int64_t size = 8;
  Duration delay = Duration::milliseconds(2);
};

struct RunSpec {
  std::int64_t warm_up = -1;  ///< -1: found from the run
  bool drop_late = false;
  Duration max_wait;  ///< 0: no limit
  std::vector<double> rates_per_s;
  double confidence = 0.95;
  std::int64_t max_in_system = 4'000'000;
};

struct ClusterLinks {
  std::string system;
};

struct ServingSpec {
  std::string title, description;
  ClusterLinks cluster;
  std::vector<GpuSpec> gpus;
  std::vector<ModelTimesSpec> models;
  std::vector<std::string> times;  ///< files
  Residency residency = Residency::resident;
  std::vector<ClassSpec> classes;
  LoadSpec load;
  std::vector<const PolicyEntry*> policies;
  BatchingSpec batching;
  RunSpec run;
};

Schema<ServingSpec> serving_schema();

/// Everything that a run needs, checked.
struct Experiment {
  std::string path, title;
  Scenario scenario;
  Load load;
  std::vector<const PolicyEntry*> policies;
  PolicyOptions policy_options;
  RunOptions run;
  bool find_warm_up = true;
  std::vector<double> rates_per_s;  ///< at least one; of open loads without rates of their own: 0
  double confidence = 0.95;
  std::vector<std::string> idle_keys;         ///< lines about keys that are written and change nothing
  std::vector<std::string> idle_keys_online;  ///< of these, those that say nothing of the load: it may come as lines
};

class PriceStore;

/// Reads the file, lays each KEY=VALUE of `sets` on it, checks all of it, and reads the files that it names. `prices`: where
/// the prices of layers are kept for the next reading (price_store.hpp); null: nowhere.
Result<Experiment> load_experiment(const std::string& path, const std::vector<std::string>& sets,
                                   PriceStore* prices = nullptr);
/// The same, with a change of the description before it is compiled. Errors name what the file says.
Result<Experiment> load_changed(const std::string& path, const std::vector<std::string>& sets,
                                const std::function<void(ServingSpec&)>& change, PriceStore* prices = nullptr);
Result<Experiment> parse_experiment(std::string_view text, const std::string& file,
                                    const std::vector<std::string>& sets);
/// The same of a text that is parsed.
Result<Experiment> compile_experiment(const ConfigNode& parsed, const std::vector<std::string>& sets,
                                      const std::function<void(ServingSpec&)>& change, PriceStore* prices = nullptr);

/// "file:line:col" of "gpus[1].memory" in a tree, or of the deepest part of it that is there.
SourcePos position_in(const ConfigNode& root, std::string_view key);

/// All keys with their types, ranges, defaults and meanings.
std::string serving_reference();

/// Those keys as --set takes them: of a list, the first item.
std::vector<std::string> serving_keys();

}  // namespace distsim::serving
