// What a page offers to choose from: every key of an experiment, and the systems, models and frameworks there are.
#pragma once

#include <string>
#include <string_view>

#include "base/json/json.hpp"
#include "sim/config/config.hpp"

namespace distsim::web {

/// The keys that `distsim list config` prints: {"sections": [{"name", "doc", "keys": [{"key", "type", "range", "min", "max",
/// "default", "doc", "choices"}]}]}. min and max are in SI units.
nlohmann::json vocabulary_json();

/// {"systems": [{"name", "text", "file"}], "models": [...], "frameworks": [...]}: reads all of these files, half a second.
nlohmann::json lists_json();

/// What an experiment's keys are, with the files that it names laid under them: {"cluster.nodes": ["4", "experiment.yaml:5:10",
/// 4]}; the number, in SI units, of keys that have a unit or are numbers. Lists of maps, such as tables, are left out.
nlohmann::json values_json(const ConfigNode& merged);

}  // namespace distsim::web
