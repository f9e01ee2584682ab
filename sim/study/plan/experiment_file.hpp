// Writing an experiment with other values of some keys as a file of its own.
#pragma once

#include <string>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/file.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

namespace distsim::study {

/// A tree as YAML that parses to the same values: block maps, flow lists, text in quotes where it would be read as something
/// else.
std::string yaml_of(const ConfigNode& node);

/// The same within one line: "{a: 1, b: [2, 3]}".
std::string flow_of(const ConfigNode& node);

/// The experiment `config` with `sets` on it, as text. Files that it names by a relative path are named by an absolute one, so
/// that the text may lie anywhere.
Result<std::string> experiment_text(const std::string& config, const std::vector<std::string>& sets);

/// Writes it to `path` ("-": standard output) among the files of a command, once it was read back with `moved` on it: where
/// what it names lies until those are kept. Errors: a prediction from the text that is not `iteration`, to the picosecond.
Result<void> write_experiment(const std::string& path, const std::string& config, const std::vector<std::string>& sets,
                              const std::vector<std::string>& moved, Duration iteration, FilesTogether& files);

/// The same for a file alone.
Result<void> write_experiment(const std::string& path, const std::string& config, const std::vector<std::string>& sets,
                              Duration iteration);

}  // namespace distsim::study
