// Which files a page may name. A name reaches a file of the configuration folders (config_folders.hpp); a path, only one
// that lies in these folders or in that of the experiment that the server was started with.
#pragma once

#include <string>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/result.hpp"

namespace distsim::web {

/// Folders that paths may lead into, canonical.
std::vector<std::string> open_folders(const std::string& experiment_file);

/// Error: a key of `parsed` names a file elsewhere.
Result<void> check_named_paths(const ConfigNode& parsed, const std::vector<std::string>& folders);

}  // namespace distsim::web
