#include <algorithm>

#include "base/config/config_items.hpp"
#include "base/config/config_node.hpp"
#include "base/config/config_path.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"

namespace distsim {
namespace {

constexpr std::size_t kMaxSegments = 16;

Result<std::vector<std::string>> split_path(std::string_view path, const std::string& where) {
  std::vector<std::string> segments;
  for (std::size_t begin = 0;;) {
    const std::size_t dot = std::min(path.find('.', begin), path.size());
    segments.emplace_back(path.substr(begin, dot - begin));
    if (segments.back().empty() || find_bad_byte(segments.back())) {
      return Error{"found the key " + in_quotes(path) + ", expected names joined by dots, e.g. cluster.nodes", where,
                   ""};
    }
    if (dot == path.size()) break;
    begin = dot + 1;
  }
  if (segments.size() > kMaxSegments) {
    return Error{"found a key with " + std::to_string(segments.size()) + " parts, expected at most " +
                     std::to_string(kMaxSegments),
                 where, ""};
  }
  return segments;
}

void set_position(ConfigNode& node, const SourcePos& where) {
  node.where = where;
  for (ConfigNode& item : node.items) set_position(item, where);
  for (ConfigNode::Entry& entry : node.entries) {
    entry.where = where;
    set_position(entry.value, where);
  }
}

/// One step down; a missing key is created.
Result<ConfigNode*> child_of(ConfigNode& node, const std::string& segment, const std::string& parent,
                             const SourcePos& where) {
  if (node.kind == ConfigNode::Kind::sequence) {
    TRY_ASSIGN(const std::size_t index, item_index(segment, node.items.size(), where));
    return &node.items[index];
  }
  if (node.kind == ConfigNode::Kind::scalar) {
    return Error{
        parent + ": found " + node.describe() + ", expected a map in which to set " + in_quotes(segment) + " in",
        where.text(), ""};
  }
  node.kind = ConfigNode::Kind::map;
  if (ConfigNode* existing = node.find(segment)) return existing;
  node.entries.push_back({segment, where, {}});
  node.entries.back().value.where = where;
  return &node.entries.back().value;
}

Result<PathValue> parse_value(std::string_view dotted_path, std::string_view text, const std::string& name) {
  const SourcePos where{std::make_shared<const std::string>(name), 0, 0};
  PathValue out;
  TRY_ASSIGN(out.path, split_path(dotted_path, name));
  if (text.find_first_not_of(" \t") == std::string_view::npos)
    return Error{"found nothing, expected a value after '='", name, ""};
  TRY_ASSIGN(out.value, parse_yaml(text, name));
  set_position(out.value, where);
  return out;
}

std::string name_of_set(std::string_view dotted_path) { return "--set " + printable(dotted_path); }

}  // namespace

Result<void> set_config_path(ConfigNode& root, std::string_view dotted_path, std::string_view text) {
  return set_config_path(root, dotted_path, text, name_of_set(dotted_path));
}

Result<void> set_config_path(ConfigNode& root, std::string_view dotted_path, std::string_view text,
                             const std::string& name) {
  TRY_ASSIGN(const PathValue value, parse_value(dotted_path, text, name));
  return set_config_path(root, value);
}

Result<PathValue> parse_path_value(std::string_view dotted_path, std::string_view text) {
  return parse_value(dotted_path, text, name_of_set(dotted_path));
}

Result<void> set_config_path(ConfigNode& root, const PathValue& value) {
  ConfigNode changed = root;  // an error halfway leaves root as it was
  ConfigNode* node = &changed;
  std::string parent;
  for (const std::string& segment : value.path) {
    TRY_ASSIGN(node, child_of(*node, segment, parent.empty() ? "config" : parent, value.value.where));
    parent += (parent.empty() ? "" : ".") + segment;
  }
  // of several for one key, what the first replaced
  const bool of_file = node->where.line > 0 && node->kind != ConfigNode::Kind::null;
  auto before = of_file ? std::make_shared<const ConfigNode>(*node) : node->before;
  *node = value.value;
  node->before = std::move(before);
  root = std::move(changed);
  return {};
}

const ConfigNode* node_at(const ConfigNode& root, std::string_view key) {
  const ConfigNode* node = &root;
  while (node != nullptr && !key.empty()) {
    const std::size_t end = std::min(key.find_first_of(".["), key.size());
    const std::string_view part = key.substr(0, end);
    if (part.ends_with(']')) {
      const auto index = plain_integer(part.substr(0, part.size() - 1));
      const bool is_item = index && *index >= 0 && static_cast<std::size_t>(*index) < node->items.size();
      node = is_item ? &node->items[static_cast<std::size_t>(*index)] : nullptr;
    } else if (node->kind == ConfigNode::Kind::sequence) {
      const auto index = item_index(std::string(part), node->items.size(), {});
      node = index.ok() ? &node->items[*index] : nullptr;
    } else {
      node = node->find(part);
    }
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return node;
}

Error at_its_place(Error error, const ConfigNode& root) {
  const std::string key = error.what.substr(0, error.what.find(": "));
  if (!error.where.empty() || key.size() == error.what.size() || key.find('.') == key.npos) return error;
  const ConfigNode* node = node_at(root, key);
  for (std::string section = key; node == nullptr && section.find_first_of(".[") != section.npos;) {
    section.erase(section.find_last_of(".["));
    node = node_at(root, section);
    if (node != nullptr && node->where.line == 0) return error;  // --set of something else
  }
  if (node == nullptr || node->where.text().empty()) return error;
  error.where = node->where.text();
  if (error.where.ends_with(key)) error.what.erase(0, key.size() + 2);  // "--set parallel.tensor"
  return error;
}

}  // namespace distsim
