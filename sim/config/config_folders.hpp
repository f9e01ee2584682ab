// Where configuration files are looked for, and how a name becomes a file.
#pragma once

#include <string>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/result.hpp"

namespace distsim::config {

/// Folder of a path: "configs" of "configs/x.yaml", "." of "x.yaml".
std::string folder_of_path(const std::string& path);

/// Folder that a relative path in this value starts from: that of the file it was written in, the working directory for
/// --set.
std::string folder_of_value(const ConfigNode& node);

/// Existing folders <root>/<kind>, the first in order of trust first. `experiment_folder` may be empty.
std::vector<std::string> config_folders(const std::string& kind, const std::string& experiment_folder);

/// Errors: $DISTSIM_CONFIGS names something that is no folder. Warns of what lies there and is not read, and keeps outputs from what is (unread_files.hpp). To be called once, before anything is looked for.
Result<void> check_config_folders();

/// Whether a file is one of those that come with the program.
bool is_shipped(const std::string& file);

/// The first <folder>/<file> that there is, whatever it is; empty where there is none. A folder, a pipe or a link that leads
/// nowhere hides those of later folders as a file does, for whoever reads it to refuse.
std::string first_of_name(const std::vector<std::string>& folders, const std::string& file);

/// first_of_name in configs/<kind>.
std::string config_file(const std::string& kind, const std::string& file);

/// configs/collectives/nccl.yaml where it says something else than the one that distsim was built with: one in
/// $DISTSIM_CONFIGS, or one that was edited. Empty where there is none.
std::string changed_constants();

/// Names of the YAML files in these folders, sorted, each once; without templates.
std::vector<std::string> names_in_folders(const std::vector<std::string>& folders);

/// Templates of configs/<kind>: "gpt_h{hidden}_l{layers}_a{heads}_s{sequence}" serves every name that reads so, with
/// ${hidden} in its text filled in (base/config/template_text.hpp). A file with the very name comes first.
std::vector<std::string> templates_in(const std::string& kind);

/// Reads the file of configs/<kind> that `name` names, aliases included, or the path that it is. A device may
/// be named as its driver names it. Of files with one alias that of the first folder counts, and the others are named in the
/// log; two of one folder are an error. A file without a `name` of its own gets that of the file. Errors stand at the
/// position of `name`; `key` is its dotted path, for messages.
Result<ConfigNode> read_named_file(const ConfigNode& name, const std::string& key, const std::string& kind,
                                   const std::string& experiment_folder);

}  // namespace distsim::config
