// What the rows of a study depend on: a journal belongs to a study whose facts are all the same, and so do the processes
// that share its points.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/config/config_node.hpp"

namespace distsim::study {

/// One thing that decides a study's rows: a name for people ("--set", "configuration") and its value or a checksum of it.
struct Fact {
  std::string name, value;
  bool operator==(const Fact&) const = default;
};

using Identity = std::vector<Fact>;

/// "" where the two are the same; else what differs, of the first such fact: "--scaling: found weak, expected strong".
std::string difference(const Identity& found, const Identity& expected);

/// The program: its version and a checksum of its file.
Fact program_fact();

/// Checksum of all that can lie under the experiments: the text of each tree with its files laid under it
/// (config::Experiment::merged), every file that a value of it names, and all files of the configuration folders, which hold
/// curves and learned models.
Fact inputs_fact(const std::vector<ConfigNode>& merged);

}  // namespace distsim::study
