// Keys that flags of their own set: --curves is short for collectives.curve_files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace distsim::config {

struct FlagSet {
  std::string flag;  ///< as it was given, for messages: "--correction graph"
  std::string key, value;
};

/// A YAML text in single quotes.
std::string single_quoted(const std::string& text);

/// --curves with these files.
FlagSet curves_flag(const std::vector<std::string>& files);

/// `sets`, and after them what flags say. A set of the same key, or of what it holds, is left out with a warning: the flag
/// replaces it.
std::vector<std::string> with_flags(std::vector<std::string> sets, const std::vector<FlagSet>& flags);

/// KEY of KEY=VALUE.
std::string_view key_of_set(std::string_view set);
/// The key, that of the layout without the model before it: parallel.tensor of model.parallel.tensor.
std::string_view plain_key(std::string_view key);

/// Whether KEY=VALUE is of `key`, or of something that it holds.
bool is_of_key(std::string_view set, std::string_view key);
/// Whether KEY=VALUE says what `key` is: it is of the key, or its value is a map or a list that has it, as cluster={nodes: 4}
/// has cluster.nodes. model.parallel.tensor is parallel.tensor. Whoever compares what is set with a key asks this.
bool gives(const std::string& set, std::string_view key);
/// Whether one of them does.
bool any_gives(const std::vector<std::string>& sets, std::string_view key);

/// Whether a value may be a map or a list. Most are scalars, of which a study may have millions.
bool may_hold_keys(std::string_view value);
/// All plain keys that KEY=VALUE gives: what holds KEY, KEY, and all in its value.
std::vector<std::string> places_of(const std::string& set);

/// Whether `sets`, laid on after `set`, replace all that it says.
bool replace_all(const std::vector<std::string>& sets, const std::string& set);
/// A --set that a later one of the same key, or of what holds it, replaces.
struct ReplacedSet {
  std::string set, by;
  std::string why() const;  ///< "no effect, replaced by --set cluster.nodes=8"
};
std::vector<ReplacedSet> replaced_sets(const std::vector<std::string>& sets);

}  // namespace distsim::config
