#include "base/config/config_node.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/config/config_items.hpp"
#include "base/text/printable.hpp"

namespace distsim {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<void> merge_items(ConfigNode& list, const ConfigNode& over) {
  for (const ConfigNode::Entry& entry : over.entries) {
    TRY_ASSIGN(const std::size_t index, item_index(entry.key, list.items.size(), entry.where));
    TRY(merge_config(list.items[index], entry.value));
  }
  return {};
}

Result<void> merge_maps(ConfigNode& base, const ConfigNode& over) {
  std::unordered_map<std::string, std::size_t> index;  // a map may hold 10^5 keys: no search per key
  for (std::size_t i = 0; i < base.entries.size(); ++i) index.emplace(base.entries[i].key, i);
  for (const ConfigNode::Entry& entry : over.entries) {
    const auto [found, inserted] = index.emplace(entry.key, base.entries.size());
    if (inserted) {
      base.entries.push_back(entry);
    } else {
      base.entries[found->second].where = entry.where;
      TRY(merge_config(base.entries[found->second].value, entry.value));
    }
  }
  return {};
}

}  // namespace

Result<std::size_t> item_index(const std::string& text, std::size_t size, const SourcePos& where) {
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), index);
  const bool plain = is_number(text) && (text.size() == 1 || text.front() != '0');  // 03 may be meant as 3 or as text
  if (plain && code == std::errc() && index < size) return index;
  const std::string range =
      size == 0 ? "no item: the list is empty" : "an item number from 0 to " + std::to_string(size - 1);
  return Error{"found the item " + in_quotes(text) + ", expected " + range, where.text(), ""};
}

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
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return in_quotes(scalar);
    case Kind::sequence:
      return "a list of " + std::to_string(items.size());
    case Kind::map:
      return "a map";
  }
  return "";
}

Result<void> merge_config(ConfigNode& base, const ConfigNode& over) {
  const bool over_map = over.kind == ConfigNode::Kind::map;
  if (over_map && base.kind == ConfigNode::Kind::map) return merge_maps(base, over);
  if (over_map && base.kind == ConfigNode::Kind::sequence && !over.entries.empty()) return merge_items(base, over);
  base = over;
  return {};
}

}  // namespace distsim
