// Writing an experiment with other values of some keys as a file of its own.
#pragma once

#include <string>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

namespace distsim::study {

/// A tree as YAML that parses to the same values: block maps, flow lists, text in quotes where it would be read as something
/// else.
std::string yaml_of(const ConfigNode& node);

/// The experiment `config` with `sets` on it, as text. Files that it names by a relative path are named by an absolute one, so
/// that the text may lie anywhere.
Result<std::string> experiment_text(const std::string& config, const std::vector<std::string>& sets);

/// Writes it to `path` ("-": standard output) and reads it back. Errors: a prediction from the file that is not `iteration`,
/// to the picosecond.
Result<void> write_experiment(const std::string& path, const std::string& config, const std::vector<std::string>& sets,
                              Duration iteration);

}  // namespace distsim::study
