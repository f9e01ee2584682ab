#include "sim/opgraph/recorded/recorded_fields.hpp"

#include <charconv>

#include "sim/opgraph/readers.hpp"

namespace distsim::opgraph {

namespace dom = simdjson::dom;

bool integer_at(const dom::element& object, std::string_view key, std::uint64_t& out) {
  dom::element value;
  if (missing(object[key].get(value))) return false;
  std::int64_t n = 0;
  if (!missing(value.get_uint64().get(out))) return true;
  if (missing(value.get_int64().get(n))) return false;
  out = static_cast<std::uint64_t>(n);
  return true;
}

std::optional<dom::element> attribute(const dom::element& node, std::string_view name) {
  dom::array attributes;
  if (missing(node["attrs"].get_array().get(attributes))) return std::nullopt;
  for (const dom::element a : attributes) {
    std::string_view found;
    dom::element value;
    if (!missing(a["name"].get_string().get(found)) && found == name && !missing(a["value"].get(value))) return value;
  }
  return std::nullopt;
}

std::int64_t number_of(const std::optional<dom::element>& value, std::int64_t otherwise) {
  std::int64_t n = 0;
  std::string_view text;
  if (!value) return otherwise;
  if (!missing(value->get_int64().get(n))) return n;
  if (missing(value->get_string().get(text))) return otherwise;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), n);
  return end.ec == std::errc() ? n : otherwise;
}

std::string text_of(const std::optional<dom::element>& value) {
  std::string_view text;
  return value && !missing(value->get_string().get(text)) ? std::string(text) : std::string();
}

Lists lists_of(const dom::element& node, std::string_view side) {
  Lists out;
  dom::element nested;
  const std::string one = side == "inputs" ? "input" : "output";
  const auto get = [](simdjson::simdjson_result<dom::element> at, dom::array& to) {
    return !missing(at.get_array().get(to));
  };
  if (missing(node[side].get(nested))) return out;
  if (nested.is_object())
    out.complete =
        get(nested["values"], out.values) && get(nested["shapes"], out.shapes) && get(nested["types"], out.types);
  else
    out.complete =
        get(node[side], out.values) && get(node[one + "_shapes"], out.shapes) && get(node[one + "_types"], out.types);
  return out;
}

std::vector<std::string> element_types(std::string_view text) {
  std::vector<std::string> out;
  const std::size_t open = text.find('[');
  if (open == text.npos || !text.ends_with("]")) return out;
  text = text.substr(open + 1, text.size() - open - 2);
  std::size_t depth = 0, start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      out.emplace_back(text.substr(start, i - start));
      start = i + 1;
    } else if (text[i] == '(' || text[i] == '[' || text[i] == '<') {
      ++depth;
    } else if ((text[i] == ')' || text[i] == ']' || text[i] == '>') && depth > 0) {
      --depth;
    }
  }
  return out;
}

}  // namespace distsim::opgraph
