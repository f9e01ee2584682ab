// Chakra's JSON forms. Keys differ in case and underscores between writers: "NodeType", "type"; "ctrlDeps",
// "ctrl_deps"; "runtime", "durationMicros".
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

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

/// Also above what whole_number takes: ids are numbers of 64 bits without a sign.
bool read_id(const json& value, std::uint64_t& out) {
  if (value.is_number_unsigned()) {
    out = value.get<std::uint64_t>();
    return true;
  }
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
  }
  const auto number = whole_number(value);
  out = static_cast<std::uint64_t>(number.value_or(0));
  return number && *number >= 0;
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
  out.is_text = value.is_string();
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

/// `use` takes each of [{"name": "comm_size", "int64Val": "1048576"}, ..].
template <typename Use>
Result<void> for_each_attribute(const json& list, const Use& use) {
  if (!list.is_array()) return wrong("attr", list, "a list of attributes");
  for (const json& entry : list) {
    const auto name = entry.is_object() ? entry.find("name") : entry.end();
    if (!entry.is_object() || name == entry.end() || !name->is_string())
      return wrong("attr", entry, "an attribute with a name");
    ChakraAttribute attribute;
    attribute.name = name->get_ref<const std::string&>();
    attribute.as_written = "nothing";
    const json* found = nullptr;
    for (const auto& [key, value] : entry.items()) {
      if (key == "name" || key == "docString" || key == "doc_string") continue;
      if (found != nullptr)
        return Error{std::string(attribute.name) + ": found " + as_written(*found) + " and " + as_written(value) +
                         ", expected one value",
                     "", ""};
      found = &value;
      if (plain(key) == "bytesval") {  // in base64, which no writer is known to use
        attribute.as_written = "bytes";
        continue;
      }
      attribute = attribute_of(attribute.name, value);
      if (plain(key).ends_with("64val") && attribute.is_text) {  // a number, perhaps one that is out of range
        attribute.text = {};
        attribute.is_text = false;
      }
    }
    TRY(use(attribute));
  }
  return {};
}

/// What a member of a node is, whatever its writer calls it; other members are attributes.
enum class Member : std::uint8_t { id, name, kind, duration, control_deps, data_deps, inputs, attributes, other };

Member member_of(const std::string& key) {
  const std::string name = plain(key);
  if (name == "id") return Member::id;
  if (name == "name") return Member::name;
  if (name == "type" || name == "nodetype") return Member::kind;
  if (name == "runtime" || name == "durationmicros") return Member::duration;
  if (name == "ctrldeps") return Member::control_deps;
  if (name == "datadeps") return Member::data_deps;
  if (name == "inputs") return Member::inputs;
  return key == "attr" ? Member::attributes : Member::other;
}

class JsonNode {
 public:
  JsonNode(const json& value, ChakraBuilder& builder) : builder_(builder), attributes_(builder, node_) {
    for (const auto& [key, of_key] : value.items()) members_.push_back({member_of(key), &key, &of_key});
    std::ranges::stable_sort(members_, {}, &Found::member);  // what attributes mean depends on the kind
  }

  Result<void> read() {
    const auto same = [](const Found& a, const Found& b) { return a.member == b.member && a.member != Member::other; };
    if (const auto two = std::ranges::adjacent_find(members_, same); two != members_.end())
      return Error{"found '" + *two->key + "' and '" + *(two + 1)->key + "', expected one of them", "", ""};
    for (const Found& found : members_) TRY(take(found.member, *found.key, *found.value));
    return builder_.add(node_);
  }

 private:
  struct Found {
    Member member = Member::other;
    const std::string* key = nullptr;
    const json* value = nullptr;
  };

  Result<void> take(Member member, const std::string& key, const json& value) {
    std::int64_t number = 0;
    switch (member) {
      case Member::id:
        if (!read_id(value, node_.id)) return wrong(key, value, "a count");
        return {};
      case Member::name:
        if (!value.is_string()) return wrong(key, value, "text");
        node_.name = builder_.intern(value.get_ref<const std::string&>());
        return {};
      case Member::kind:
        if (!read_kind(value, node_.kind)) return wrong(key, value, "a node type from 0 to 7");
        return {};
      case Member::duration:
        if (!read_count(value, number) || number < 0) return wrong(key, value, "a count");
        set_micros(node_, number);
        return {};
      case Member::control_deps:
      case Member::data_deps:
        return take_deps(key, member == Member::control_deps, value);
      case Member::inputs:
        return node_.kind == ChakraKind::metadata ? take_groups(value) : Result<void>();
      case Member::attributes:
        return for_each_attribute(value, [&](const ChakraAttribute& a) { return attributes_.apply(a); });
      case Member::other:
        break;
    }
    return attributes_.apply(attribute_of(key, value));
  }

  Result<void> take_deps(const std::string& key, bool control, const json& list) {
    if (!list.is_array()) return wrong(key, list, "a list of ids");
    for (const json& entry : list) {
      std::uint64_t id = 0;
      if (!read_id(entry, id)) return wrong(key, entry, "an id");
      control ? builder_.add_control_dep(id) : builder_.add_data_dep(id);
    }
    return {};
  }

  /// Of {"values": "['[{..}]']", ..}, as protocol buffers are printed, that text; of other forms all.
  Result<void> take_groups(const json& inputs) {
    const auto values = inputs.is_object() ? inputs.find("values") : inputs.end();
    const bool is_text = inputs.is_object() && values != inputs.end() && values->is_string();
    return add_process_groups(
        builder_, is_text ? values->get<std::string>() : inputs.dump(-1, ' ', false, json::error_handler_t::replace));
  }

  ChakraBuilder& builder_;
  ChakraNode node_;
  ChakraAttributes attributes_;
  std::vector<Found> members_;
};

Result<void> add_node(ChakraBuilder& builder, const json& value, std::size_t place) {
  const std::string name = "node " + std::to_string(place);
  if (!value.is_object()) return wrong(name, value, "an object");
  const auto added = JsonNode(value, builder).read();
  return added ? Result<void>() : Error{name + ": " + added.error().what, "", ""};
}

/// A message printed by itself: metadata, or a node.
Result<void> add_message(ChakraBuilder& builder, const json& value, std::size_t place) {
  bool metadata = place == 0 && value.is_object();
  for (auto member = value.begin(); metadata && member != value.end(); ++member)
    metadata = member_of(member.key()) != Member::kind;
  if (!metadata) return add_node(builder, value, place);
  const auto version = value.find("version"), attributes = value.find("attr");
  if (version != value.end() && version->is_string())
    builder.set_version(version->get<std::string>());
  else
    builder.old_layout();
  if (attributes == value.end()) return {};
  return for_each_attribute(*attributes, [&](const ChakraAttribute& attribute) -> Result<void> {
    apply_metadata(builder, attribute);
    return {};
  });
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
