#include "sim/web/messages/body.hpp"

#include <cmath>

#include "base/json/json_text.hpp"
#include "base/text/printable.hpp"

namespace distsim::web {

using Json = nlohmann::json;

namespace {

/// As it was sent, at a length that a line can hold.
std::string found_in(const Json& value) {
  constexpr std::size_t kMostShown = 60;
  const std::string text = value.is_string() ? in_quotes(value.get<std::string>()) : dumped(value);
  return text.size() <= kMostShown ? text : text.substr(0, kMostShown) + "...";
}

}  // namespace

Error unexpected(const std::string& key, const std::string& expectation) {
  return Error{key + ": expected " + expectation, "message", ""};
}

Result<std::string> string_in(const Json& body, const char* key) {
  const auto it = body.find(key);
  if (it == body.end() || !it->is_string()) return unexpected(key, "text");
  return it->get<std::string>();
}

Result<std::string> optional_string_in(const Json& body, const char* key) {
  const auto it = body.find(key);
  if (it == body.end() || it->is_null()) return std::string();
  return string_in(body, key);
}

std::int64_t integer_in(const Json& body, const char* key) {
  const auto it = body.find(key);
  return it != body.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

Result<std::int64_t> integer_within(const Json& body, const char* key, std::int64_t least, std::int64_t most,
                                    std::int64_t otherwise) {
  const auto it = body.find(key);
  if (it == body.end() || it->is_null()) return otherwise;
  const bool is_large = it->is_number_unsigned() && it->get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  const std::int64_t value = it->is_number_integer() && !is_large ? it->get<std::int64_t>() : least - 1;
  if (value >= least && value <= most) return value;
  return Error{std::string(key) + ": found " + found_in(*it) + ", expected a whole number from " +
                   std::to_string(least) + " to " + std::to_string(most),
               "message", ""};
}

Result<double> amount_in(const Json& body, const char* key) {
  const auto it = body.find(key);
  if (it == body.end() || it->is_null()) return 0.0;
  const double value = it->is_number() ? it->get<double>() : -1;
  if (std::isfinite(value) && value >= 0) return value;
  return Error{std::string(key) + ": found " + found_in(*it) + ", expected a number of 0 or more", "message", ""};
}

Result<std::vector<std::string>> strings_in(const Json& body, const char* key, std::size_t most) {
  std::vector<std::string> out;
  const auto it = body.find(key);
  if (it == body.end() || it->is_null()) return out;
  const std::string expectation = "a list of at most " + std::to_string(most) + " texts";
  if (!it->is_array() || it->size() > most) return unexpected(key, expectation);
  for (const Json& item : *it) {
    if (!item.is_string()) return unexpected(key, expectation);
    out.push_back(item.get<std::string>());
  }
  return out;
}

bool flag_in(const Json& body, const char* key) {
  const auto it = body.find(key);
  return it != body.end() && it->is_boolean() && it->get<bool>();
}

std::string dumped(const Json& json) { return json_text(json); }

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace distsim::web
