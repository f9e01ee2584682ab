// What an experiment says, whatever its values were spelled like: "25us" and "0.025 ms" are one time.
#pragma once

#include <string>

#include "base/config/config_node.hpp"

namespace distsim::study {

/// The text of a key's value as every spelling of it has it: a number without its unit in the units of SI. Words and other
/// text stay what they are.
std::string plain_value(const std::string& key, const std::string& text);

/// Equal for two experiments of which every key has the same value: as the experiment, the files that it names or the default
/// have it. `merged`: Experiment::merged. Texts for people do not count.
std::string values_text(const ConfigNode& merged);

}  // namespace distsim::study
