// A bounded, positioned YAML tree: what every configuration file is read into before any schema looks at it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace distsim {

/// Where a value was written. line and column (in bytes) start at 1; 0 means "not in a file" (file then names e.g.
/// "--set a.b").
struct SourcePos {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;
  std::string text() const;  ///< "configs/x.yaml:12:5", or the file name alone where line is 0
};

/// One YAML node. Maps keep the order of the file. Plain value type; copies are deep.
struct ConfigNode {
  enum class Kind : std::uint8_t { null, scalar, sequence, map };
  struct Entry;

  Kind kind = Kind::null;
  std::string scalar;             ///< text of a scalar, unquoted
  bool quoted = false;            ///< the scalar stood in quotes, so it is a string whatever it looks like
  std::vector<ConfigNode> items;  ///< of a sequence
  std::vector<Entry> entries;     ///< of a map
  SourcePos where;
  std::shared_ptr<const ConfigNode> before;  ///< what the file has where set_config_path put this; null: nothing

  const ConfigNode* find(std::string_view key) const;  ///< nullptr when absent or not a map
  ConfigNode* find(std::string_view key);
  std::string describe() const;  ///< for messages: "'12 GB'", "a list of 3", "a map", "nothing"
};

struct ConfigNode::Entry {
  std::string key;
  SourcePos where;
  ConfigNode value;
};

/// Caps on one input file.
struct YamlLimits {
  std::size_t max_bytes = 1u << 20;
  std::size_t max_nodes = 200'000;
  int max_depth = 32;
};

/// Parses one YAML document. Refused, with file:line:col: syntax errors, duplicate keys, aliases and anchors, tags,
/// several documents, invalid UTF-8, keys that are not scalars, anything over the limits. An empty document is an empty
/// map.
Result<ConfigNode> parse_yaml(std::string_view text, const std::string& file, const YamlLimits& limits = {});

/// Reads and parses a file; an absent or unreadable file is an Error.
Result<ConfigNode> parse_yaml_file(const std::string& path, const YamlLimits& limits = {});

/// Lays `over` on `base`: maps merge key by key, anything else replaces. A map of item numbers laid on a list changes
/// those items
/// ("tables: {3: {rows: 10}}"); anything but the number of an item is an Error. Positions follow the values.
Result<void> merge_config(ConfigNode& base, const ConfigNode& over);

/// Sets base.a.b.c to `text`, parsed as YAML flow syntax ("8", "[1, 2]", "{x: 1}"); missing maps are created, and an
/// item of a sequence is named by its number from 0 ("model.tables.3.rows"). Positions of the new value read "--set
/// a.b.c". On an Error root is unchanged.
Result<void> set_config_path(ConfigNode& root, std::string_view dotted_path, std::string_view text);

/// The same for a value that was given elsewhere: errors about it name `where`, e.g. "cases.csv:12: cluster.nodes".
Result<void> set_config_path(ConfigNode& root, std::string_view dotted_path, std::string_view text,
                             const std::string& where);

}  // namespace distsim
