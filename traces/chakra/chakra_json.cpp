// Chakra's JSON forms. Keys differ in case and underscores between writers: "NodeType", "type"; "ctrlDeps",
// "ctrl_deps"; "runtime", "durationMicros".
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

#include "base/json/json.hpp"
#include "traces/chakra/chakra_parts.hpp"

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

/// A count; protocol buffers print 64-bit integers as strings.
bool read_count(const json& value, std::int64_t& out) {
  if (value.is_boolean()) {
    out = value.get<bool>() ? 1 : 0;
    return true;
  }
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return false;
  if (value.is_number_integer()) {
    out = value.get<std::int64_t>();
    return true;
  }
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (!(number >= 0 && number < 9e18)) return false;
    if (number != std::floor(number)) return false;
    out = static_cast<std::int64_t>(number);
    return true;
  }
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
  return end.ec == std::errc() && end.ptr == text.data() + text.size() && !text.empty();
}

bool read_kind(const json& value, ChakraKind& out) {
  static constexpr std::array<std::string_view, 8> kNames{"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                                          "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                                          "COMM_RECV_NODE", "COMM_COLL_NODE"};
  std::int64_t number = -1;
  if (!read_count(value, number) && value.is_string()) {
    number = std::find(kNames.begin(), kNames.end(), value.get_ref<const std::string&>()) - kNames.begin();
  }
  if (number < 0 || number >= static_cast<std::int64_t>(kNames.size())) return false;
  out = static_cast<ChakraKind>(number);
  return true;
}

Error wrong(const std::string& key, const json& value, const std::string& expected) {
  return {key + ": found " + std::string(value.type_name()) + ", expected " + expected, "", ""};
}

class JsonNode {
 public:
  JsonNode(const json& value, ChakraBuilder& builder) : value_(value), builder_(builder) {}

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
    if (name == "attr") return {};  // last: see read
    if (name == "inputs") {
      if (node_.kind == ChakraKind::metadata)
        add_process_groups(builder_, value.dump(-1, ' ', false, json::error_handler_t::replace));
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
    ChakraAttribute attribute{key, {}, 0};
    if (value.is_string()) attribute.text = value.get_ref<const std::string&>();
    if (read_count(value, attribute.number) || value.is_string()) apply_attribute(builder_, node_, attribute);
    return {};
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
      ChakraAttribute attribute{name->get_ref<const std::string&>(), {}, 0};
      for (const auto& [key, value] : entry.items()) {
        if (key == "name" || key == "docString" || key == "doc_string") continue;
        if (value.is_string()) attribute.text = value.get_ref<const std::string&>();
        read_count(value, attribute.number);
      }
      apply_attribute(builder_, node_, attribute);
    }
    return {};
  }

  const json& value_;
  ChakraBuilder& builder_;
  ChakraNode node_;
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
  std::istringstream in{std::string(text)};
  for (std::size_t place = 0; in >> std::ws && in.peek() != std::char_traits<char>::eof(); ++place) {
    json value;
    try {
      in >> value;
    } catch (const json::exception&) {
      return Error{"value " + std::to_string(place) + ": found no JSON, expected a Chakra trace", "", ""};
    }
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
