#include "sim/study/idle/key_values.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/text/quantity_text.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/config/reference.hpp"

namespace distsim::study::idle {
namespace {

bool same_number(const std::string& a, const std::string& b) {
  for (const Dimension d : {Dimension::none, Dimension::bytes, Dimension::seconds, Dimension::bytes_per_second,
                            Dimension::flops_per_second, Dimension::hertz, Dimension::watts}) {
    const auto x = parse_quantity(a, d), y = parse_quantity(b, d);
    if (x.ok() && y.ok() && *x == *y) return true;
  }
  return false;
}

bool same_value(const ConfigNode& a, const ConfigNode& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size() || a.entries.size() != b.entries.size()) return false;
  if (a.kind == ConfigNode::Kind::scalar) return a.scalar == b.scalar || same_number(a.scalar, b.scalar);
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same_value(a.items[i], b.items[i])) return false;
  }
  for (const ConfigNode::Entry& entry : a.entries) {
    const ConfigNode* other = b.find(entry.key);
    if (other == nullptr || !same_value(entry.value, *other)) return false;
  }
  return true;
}

/// As the reference writes the default of a list of scalars.
std::string list_text(const ConfigNode& list) {
  std::string out;
  for (const ConfigNode& item : list.items) out += (out.empty() ? "[" : ", ") + item.scalar;
  return out.empty() ? "empty" : out + "]";
}

/// The number at the start of a text and where it ends; nothing where it is zero, infinite or none.
std::optional<std::pair<double, std::size_t>> leading_number(const std::string& text) {
  double value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value == 0) return std::nullopt;
  return std::pair{value, static_cast<std::size_t>(at - text.data())};
}

}  // namespace

std::string reference_key(const Path& path) {
  std::string text;
  for (const std::string& part : path) {
    const bool index = part.find_first_not_of("0123456789") == std::string::npos;
    text += index ? "[]" : (text.empty() ? "" : ".") + part;
  }
  return text;
}

Path merged_place(const Path& path) {
  const std::string key = dotted(path);
  return {path.begin() + (config::plain_key(key).size() < key.size() ? 1 : 0), path.end()};
}

bool repeats(const Given& given, const ConfigNode& rest) {
  if (const ConfigNode* held = find_at(rest, merged_place(given.path))) return same_value(*given.value, *held);
  const std::string fallback = config::default_of(reference_key(given.path));
  if (given.value->kind == ConfigNode::Kind::sequence) return list_text(*given.value) == fallback;
  if (given.value->kind == ConfigNode::Kind::map) return fallback == "empty" && given.value->entries.empty();
  return given.value->scalar == fallback || same_number(given.value->scalar, fallback);
}

bool replaces_automatic(const Given& given, const ConfigNode& rest) {
  if (given.value->kind != ConfigNode::Kind::scalar) return false;
  const ConfigNode* held = find_at(rest, merged_place(given.path));
  return (held != nullptr ? held->scalar : config::default_of(reference_key(given.path))) == kAutomatic;
}

std::optional<ConfigNode> scaled(const ConfigNode& root, const Path& path, double factor) {
  ConfigNode out = root;
  ConfigNode* node = find_at(out, path);
  if (node == nullptr || node->kind != ConfigNode::Kind::scalar) return std::nullopt;
  const auto number = leading_number(node->scalar);
  if (!number) return std::nullopt;
  double value = factor * number->first;
  const bool may_be_integer = number->second == node->scalar.size();  // quantities with units are not
  if (may_be_integer && number->first == std::floor(number->first)) value = std::floor(value);
  if (value == 0) return std::nullopt;
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  node->scalar = digits + node->scalar.substr(number->second);
  return out;
}

bool replaces_number(const Given& given, const ConfigNode& rest) {
  if (given.value->kind != ConfigNode::Kind::scalar || !leading_number(given.value->scalar)) return false;
  const ConfigNode* held = find_at(rest, merged_place(given.path));
  if (held != nullptr && held->kind != ConfigNode::Kind::scalar) return false;
  const auto number = leading_number(held != nullptr ? held->scalar : config::default_of(reference_key(given.path)));
  return number && number->first > 0;
}

}  // namespace distsim::study::idle
