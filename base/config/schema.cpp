#include "base/config/schema.hpp"

#include <cmath>

#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_units.hpp"

namespace distsim::schema_detail {
namespace {

/// Adds key and position to an error of parse_quantity or parse_integer.
Error at(const ConfigNode& node, const std::string& path, const Error& e) {
  return {path + ": " + e.what, node.where.text(), e.hint};
}

std::string bound_text(double value, Dimension dimension, bool integer) {
  const bool whole = integer && std::abs(value) < 9e18;
  return whole ? std::to_string(static_cast<std::int64_t>(value)) : format_quantity(value, dimension);
}

struct Place {
  const ConfigNode* node;
  bool whole;  ///< the key itself is there, not only what would hold it
};

Place deepest_place(const ConfigNode& node, std::string_view key) {
  Place place{&node, true};
  while (!key.empty()) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    const ConfigNode* next = place.node->find(key.substr(0, dot));
    if (next == nullptr) return {place.node, false};
    place.node = next;
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return place;
}

/// 0: in the file of the section itself; 1: in another, which was laid on it; 2: with --set, which is laid on all files.
int laid_on(const ConfigNode& section, const SourcePos& where) {
  if (where.line == 0) return 2;
  const auto file = [](const SourcePos& at) { return at.file ? std::string_view(*at.file) : std::string_view(); };
  return file(where) == file(section.where) ? 0 : 1;
}

}  // namespace

Error expected(const ConfigNode& node, const std::string& path, const std::string& expectation,
               const std::string& hint) {
  return {path + ": found " + node.describe() + ", expected " + expectation, node.where.text(), hint};
}

Result<double> read_quantity(const ConfigNode& node, const std::string& path, Dimension dimension, Range range) {
  if (node.kind != ConfigNode::Kind::scalar) return expected(node, path, expected_quantity(dimension));
  const auto value = parse_quantity(node.scalar, dimension);
  if (!value) return at(node, path, value.error());
  if (!(*value >= range.min && *value <= range.max)) return expected(node, path, range_text(range, dimension, false));
  return value;
}

Result<std::int64_t> read_integer(const ConfigNode& node, const std::string& path, Range range) {
  if (node.kind != ConfigNode::Kind::scalar) return expected(node, path, "an integer");
  const auto value = parse_integer(node.scalar);
  if (!value) return at(node, path, value.error());
  const auto v = static_cast<double>(*value);
  if (!(v >= range.min && v <= range.max)) return expected(node, path, range_text(range, Dimension::none, true));
  return value;
}

Result<bool> read_bool(const ConfigNode& node, const std::string& path) {
  if (node.kind == ConfigNode::Kind::scalar && node.scalar == "true") return true;
  if (node.kind == ConfigNode::Kind::scalar && node.scalar == "false") return false;
  return expected(node, path, "true or false");
}

Result<std::string> read_string(const ConfigNode& node, const std::string& path) {
  if (node.kind != ConfigNode::Kind::scalar) return expected(node, path, "text");
  return node.scalar;
}

Error unknown_key(const ConfigNode::Entry& entry, const std::string& path, const std::vector<std::string>& known,
                  std::span<const MovedKey> moved) {
  for (const MovedKey& m : moved) {
    if (m.old_key == entry.key && m.new_key.empty())
      return {path + "." + entry.key + ": found a removed key, expected none", entry.where.text(), std::string(m.hint)};
    if (m.old_key == entry.key) {
      const std::string section = m.from == MovedKey::From::section ? path + "." : "";
      return {path + "." + entry.key + ": found an old key, expected " + section + std::string(m.new_key),
              entry.where.text(), std::string(m.hint)};
    }
  }
  return {path + "." + printable(entry.key) + ": found an unknown key, expected a key of " + path, entry.where.text(),
          spelling_hint(entry.key, known)};
}

SourcePos position_of(const ConfigNode& node, const std::string& message) {
  const std::string_view text = message;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const Place blamed = deepest_place(node, text.substr(0, colon));
  constexpr std::string_view kOfKeys = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  for (std::size_t at = text.find_first_of(kOfKeys, colon); at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(kOfKeys, at), text.size());
    const Place named = deepest_place(node, text.substr(at, end - at));
    const bool later = laid_on(node, named.node->where) > laid_on(node, blamed.node->where);
    if (named.whole && later) return named.node->where;
    at = text.find_first_of(kOfKeys, end);
  }
  return blamed.node->where;
}

std::string range_text(Range range, Dimension dimension, bool integer) {
  const bool has_min = range.min > -std::numeric_limits<double>::max();
  const bool has_max = range.max < (integer ? 9e18 : std::numeric_limits<double>::max());
  if (has_min && has_max)
    return bound_text(range.min, dimension, integer) + " .. " + bound_text(range.max, dimension, integer);
  if (has_min) return bound_text(range.min, dimension, integer) + " or more";
  return has_max ? bound_text(range.max, dimension, integer) + " or less" : "";
}

std::string dimension_name(Dimension dimension) {
  switch (dimension) {
    case Dimension::none:
      return "number";
    case Dimension::bytes:
      return "bytes";
    case Dimension::seconds:
      return "time";
    case Dimension::bytes_per_second:
      return "bytes/s";
    case Dimension::flops_per_second:
      return "FLOP/s";
    case Dimension::hertz:
      return "Hz";
    case Dimension::watts:
      return "W";
  }
  return "";
}

}  // namespace distsim::schema_detail
