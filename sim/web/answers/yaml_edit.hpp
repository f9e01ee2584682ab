// Changing one key in the text of an experiment as a person would: the rest of the text, its comments and its order stay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace distsim::web {

struct Edit {
  std::string key;                   ///< dotted: "cluster.nodes"
  std::optional<std::string> value;  ///< in YAML's flow syntax ("8", "[1, 2]"); none: the key is taken out
};

/// The text with the edits made, one after the other. Where a key cannot be changed in place (within a list, in a flow map
/// over several lines) the text is written anew, without its comments. Errors: a text that cannot be parsed, a value that is
/// none.
Result<std::string> edited(std::string text, const std::string& file, const std::vector<Edit>& edits);

}  // namespace distsim::web
