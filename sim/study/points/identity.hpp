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

/// Checksums of all files that can lie under the rows: the text of the experiment, every file that it or one of the `values`
/// that are laid on it names, those that these name in turn, and all files of the configuration folders, also those beside the
/// experiment, for which of them a name reaches depends on the point. A fact for each kind of folder says where one changed.
Identity inputs_facts(const ConfigNode& experiment, const std::vector<std::string>& values);

}  // namespace distsim::study
