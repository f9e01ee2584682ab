// The members of a message: what they are expected to be, and how an answer is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json/json.hpp"
#include "base/result.hpp"

namespace distsim::web {

/// "axes: expected text"
Error unexpected(const std::string& key, const std::string& expectation);

/// Errors: the member is not there or no text.
Result<std::string> string_in(const nlohmann::json& body, const char* key);
/// The same where it may be left out: empty then.
Result<std::string> optional_string_in(const nlohmann::json& body, const char* key);
/// A whole number; 0 where there is none.
std::int64_t integer_in(const nlohmann::json& body, const char* key);
/// A whole number from `least` to `most`; `otherwise` where there is none. Error: another number, or none.
Result<std::int64_t> integer_within(const nlohmann::json& body, const char* key, std::int64_t least, std::int64_t most,
                                    std::int64_t otherwise);
/// A number; 0 where there is none. Error: none, or one that is not finite or below 0.
Result<double> amount_in(const nlohmann::json& body, const char* key);
/// A list of at most `most` texts; empty where there is none.
Result<std::vector<std::string>> strings_in(const nlohmann::json& body, const char* key, std::size_t most);
/// False where it is left out, or no boolean.
bool flag_in(const nlohmann::json& body, const char* key);

/// JSON on one line; bytes that are no UTF-8 are replaced.
std::string dumped(const nlohmann::json& json);
/// Null where it is not finite.
nlohmann::json number(double value);

}  // namespace distsim::web
