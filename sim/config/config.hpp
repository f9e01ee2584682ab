// Experiments: config text -> Experiment. An experiment names a system, a model and a framework and overrides any of
// their keys.
//
//   title: DLRM on 4 x DGX A100
//   cluster:     {system: dgx_a100_80gb, nodes: 4}          # configs/systems/dgx_a100_80gb.yaml; its `device` names
//                                                           # a file of configs/devices
//   device:      {sm_count: 100}                            # overrides the system's device; `name` picks another one
//   model:       {name: dlrm_mlperf, global_batch: 65536}   # configs/models/dlrm_mlperf.yaml
//   framework:   {name: pytorch}                            # configs/frameworks/pytorch.yaml
//   collectives: {use_curves: false}
//   engine:      {contention: true}
//
// Precedence, highest first: --set, the experiment, the named file, the defaults of the schema. A name is a file without
// .yaml in <folder of the experiment>/systems, in systems/ of each folder of $DISTSIM_CONFIGS (separated by colons), and
// in the shipped configs/systems (and so for devices, models, frameworks), or one of the `aliases` such a file lists. A
// value with a '/' or ending in .yaml is a path, relative to the file that holds it, or to the working directory for
// --set and the command line. A section without a name describes the thing in place.
#pragma once

#include <string>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/result.hpp"
#include "collectives/collective_models.hpp"
#include "sim/config/engine_spec.hpp"
#include "sim/workload/specs/framework_spec.hpp"
#include "sim/workload/specs/model_spec.hpp"
#include "topology/devices/cluster_spec.hpp"
#include "topology/devices/device_spec.hpp"
#include "topology/devices/known_devices.hpp"

namespace distsim::config {

struct Experiment {
  std::string path, title;
  std::string model_file;  ///< that model.name names; empty where there is none
  std::string system;      ///< as the file that cluster.system names is called in it; empty where there is none
  topology::ClusterSpec cluster;
  topology::DeviceSpec device;
  workload::ModelSpec model;
  workload::FrameworkSpec framework;
  collectives::CollectiveOptions collectives;
  EngineSpec engine;
  ConfigNode merged;  ///< every section with its named file laid under it; positions say where each value came from
};

/// Step "parse": the experiment's text with --set KEY=VALUE laid on it. Names are not looked up yet.
Result<ConfigNode> parse_experiment(const std::string& path, const std::vector<std::string>& sets);
Result<ConfigNode> parse_experiment_text(std::string_view text, const std::string& file,
                                         const std::vector<std::string>& sets);

/// Every section with the file that it names laid under it: what `resolve` reads.
Result<ConfigNode> merge_named_files(const ConfigNode& parsed);

/// Step "resolve": names looked up, defaults filled, ranges checked.
Result<Experiment> resolve(const ConfigNode& parsed);

Result<Experiment> load_experiment(const std::string& path, const std::vector<std::string>& sets);

/// One thing by name, alias or path.
Result<topology::ClusterSpec> load_system(const std::string& name_or_path);
Result<topology::DeviceSpec> load_device(const std::string& name_or_path);
/// The device that a driver calls by this name ("NVIDIA A100-SXM4-80GB").
Result<topology::DeviceSpec> load_device_of_driver(const std::string& driver_name);
Result<workload::ModelSpec> load_model(const std::string& name_or_path);
Result<workload::FrameworkSpec> load_framework(const std::string& name_or_path);

/// Names of the files in all folders configs/<kind>, sorted; kind is systems, devices, models or frameworks.
std::vector<std::string> names_in(const std::string& kind);

/// The devices of all folders configs/devices, and what they are called.
topology::KnownDevices known_devices();

/// The folders of measured curves, configs/curves, the first in order of trust first.
std::vector<std::string> curve_folders();

}  // namespace distsim::config
