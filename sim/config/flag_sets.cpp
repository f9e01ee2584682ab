#include "sim/config/flag_sets.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/log.hpp"
#include "base/text/printable.hpp"
#include "sim/config/variants.hpp"

namespace distsim::config {

std::string single_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

FlagSet curves_flag(const std::vector<std::string>& files) {
  FlagSet out{"--curves", "collectives.curve_files", ""};
  for (const std::string& file : files) {
    out.flag += " " + file;
    out.value += (out.value.empty() ? "[" : ", ") + single_quoted(file);
  }
  out.value += "]";
  return out;
}

std::vector<std::string> with_flags(std::vector<std::string> sets, const std::vector<FlagSet>& flags) {
  for (const FlagSet& flag : flags) {
    std::erase_if(sets, [&](const std::string& set) {
      if (!is_of_key(set, flag.key)) return false;
      log_warn(
          [&] { return "--set " + printable(set, 200) + ": no effect, replaced by " + printable(flag.flag, 200); });
      return true;
    });
    sets.push_back(flag.key + "=" + flag.value);
  }
  return sets;
}

bool is_of_key(std::string_view set, std::string_view key) {
  const std::string_view own = key_of_set(set);
  return own == key || (own.starts_with(key) && own[key.size()] == '.');
}

namespace {

bool gives_as_written(const std::string& set, std::string_view key) {
  if (is_of_key(set, key)) return true;
  const std::string_view own = key_of_set(set);
  if (!key.starts_with(own) || key[own.size()] != '.') return false;
  const Result<PathValue> value = parse_set(set);
  return value.ok() && node_at(value->value, key.substr(own.size() + 1)) != nullptr;
}

void add_places(const ConfigNode& node, const std::string& key, std::vector<std::string>& out) {
  const auto add = [&](const std::string& name, const ConfigNode& value) {
    const std::string place = key + "." + name;
    out.emplace_back(plain_key(place));
    add_places(value, place, out);
  };
  for (const ConfigNode::Entry& entry : node.entries) add(entry.key, entry.value);
  for (std::size_t i = 0; i < node.items.size(); ++i) add(std::to_string(i), node.items[i]);
}

/// Whether a map has entries, each of which, or all in it, passes.
template <class Test>
bool all_entries(const ConfigNode& node, const std::string& key, const Test& test) {
  return !node.entries.empty() && std::ranges::all_of(node.entries, [&](const ConfigNode::Entry& entry) {
    const std::string place = key + "." + entry.key;
    return test(place) || all_entries(entry.value, place, test);
  });
}

}  // namespace

std::string_view plain_key(std::string_view key) {
  constexpr std::string_view kModel = "model.";
  const bool is_layout = key.starts_with(kModel) && is_of_key(key.substr(kModel.size()), "parallel");
  return is_layout ? key.substr(kModel.size()) : key;
}

bool gives(const std::string& set, std::string_view key) {
  const std::string_view plain = plain_key(key);
  return gives_as_written(set, plain) ||
         (is_of_key(plain, "parallel") && gives_as_written(set, "model." + std::string(plain)));
}

bool may_hold_keys(std::string_view value) { return value.find_first_of("{[:") != std::string_view::npos; }

std::vector<std::string> places_of(const std::string& set) {
  std::vector<std::string> out;
  const std::string_view own = key_of_set(set);
  for (std::size_t dot = own.find('.'); dot != std::string_view::npos; dot = own.find('.', dot + 1))
    out.emplace_back(plain_key(own.substr(0, dot)));
  out.emplace_back(plain_key(own));
  if (!may_hold_keys(std::string_view(set).substr(own.size()))) return out;
  if (const Result<PathValue> value = parse_set(set); value.ok()) add_places(value->value, std::string(own), out);
  return out;
}

bool replace_all(const std::vector<std::string>& sets, const std::string& set) {
  const auto replaced = [&](std::string_view place) {
    return std::ranges::any_of(sets, [&](const std::string& by) { return is_of_key(place, key_of_set(by)); });
  };
  const std::string key(key_of_set(set));
  if (replaced(key)) return true;
  const Result<PathValue> value = parse_set(set);
  return value.ok() && all_entries(value->value, key, replaced);
}

bool any_gives(const std::vector<std::string>& sets, std::string_view key) {
  return std::ranges::any_of(sets, [&](const std::string& set) { return gives(set, key); });
}

std::string_view key_of_set(std::string_view set) { return set.substr(0, set.find('=')); }

std::string ReplacedSet::why() const { return "no effect, replaced by --set " + printable(by, 200); }

std::vector<ReplacedSet> replaced_sets(const std::vector<std::string>& sets) {
  std::vector<ReplacedSet> out;
  std::unordered_map<std::string_view, std::size_t> later;  // by key, the last one
  for (std::size_t i = sets.size(); i-- > 0;) {
    const std::string_view key = key_of_set(sets[i]);
    std::size_t by = i;
    for (std::size_t end = key.find('.');; end = key.find('.', end + 1)) {
      if (const auto found = later.find(key.substr(0, end)); found != later.end()) by = std::max(by, found->second);
      if (end == key.npos) break;
    }
    if (by > i) out.push_back({sets[i], sets[by]});
    later.try_emplace(key, i);
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace distsim::config
