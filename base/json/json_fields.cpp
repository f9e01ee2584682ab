#include "base/json/json_fields.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/json/json_text.hpp"
#include "base/text/printable.hpp"

namespace distsim {
namespace {

using Json = nlohmann::json;

constexpr const char* kNotThere = "N/A";

/// Nothing but a number, with blanks before it at most.
std::optional<double> number_in(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  if (value == kNotThere) return std::numeric_limits<double>::quiet_NaN();
  std::string_view text = value.get_ref<const std::string&>();
  while (text.starts_with(' ')) text.remove_prefix(1);
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(v) : std::nullopt;
}

}  // namespace

const char* JsonFields::name_of(Names names) const {
  if (!object_.is_object()) return nullptr;
  for (const char* name : names) {
    if (const auto it = object_.find(name); it != object_.end() && !it->is_null()) return name;
  }
  return nullptr;
}

const Json* JsonFields::find(Names names) const {
  const char* const name = name_of(names);
  return name == nullptr ? nullptr : &*object_.find(name);
}

void JsonFields::refuse(Names names, const std::string& expected) {
  if (!wrong_.empty()) return;
  wrong_ = std::string(name_of(names)) + ": found " + printable(json_text(*find(names)), 40) + ", expected " + expected;
}

std::optional<double> JsonFields::number(Names names) {
  const Json* const value = find(names);
  if (value == nullptr) return std::nullopt;
  const std::optional<double> v = number_in(*value);
  if (!v) refuse(names, "a number");
  return v;
}

std::optional<std::uint32_t> JsonFields::whole(Names names, std::uint32_t most) {
  const Json* const value = find(names);
  if (value == nullptr) return std::nullopt;
  const std::optional<double> v = number_in(*value);
  if (v && *v >= 0 && *v <= most && *v == std::floor(*v)) return static_cast<std::uint32_t>(*v);
  refuse(names, "a whole number from 0 to " + std::to_string(most));
  return std::nullopt;
}

std::string JsonFields::text(Names names) {
  const Json* const value = find(names);
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  if (value->is_number()) return value->dump();
  refuse(names, "text");
  return "";
}

std::optional<bool> JsonFields::flag(Names names) {
  const Json* const value = find(names);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  for (const bool v : {false, true}) {
    if (*value == (v ? "true" : "false")) return v;
  }
  if (const std::optional<double> v = number_in(*value); v && *v >= 0) return *v > 0;
  refuse(names, "true or false");
  return std::nullopt;
}

const Json* JsonFields::object(Names names) {
  const Json* const value = find(names);
  if (value == nullptr || value->is_object()) return value;
  if (*value != kNotThere) refuse(names, "an object");
  return nullptr;
}

const Json* JsonFields::list(Names names) {
  const Json* const value = find(names);
  if (value == nullptr || value->is_array()) return value;
  refuse(names, "a list");
  return nullptr;
}

Result<void> JsonFields::check() const { return wrong_.empty() ? Result<void>() : Error{wrong_, where_, ""}; }

}  // namespace distsim
