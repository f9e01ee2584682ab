#include "sim/web/answers/vocabulary.hpp"

#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "base/config/schema.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/config/reference.hpp"
#include "sim/study/plan/experiment_file.hpp"

namespace distsim::web {
namespace {

using Json = nlohmann::json;

constexpr std::array kDimensions{
    Dimension::none,  Dimension::bytes, Dimension::seconds, Dimension::bytes_per_second, Dimension::flops_per_second,
    Dimension::hertz, Dimension::watts};

std::optional<Dimension> dimension_of_type(std::string_view type) {
  if (type.starts_with("map to ")) type.remove_prefix(7);
  if (type == "integer") return Dimension::none;
  for (const Dimension d : kDimensions) {
    if (type == schema_detail::dimension_name(d)) return d;
  }
  return std::nullopt;
}

std::optional<double> number_of(std::string_view text, std::optional<Dimension> dimension) {
  if (!dimension) return std::nullopt;
  const Result<double> value = parse_quantity(text, *dimension);
  if (value.ok() && std::isfinite(*value)) return *value;
  const Result<std::int64_t> whole =
      *dimension == Dimension::none ? parse_integer(text) : Result<std::int64_t>(Error{});
  return whole.ok() ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

/// "1 .. 1024", "1 or more", "5 or less".
void add_bounds(Json& key, const std::string& range, std::optional<Dimension> dimension) {
  const auto put = [&](const char* name, std::string_view text) {
    if (const auto value = number_of(text, dimension)) key[name] = *value;
  };
  if (const std::size_t dots = range.find(" .. "); dots != std::string::npos) {
    put("min", std::string_view(range).substr(0, dots));
    put("max", std::string_view(range).substr(dots + 4));
  } else if (range.ends_with(" or more")) {
    put("min", std::string_view(range).substr(0, range.size() - 8));
  } else if (range.ends_with(" or less")) {
    put("max", std::string_view(range).substr(0, range.size() - 8));
  }
}

Json choices_of(const std::string& type) {
  constexpr std::string_view kOneOf = "one of ";
  if (type == "true or false") return {"true", "false"};
  Json out = Json::array();
  if (!type.starts_with(kOneOf)) return out;
  for (std::size_t begin = kOneOf.size(); begin < type.size();) {
    const std::size_t comma = std::min(type.find(", ", begin), type.size());
    out.push_back(type.substr(begin, comma - begin));
    begin = comma + 2;
  }
  return out;
}

Json key_json(const FieldDoc& doc) {
  Json key{{"key", doc.key}, {"type", doc.type}, {"range", doc.range}, {"default", doc.fallback}, {"doc", doc.doc}};
  add_bounds(key, doc.range, dimension_of_type(doc.type));
  if (Json choices = choices_of(doc.type); !choices.empty()) key["choices"] = std::move(choices);
  return key;
}

/// A file that cannot be read stays in the list, with the reason.
template <class T>
Json entry_json(const std::string& name, const Result<T>& read, std::string T::*text) {
  return {{"name", name}, {"text", read.ok() ? (*read).*text : read.error().text()}, {"ok", read.ok()}};
}

template <class T>
Json list_of(const std::string& kind, Result<T> (*load)(const std::string&), std::string T::*text) {
  Json out = Json::array();
  for (const std::string& name : config::names_in(kind)) out.push_back(entry_json(name, load(name), text));
  return out;
}

using Dimensions = std::map<std::string, Dimension, std::less<>>;

Dimensions dimensions_of_keys() {
  Dimensions out;
  for (const config::ReferenceSection& section : config::reference_sections()) {
    for (const FieldDoc& doc : section.keys) {
      if (const auto d = dimension_of_type(doc.type)) out.emplace(doc.key, *d);
    }
  }
  return out;
}

std::optional<Dimension> dimension_of_key(const Dimensions& known, std::string_view key) {
  if (const auto it = known.find(key); it != known.end()) return it->second;
  const auto above = known.find(key.substr(0, std::min(key.rfind('.'), key.size())));  // of a map to quantities
  return above == known.end() ? std::nullopt : std::optional(above->second);
}

bool is_short_list(const ConfigNode& node) {
  constexpr std::size_t kMostItems = 64;
  return node.kind == ConfigNode::Kind::sequence && node.items.size() <= kMostItems &&
         std::ranges::all_of(node.items, [](const ConfigNode& i) { return i.kind == ConfigNode::Kind::scalar; });
}

void add_values(const ConfigNode& node, const std::string& path, const Dimensions& known, Json& out) {
  if (node.kind == ConfigNode::Kind::map) {
    for (const ConfigNode::Entry& entry : node.entries)
      add_values(entry.value, path.empty() ? entry.key : path + "." + entry.key, known, out);
    return;
  }
  const bool scalar = node.kind == ConfigNode::Kind::scalar;
  if (!scalar && !is_short_list(node)) return;
  std::string text = scalar ? node.scalar : study::yaml_of(node);
  if (text.ends_with('\n')) text.pop_back();
  const auto number = scalar ? number_of(node.scalar, dimension_of_key(known, path)) : std::nullopt;
  Json value{std::move(text), node.where.text()};
  if (number) value.push_back(*number);
  out[path] = std::move(value);
}

}  // namespace

Json vocabulary_json() {
  Json sections = Json::array();
  for (const config::ReferenceSection& section : config::reference_sections()) {
    Json keys = Json::array();
    for (const FieldDoc& doc : section.keys) keys.push_back(key_json(doc));
    sections.push_back({{"name", section.name}, {"doc", section.doc}, {"keys", std::move(keys)}});
  }
  return {{"sections", std::move(sections)}};
}

Json lists_json() {
  return {{"systems", list_of("systems", config::load_system, &topology::ClusterSpec::description)},
          {"models", list_of("models", config::load_model, &workload::ModelSpec::description)},
          {"frameworks", list_of("frameworks", config::load_framework, &workload::FrameworkSpec::source)}};
}

Json values_json(const ConfigNode& merged) {
  static const Dimensions known = dimensions_of_keys();
  Json out = Json::object();
  add_values(merged, "", known, out);
  return out;
}

}  // namespace distsim::web
