#include "sim/study/idle/key_paths.hpp"

#include <algorithm>
#include <utility>

#include "sim/config/config_folders.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/config/reference.hpp"
#include "sim/config/variants.hpp"

namespace distsim::study::idle {
namespace {

/// Keys of longer lists are not looked at one by one: each takes predictions.
constexpr std::size_t kLongestList = 64;

bool is_list_of_maps(const ConfigNode& node) {
  return node.kind == ConfigNode::Kind::sequence && node.items.size() <= kLongestList &&
         std::ranges::all_of(node.items, [](const ConfigNode& item) { return item.kind == ConfigNode::Kind::map; });
}

/// What the file has at the end of a path that --set replaced; null where it has nothing there, or nothing was replaced.
const ConfigNode* replaced_at(const ConfigNode& root, const Path& path) {
  const ConfigNode *node = &root, *before = nullptr;
  for (const std::string& part : path) {
    node = find_at(*node, {part});
    if (node == nullptr) return nullptr;
    if (before != nullptr) before = find_at(*before, {part});
    if (node->before != nullptr) before = node->before.get();
  }
  return before;
}

/// As --set takes it.
std::string value_text(const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::scalar) return node.scalar;
  std::string out;
  for (const ConfigNode& item : node.items) out += (out.empty() ? "" : ", ") + value_text(item);
  for (const ConfigNode::Entry& e : node.entries) out += (out.empty() ? "" : ", ") + e.key + ": " + value_text(e.value);
  return node.kind == ConfigNode::Kind::map ? "{" + out + "}" : "[" + out + "]";
}

}  // namespace

std::string dotted(const Path& path) {
  std::string text;
  for (const std::string& part : path) text += (text.empty() ? "" : ".") + part;
  return text;
}

bool is_name(const Path& path) {
  const std::string& key = path.back();
  return config::is_for_people(key) || key == "name" || key == "aliases" || dotted(path) == "cluster.system";
}

void collect(const ConfigNode& node, Path& path, std::vector<Given>& out) {
  for (const ConfigNode::Entry& entry : node.entries) {
    path.push_back(entry.key);
    if (entry.value.kind == ConfigNode::Kind::map)
      collect(entry.value, path, out);
    else if (!is_name(path))
      out.push_back({path, &entry.value});
    for (std::size_t i = 0; is_list_of_maps(entry.value) && i < entry.value.items.size(); ++i) {
      path.push_back(std::to_string(i));
      collect(entry.value.items[i], path, out);
      path.pop_back();
    }
    path.pop_back();
  }
}

const ConfigNode* find_at(const ConfigNode& root, const Path& path) {
  const ConfigNode* node = &root;
  for (const std::string& part : path) {
    if (node->kind == ConfigNode::Kind::sequence) {
      const auto index = parse_integer(part);
      const bool there = index.ok() && *index >= 0 && static_cast<std::size_t>(*index) < node->items.size();
      node = there ? &node->items[static_cast<std::size_t>(*index)] : nullptr;
    } else {
      node = node->find(part);
    }
    if (node == nullptr) return nullptr;
  }
  return node;
}

ConfigNode* find_at(ConfigNode& root, const Path& path) {
  return const_cast<ConfigNode*>(find_at(std::as_const(root), path));
}

ConfigNode without(const ConfigNode& root, const Path& path) {
  ConfigNode out = root;
  if (const ConfigNode* before = replaced_at(root, path)) {
    *find_at(out, path) = *before;
    return out;
  }
  ConfigNode* node = find_at(out, {path.begin(), path.end() - 1});
  std::erase_if(node->entries, [&](const ConfigNode::Entry& e) { return e.key == path.back(); });
  return out;
}

ConfigNode with_own_model(const ConfigNode& parsed, const config::Experiment& experiment) {
  const ConfigNode& merged = experiment.merged;
  const ConfigNode *model = parsed.find("model"), *whole = merged.find("model");
  const bool named = model != nullptr && model->find("name") != nullptr;
  if (!named || experiment.model_file.empty() || config::is_shipped(experiment.model_file)) return parsed;
  ConfigNode out = parsed;
  *out.find("model") = *whole;
  std::erase_if(out.find("model")->entries, [](const ConfigNode::Entry& e) { return e.key == "name"; });
  std::erase_if(out.entries, [](const ConfigNode::Entry& e) { return e.key == "parallel"; });
  if (const ConfigNode* layout = merged.find("parallel")) out.entries.push_back({"parallel", layout->where, *layout});
  return out;
}

Path path_of(const std::string& key) {
  Path out;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t dot = std::min(key.find('.', begin), key.size());
    out.push_back(key.substr(begin, dot - begin));
    begin = dot + 1;
  }
  return out;
}

std::vector<SetKey> keys_of(const std::string& set) {
  std::vector<SetKey> out;
  std::vector<Given> held;
  if (const auto parsed = config::parse_set(set); parsed.ok() && parsed->value.kind == ConfigNode::Kind::map) {
    Path path = parsed->path;
    collect(parsed->value, path, held);
    for (const Given& key : held) out.push_back({key.path, dotted(key.path) + "=" + value_text(*key.value)});
  }
  if (out.empty()) out.push_back({path_of(std::string(config::key_of_set(set))), set});
  return out;
}

bool is_inside(const Path& key, const Path& of) {
  return key.size() > of.size() && std::equal(of.begin(), of.end(), key.begin());
}

bool is_replaced(const std::string& set, const SetKey& own, const std::vector<std::string>& sets) {
  const auto at = std::ranges::find(sets, set);
  return at != sets.end() && std::any_of(at + 1, sets.end(), [&](const std::string& later) {
           return config::is_of_key(own.set, config::key_of_set(later));
         });
}

}  // namespace distsim::study::idle
