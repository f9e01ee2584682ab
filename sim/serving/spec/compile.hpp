// From what a file says to what the emulator plays.
#pragma once

#include <string>
#include <vector>

#include "sim/serving/spec/device_table.hpp"
#include "sim/serving/spec/serving_spec.hpp"
#include "sim/serving/spec/times_table.hpp"

namespace distsim::serving {

class ModelPricer;

/// The text that a spec was read from, for messages.
struct Text {
  const ConfigNode& root;
  /// "key: found ..., expected ..." at the place where the key, or the deepest part of it, was written.
  Error refuse(const std::string& key, const std::string& what, const std::string& hint = "") const;
  /// Path of a file that a value names: from the folder of the file that the value is in.
  std::string path_of(const std::string& key, const std::string& text) const;
};

/// GPUs and links.
Result<void> add_gpus(const ServingSpec& spec, const Text& text, const DeviceTable& devices, Scenario& out);
/// Models and their times on each kind of GPU; where they are placed.
Result<void> add_models(const ServingSpec& spec, const Text& text, const ModelPricer& pricer, Scenario& out,
                        PolicyOptions& policy_options);
Result<Load> make_load(const ServingSpec& spec, const Text& text, const Scenario& scenario);
/// A line for each key of the text that changes nothing here, for graphs of which not all is priced by models of its ops,
/// for kinds of GPU that tables have no times of a model for, and for a file that may be cut: "x.yaml:3:12: load.cv: no effect, it is of kind gamma".
/// But for those of the load.
std::vector<std::string> idle_keys(const ServingSpec& spec, const Text& text, const ModelPricer& pricer,
                                   const Scenario& scenario);
/// The same of the load and of what it decides, and a line for a file of arrivals that may be cut or has columns of no use.
std::vector<std::string> idle_keys_of_load(const ServingSpec& spec, const Text& text, const Scenario& scenario,
                                           const Load& load);

/// Of these lines those about tables of times: kinds of GPU and names that they have no rows of, and files of which no row
/// counts.
std::vector<std::string> unmatched_times(const ServingSpec& spec, const Text& text, const ModelPricer& pricer);

}  // namespace distsim::serving
