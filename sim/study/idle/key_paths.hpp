// Keys of an experiment's text: where they stand, what is left without one, and those that a --set gives.
#pragma once

#include <string>
#include <vector>

#include "base/config/config_node.hpp"
#include "sim/config/config.hpp"

namespace distsim::study::idle {

/// The parts of a key, and the numbers of the maps in a list: {"model", "program", "steps", "2", "size"}.
using Path = std::vector<std::string>;

/// "model.program.steps.2.size".
std::string dotted(const Path& path);

/// The parts of a dotted key.
Path path_of(const std::string& key);

bool is_inside(const Path& key, const Path& of);

/// What names a file or is there for people.
bool is_name(const Path& path);

struct Given {
  Path path;
  const ConfigNode* value;
};

/// Adds all keys below a node, which stands at `path`, but for names, in the order of the text. Of a list of up to 64 maps each key
/// counts, and the list itself.
void collect(const ConfigNode& node, Path& path, std::vector<Given>& out);

/// The node at the end of a path; null where there is none.
const ConfigNode* find_at(const ConfigNode& root, const Path& path);
/// As above, of a tree that may be changed.
ConfigNode* find_at(ConfigNode& root, const Path& path);

/// The tree with the key taken away: where it is of --set, what the file says holds again.
ConfigNode without(const ConfigNode& root, const Path& path);

/// A model file of the user's own is part of what was given: its keys, and those of the layout that it suggests, stand in
/// place of its name.
ConfigNode with_own_model(const ConfigNode& parsed, const config::Experiment& experiment);

/// A key that one of --set gives.
struct SetKey {
  Path path;
  std::string set;  ///< KEY=VALUE of it alone
};

/// Those that a map holds, each by itself as in a prediction; any other value is one key.
std::vector<SetKey> keys_of(const std::string& set);

/// Whether one of `sets` that comes after `set` gives its key `own` anew, or what holds it.
bool is_replaced(const std::string& set, const SetKey& own, const std::vector<std::string>& sets);

}  // namespace distsim::study::idle
