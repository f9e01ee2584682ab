// Places in a configuration: values for them, parsed once and set in many trees, and where what is at them was written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/result.hpp"

namespace distsim {

struct PathValue {
  std::vector<std::string> path;
  ConfigNode value;
};

/// set_config_path(root, dotted_path, text) in two steps, with the same errors.
Result<PathValue> parse_path_value(std::string_view dotted_path, std::string_view text);
Result<void> set_config_path(ConfigNode& root, const PathValue& value);

/// What "a.b[3].c" or "a.b.3.c" names; null where there is nothing.
const ConfigNode* node_at(const ConfigNode& root, std::string_view key);

/// An error that begins with a key of several parts ("parallel.tensor: found 3, ...", "model.dlrm.tables[2].dim: ...") and
/// names no place gets the one where the key's value was written. Of a key that is not there it is the section in a file that
/// would hold it. Others stay as they are.
Error at_its_place(Error error, const ConfigNode& root);

}  // namespace distsim
