#include "sim/web/answers/yaml_edit.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/config/config_node.hpp"
#include "base/config/config_path.hpp"
#include "sim/study/plan/experiment_file.hpp"

namespace distsim::web {
namespace {

/// The deepest part of a path that a tree has.
struct Reached {
  const ConfigNode* node = nullptr;
  const ConfigNode* parent = nullptr;
  const ConfigNode::Entry* entry = nullptr;  ///< of `parent`
  std::size_t depth = 0;
};

Reached reach(const ConfigNode& root, const std::vector<std::string>& path) {
  Reached out{&root, nullptr, nullptr, 0};
  while (out.depth < path.size() && out.node->kind == ConfigNode::Kind::map) {
    const auto it = std::ranges::find(out.node->entries, path[out.depth], &ConfigNode::Entry::key);
    if (it == out.node->entries.end()) break;
    out = {&it->value, out.node, &*it, out.depth + 1};
  }
  return out;
}

std::vector<std::string> parts_of(std::string_view key) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t dot = std::min(key.find('.', begin), key.size());
    out.emplace_back(key.substr(begin, dot - begin));
    begin = dot + 1;
  }
  return out;
}

std::optional<std::size_t> offset_of(std::string_view text, const SourcePos& where) {
  if (where.line <= 0 || where.column <= 0) return std::nullopt;
  std::size_t at = 0;
  for (int line = 1; line < where.line; ++line) {
    at = text.find('\n', at);
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
  }
  at += static_cast<std::size_t>(where.column) - 1;
  return at <= text.size() ? std::optional(at) : std::nullopt;
}

/// Bytes of the text of a scalar on one line, as it was written; nothing where that cannot be told.
std::optional<std::size_t> written_length(std::string_view text, std::size_t at, const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::scalar) return std::nullopt;
  if (!node.quoted)
    return text.substr(at).starts_with(node.scalar) && !node.scalar.empty() ? std::optional(node.scalar.size())
                                                                            : std::nullopt;
  const char quote = at < text.size() ? text[at] : ' ';
  if (quote != '\'' && quote != '"') return std::nullopt;
  const std::size_t end = text.find_first_of(std::string("\n\\") + quote, at + 1);
  if (end == std::string_view::npos || text[end] != quote || text.substr(end + 1).starts_with(quote))
    return std::nullopt;
  return end + 1 - at;
}

std::size_t line_begin(std::string_view text, std::size_t at) {
  const std::size_t feed = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return feed == std::string_view::npos ? 0 : feed + 1;
}

bool begins_line(std::string_view text, std::size_t at) {
  const std::size_t begin = line_begin(text, at);
  return text.substr(begin, at - begin).find_first_not_of(' ') == std::string_view::npos;
}

/// The map's last entry where every entry of it, and of maps within, begins its own line; else nothing.
std::optional<std::size_t> end_of_block(std::string_view text, const ConfigNode& map) {
  std::size_t end = 0;
  for (const ConfigNode::Entry& entry : map.entries) {
    const auto at = offset_of(text, entry.where);
    if (!at || !begins_line(text, *at)) return std::nullopt;
    const bool deeper = entry.value.kind == ConfigNode::Kind::map && !entry.value.entries.empty();
    const auto inner = deeper ? end_of_block(text, entry.value) : std::nullopt;
    const std::size_t feed = text.find('\n', *at);
    end = std::max(end, inner ? *inner : feed == std::string_view::npos ? text.size() : feed + 1);
  }
  return end;
}

/// "b: {c: 8}" of the path a.b.c below a.
std::string flow_of(const std::vector<std::string>& path, std::size_t from, const std::string& value) {
  std::string out = path[from] + ": ";
  for (std::size_t i = from + 1; i < path.size(); ++i) out += "{" + path[i] + ": ";
  return out + value + std::string(path.size() - from - 1, '}');
}

/// "b:\n    c: 8\n" of the same, in lines.
std::string block_of(const std::vector<std::string>& path, std::size_t from, const std::string& value,
                     std::size_t indent) {
  std::string out;
  for (std::size_t i = from; i < path.size(); ++i, indent += 2)
    out += std::string(indent, ' ') + path[i] + ":" + (i + 1 == path.size() ? " " + value : "") + "\n";
  return out;
}

std::optional<std::string> inserted(std::string text, const ConfigNode& map, const std::vector<std::string>& path,
                                    std::size_t depth, const std::string& value) {
  if (map.entries.empty()) {
    if (depth > 0) return std::nullopt;
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    return text + block_of(path, 0, value, 0);
  }
  const auto first = offset_of(text, map.entries.front().where);
  if (!first) return std::nullopt;
  if (!begins_line(text, *first)) return text.insert(*first, flow_of(path, depth, value) + ", ");
  const auto end = end_of_block(text, map);
  if (!end) return std::nullopt;
  const bool open = *end == text.size() && !text.ends_with('\n');
  const std::size_t indent = *first - line_begin(text, *first);
  return text.insert(*end, (open ? "\n" : "") + block_of(path, depth, value, indent));
}

/// The change made in place, if that can be done; not checked.
std::optional<std::string> in_place(std::string text, const ConfigNode& root, const Edit& edit) {
  const std::vector<std::string> path = parts_of(edit.key);
  const Reached there = reach(root, path);
  if (there.depth < path.size()) {
    if (there.node->kind != ConfigNode::Kind::map) return std::nullopt;
    return inserted(std::move(text), *there.node, path, there.depth, *edit.value);
  }
  const auto at = offset_of(text, there.node->where);
  const auto length = at ? written_length(text, *at, *there.node) : std::nullopt;
  if (!length) return std::nullopt;
  if (edit.value) return text.replace(*at, *length, *edit.value);
  const auto key = offset_of(text, there.entry->where);
  if (!key || !begins_line(text, *key) || there.parent->entries.size() < 2) return std::nullopt;
  const std::size_t feed = text.find('\n', *key), begin = line_begin(text, *key);
  return text.erase(begin, feed == std::string::npos ? std::string::npos : feed + 1 - begin);
}

/// Maps that lose their last key go too.
void take_out(ConfigNode& map, const std::vector<std::string>& path, std::size_t depth) {
  const auto it = std::ranges::find(map.entries, path[depth], &ConfigNode::Entry::key);
  if (it == map.entries.end()) return;
  if (depth + 1 < path.size()) take_out(it->value, path, depth + 1);
  if (depth + 1 == path.size() || it->value.entries.empty()) map.entries.erase(it);
}

Result<std::string> with_edit(std::string text, const std::string& file, const Edit& edit) {
  TRY_ASSIGN(const ConfigNode root, parse_yaml(text, file));
  ConfigNode wanted = root;
  if (edit.value) {
    TRY(set_config_path(wanted, edit.key, *edit.value, edit.key));
  } else {
    const std::vector<std::string> path = parts_of(edit.key);
    if (reach(root, path).depth < path.size()) return text;
    take_out(wanted, path, 0);
  }
  const std::string meant = study::yaml_of(wanted);
  if (auto changed = in_place(text, root, edit)) {
    const auto read = parse_yaml(*changed, file);
    const auto same = [&](const ConfigNode& now) {
      const std::string found = study::yaml_of(now);  // the order of keys may differ where one was added
      return found == meant || (found.size() == meant.size() && std::ranges::is_permutation(found, meant));
    };
    if (read.ok() && same(*read)) return std::move(*changed);
  }
  return meant;
}

}  // namespace

Result<std::string> edited(std::string text, const std::string& file, const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) {
    TRY_ASSIGN(text, with_edit(std::move(text), file, edit));
  }
  return text;
}

}  // namespace distsim::web
