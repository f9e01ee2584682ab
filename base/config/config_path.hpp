// A value for a place in a configuration, parsed once and set in many trees.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config/config_node.hpp"

namespace distsim {

struct PathValue {
  std::vector<std::string> path;
  ConfigNode value;
};

/// set_config_path(root, dotted_path, text) in two steps, with the same errors.
Result<PathValue> parse_path_value(std::string_view dotted_path, std::string_view text);
Result<void> set_config_path(ConfigNode& root, const PathValue& value);

}  // namespace distsim
