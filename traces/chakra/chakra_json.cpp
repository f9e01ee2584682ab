// Chakra's JSON forms. Keys differ in case and underscores between writers: "NodeType", "type"; "ctrlDeps",
// "ctrl_deps"; "runtime", "durationMicros".
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/json/parse_once.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "traces/chakra/chakra_parts.hpp"
#include "traces/files/json_scan.hpp"

namespace distsim::traces {
namespace {

using nlohmann::json;

/// Lower case, without underscores.
std::string plain(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c != '_') out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return out;
}

/// A whole number of 64 bits; protocol buffers print 64-bit integers as strings.
std::optional<std::int64_t> whole_number(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return exact_integer(value.get<double>());
  return value.is_string() ? exact_integer(value.get_ref<const std::string&>()) : std::nullopt;
}

bool read_count(const json& value, std::int64_t& out) {
  const auto number = whole_number(value);
  if (number) out = *number;
  return number.has_value();
}

/// As a message names it.
std::string as_written(const json& value) {
  constexpr std::size_t kMostPrinted = 60;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  return printable(value.dump(-1, ' ', false, json::error_handler_t::replace), kMostPrinted);
}

ChakraAttribute attribute_of(std::string_view name, const json& value) {
  ChakraAttribute out;
  out.name = name;
  out.number = whole_number(value);
  out.is_truth = value.is_boolean();
  if (value.is_string()) out.text = value.get_ref<const std::string&>();
  out.as_written = as_written(value);
  return out;
}

bool read_kind(const json& value, ChakraKind& out) {
  std::int64_t number = -1;
  if (!read_count(value, number) && value.is_string()) {
    number =
        std::find(kChakraKinds.begin(), kChakraKinds.end(), value.get_ref<const std::string&>()) - kChakraKinds.begin();
  }
  if (number < 0 || number >= static_cast<std::int64_t>(kChakraKinds.size())) return false;
  out = static_cast<ChakraKind>(number);
  return true;
}

Error wrong(const std::string& key, const json& value, const std::string& expected) {
  return {key + ": found " + std::string(value.type_name()) + ", expected " + expected, "", ""};
}

class JsonNode {
 public:
  JsonNode(const json& value, ChakraBuilder& builder) : value_(value), builder_(builder), attributes_(builder, node_) {}

  Result<void> read() {
    for (const auto& [key, value] : value_.items()) {
      if (plain(key) == "type" || plain(key) == "nodetype") {  // other keys mean what the kind says
        if (!read_kind(value, node_.kind)) return wrong(key, value, "a node type from 0 to 7");
      }
    }
    for (const auto& [key, value] : value_.items()) TRY(take(key, plain(key), value));
    if (const auto attributes = value_.find("attr"); attributes != value_.end()) TRY(take_attributes(*attributes));
    return builder_.add(node_);
  }

 private:
  Result<void> take(const std::string& key, const std::string& name, const json& value) {
    std::int64_t number = 0;
    if (name == "ctrldeps" || name == "datadeps") return take_deps(key, name == "ctrldeps", value);
    if (name == "type" || name == "nodetype" || name == "attr") return {};  // first and last: see read
    if (name == "inputs") {
      if (node_.kind == ChakraKind::metadata)
        return add_process_groups(builder_, value.dump(-1, ' ', false, json::error_handler_t::replace));
      return {};
    }
    if (name == "name") {
      if (!value.is_string()) return wrong(key, value, "text");
      node_.name = builder_.intern(value.get_ref<const std::string&>());
      return {};
    }
    if (name == "id" || name == "runtime" || name == "durationmicros") {
      if (!read_count(value, number) || number < 0) return wrong(key, value, "a count");
      name == "id" ? void(node_.id = static_cast<std::uint64_t>(number)) : set_micros(node_, number);
      return {};
    }
    return attributes_.apply(attribute_of(key, value));
  }

  Result<void> take_deps(const std::string& key, bool control, const json& list) {
    if (!list.is_array()) return wrong(key, list, "a list of ids");
    for (const json& entry : list) {
      std::int64_t id = 0;
      if (!read_count(entry, id) || id < 0) return wrong(key, entry, "an id");
      control ? builder_.add_control_dep(static_cast<std::uint64_t>(id))
              : builder_.add_data_dep(static_cast<std::uint64_t>(id));
    }
    return {};
  }

  /// [{"name": "comm_size", "int64Val": "1048576"}, ..]
  Result<void> take_attributes(const json& list) {
    if (!list.is_array()) return wrong("attr", list, "a list of attributes");
    for (const json& entry : list) {
      const auto name = entry.is_object() ? entry.find("name") : entry.end();
      if (!entry.is_object() || name == entry.end() || !name->is_string())
        return wrong("attr", entry, "an attribute with a name");
      const auto& named = name->get_ref<const std::string&>();
      const json* found = nullptr;
      for (const auto& [key, value] : entry.items()) {
        if (key == "name" || key == "docString" || key == "doc_string") continue;
        if (found != nullptr)
          return Error{named + ": found " + as_written(*found) + " and " + as_written(value) + ", expected one value",
                       "", ""};
        found = &value;
      }
      if (found != nullptr) TRY(attributes_.apply(attribute_of(named, *found)));
    }
    return {};
  }

  const json& value_;
  ChakraBuilder& builder_;
  ChakraNode node_;
  ChakraAttributes attributes_;
};

Result<void> add_node(ChakraBuilder& builder, const json& value, std::size_t place) {
  const std::string name = "node " + std::to_string(place);
  if (!value.is_object()) return wrong(name, value, "an object");
  const auto added = JsonNode(value, builder).read();
  return added ? Result<void>() : Error{name + ": " + added.error().what, "", ""};
}

/// A message printed by itself: metadata, or a node.
Result<void> add_message(ChakraBuilder& builder, const json& value, std::size_t place) {
  const bool metadata = place == 0 && value.is_object() && !value.contains("type") && !value.contains("NodeType");
  if (!metadata) return add_node(builder, value, place);
  if (const auto version = value.find("version"); version != value.end() && version->is_string()) {
    builder.set_version(version->get<std::string>());
    return {};
  }
  builder.old_layout();
  return {};
}

}  // namespace

Result<ChakraGraph> read_chakra_json(std::string_view text) {
  ChakraBuilder builder;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto skip_blanks = [&] {
    at = std::find_if(at, end, [](char c) { return !std::isspace(static_cast<unsigned char>(c)); });
  };
  skip_blanks();
  for (std::size_t place = 0; at != end; ++place, skip_blanks()) {
    const char* const after = JsonScan().advance(at, end);
    std::string twice;
    bool too_many = false;
    const json value = parse_once(std::string(at, after == nullptr ? end : after), twice, &too_many);
    if (too_many) return Error{"value " + std::to_string(place) + ": " + too_many_json_values(), "", ""};
    if (value.is_discarded())
      return Error{"value " + std::to_string(place) + ": found no JSON, expected a Chakra trace", "", ""};
    if (!twice.empty())
      return Error{
          "value " + std::to_string(place) + ": found '" + printable(twice) + "' twice in one object, expected it once",
          "", ""};
    at = after == nullptr ? end : after;
    const auto graph = value.is_object() ? value.find("workload_graph") : value.end();
    if (!value.is_object() || graph == value.end()) {
      TRY(add_message(builder, value, place));
      continue;
    }
    builder.old_layout();
    if (!graph->is_array()) return wrong("workload_graph", *graph, "a list of nodes");
    std::size_t n = 0;
    for (const json& node : *graph) TRY(add_node(builder, node, n++));
  }
  return std::move(builder).finish();
}

}  // namespace distsim::traces
