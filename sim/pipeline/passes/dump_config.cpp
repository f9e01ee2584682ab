// Text of a configuration tree, for --dump-after=parse and resolve.
#include <algorithm>

#include "base/text/printable.hpp"
#include "sim/pipeline/passes/dump.hpp"

namespace distsim::pipeline {
namespace {

constexpr std::size_t kCommentColumn = 48;
constexpr std::size_t kShown = 200;  // bytes of one value; a dump is for people

bool needs_quotes(const ConfigNode& node) {
  static constexpr std::string_view kPlain = "_-./+ ()%*^~=<>;!?@$|";
  const bool plain = std::all_of(node.scalar.begin(), node.scalar.end(), [](char c) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return word || kPlain.find(c) != std::string_view::npos;
  });
  const bool starts_plain =
      !node.scalar.empty() && (std::isalnum(static_cast<unsigned char>(node.scalar[0])) || node.scalar[0] == '/');
  return node.quoted || !plain || !starts_plain || node.scalar.back() == ' ';
}

std::string scalar_text(const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::null) return "~";
  if (!needs_quotes(node)) return printable(node.scalar, kShown);
  std::string out = "\"";
  for (const char c : printable(node.scalar, kShown))
    out += (c == '"' || c == '\\') ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

bool is_leaf(const ConfigNode& node) {
  return node.kind == ConfigNode::Kind::null || node.kind == ConfigNode::Kind::scalar;
}

bool is_flat_list(const ConfigNode& node) {
  return node.kind == ConfigNode::Kind::sequence && std::all_of(node.items.begin(), node.items.end(), is_leaf);
}

std::string flow_list(const ConfigNode& node) {
  std::string out = "[";
  for (const ConfigNode& item : node.items) out += (out.size() > 1 ? ", " : "") + scalar_text(item);
  return out + "]";
}

std::string with_origin(std::string line, const ConfigNode& node) {
  const std::string where = node.where.text();
  if (where.empty()) return line + "\n";
  line.resize(std::max(line.size() + 2, kCommentColumn), ' ');
  return line + "# " + where + "\n";
}

void write_children(std::string& out, const ConfigNode& node, const std::string& indent);

/// `head` is the indentation with "key:" or "-".
void write_value(std::string& out, const ConfigNode& node, const std::string& head, const std::string& indent) {
  if (is_leaf(node)) {
    out += with_origin(head + " " + scalar_text(node), node);
  } else if (is_flat_list(node)) {
    out += with_origin(head + " " + flow_list(node), node);
  } else if (node.entries.empty() && node.items.empty()) {
    out += with_origin(head + " {}", node);
  } else {
    out += head + "\n";
    write_children(out, node, indent + "  ");
  }
}

void write_children(std::string& out, const ConfigNode& node, const std::string& indent) {
  for (const ConfigNode::Entry& entry : node.entries)
    write_value(out, entry.value, indent + printable(entry.key, kShown) + ":", indent);
  for (const ConfigNode& item : node.items) write_value(out, item, indent + "-", indent);
}

}  // namespace

std::string dump(const ConfigNode& node) {
  std::string out;
  if (is_leaf(node)) return with_origin(scalar_text(node), node);
  write_children(out, node, "");
  return out;
}

}  // namespace distsim::pipeline
