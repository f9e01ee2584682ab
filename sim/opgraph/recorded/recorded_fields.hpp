// The fields of a node of an execution trace, in any schema.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distsim::opgraph {

/// Whether `object` has a whole number there; one below 0 wraps around, as identifiers do.
bool integer_at(const simdjson::dom::element& object, std::string_view key, std::uint64_t& out);

/// An attribute of the nested schemas, as text or number.
std::optional<simdjson::dom::element> attribute(const simdjson::dom::element& node, std::string_view name);
std::int64_t number_of(const std::optional<simdjson::dom::element>& value, std::int64_t otherwise);
std::string text_of(const std::optional<simdjson::dom::element>& value);

/// Arguments or results of a node, in either schema: parallel lists of values, shapes and types.
struct Lists {
  simdjson::dom::array values, shapes, types;
  bool complete = false;
};
Lists lists_of(const simdjson::dom::element& node, std::string_view side);

/// "Tensor(float)" and "Tensor(c10::Half)" of "GenericList[Tensor(float),Tensor(c10::Half)]".
std::vector<std::string> element_types(std::string_view text);

}  // namespace distsim::opgraph
