// What the rows of a study depend on: a journal belongs to a study whose facts are all the same, and so do the processes
// that share its points.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/config/config_node.hpp"

namespace distsim::study {

/// One thing that decides a study's rows: a name for people ("--set", "configuration") and its value or a checksum of it.
struct Fact {
  std::string name, value;
  std::int64_t changed_ns = 0;  ///< of a file, when it came to be there as it is; not kept
  bool operator==(const Fact& other) const { return name == other.name && value == other.value; }
};

using Identity = std::vector<Fact>;

/// "" where the two are the same; else what differs, of the first such fact: "--scaling: found weak, expected strong".
std::string difference(const Identity& found, const Identity& expected);

/// The facts of files in `expected` that `found` knows nothing of and that came to be there after the last row was written: no
/// row that had a prediction can depend on them.
Identity files_since(const Identity& found, const Identity& expected, std::int64_t written_at);

/// The program: its version and a checksum of its file.
Fact program_fact();

/// The text of the experiment, and checksums of all files that can lie under the rows: a fact for each that it or one of the
/// `values` that are laid on it names, and for each that these name in turn; and one for each kind of configuration folder,
/// also those beside the experiment, for which of their files a name reaches depends on the point. All are noted as inputs.
Identity inputs_facts(const ConfigNode& experiment, const std::vector<std::string>& values);

/// Notes the same files as inputs (base/file.hpp) that no output may replace: also those of points that this process does not
/// evaluate. Reads only files of configurations.
void note_named_files(const ConfigNode& experiment, const std::vector<std::string>& values);

}  // namespace distsim::study
