#include "base/config_node.hpp"

#include <unordered_map>

#include "base/printable.hpp"

namespace distsim {

std::string SourcePos::text() const {
  const std::string name = file ? *file : "";
  return line == 0 ? name : name + ":" + std::to_string(line) + ":" + std::to_string(column);
}

const ConfigNode* ConfigNode::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

ConfigNode* ConfigNode::find(std::string_view key) { return const_cast<ConfigNode*>(std::as_const(*this).find(key)); }

std::string ConfigNode::describe() const {
  switch (kind) {
    case Kind::null: return "nothing";
    case Kind::scalar: return in_quotes(scalar);
    case Kind::sequence: return "a list of " + std::to_string(items.size());
    case Kind::map: return "a map";
  }
  return "";
}

void merge_config(ConfigNode& base, const ConfigNode& over) {
  if (base.kind != ConfigNode::Kind::map || over.kind != ConfigNode::Kind::map) {
    base = over;
    return;
  }
  std::unordered_map<std::string, std::size_t> index;  // a map may hold 10^5 keys: no search per key
  for (std::size_t i = 0; i < base.entries.size(); ++i) index.emplace(base.entries[i].key, i);
  for (const ConfigNode::Entry& entry : over.entries) {
    const auto found = index.find(entry.key);
    if (found == index.end()) {
      index.emplace(entry.key, base.entries.size());
      base.entries.push_back(entry);
    } else {
      base.entries[found->second].where = entry.where;
      merge_config(base.entries[found->second].value, entry.value);
    }
  }
}

}  // namespace distsim
