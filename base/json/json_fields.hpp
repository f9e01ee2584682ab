// The members of a JSON object by name and type. A value of another type is none that is missing: it is an error.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "base/json/json.hpp"
#include "base/result.hpp"

namespace distsim {

/// Names are alternatives: the first that is there and not null counts. Each function gives nothing, empty text or a null
/// pointer where there is none, or one of another type; check() tells these apart.
class JsonFields {
 public:
  using Names = std::initializer_list<const char*>;

  /// What is no object has no members. `object` outlives this; `where` is the position in messages.
  JsonFields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {}

  /// Of any type.
  const nlohmann::json* find(Names names) const;
  /// Also one that is written as text; "N/A" is NaN.
  std::optional<double> number(Names names);
  /// As number(); from 0 to `most`.
  std::optional<std::uint32_t> whole(Names names, std::uint32_t most);
  /// A number is the text that JSON writes for it.
  std::string text(Names names);
  /// A number, as number(), is true above 0; negative, it is an error.
  std::optional<bool> flag(Names names);
  /// "N/A" counts as not there.
  const nlohmann::json* object(Names names);
  const nlohmann::json* list(Names names);

  /// Error: the first value so far that was of another type than was asked for.
  Result<void> check() const;

 private:
  const char* name_of(Names names) const;
  void refuse(Names names, const std::string& expected);

  const nlohmann::json& object_;
  std::string where_, wrong_;
};

}  // namespace distsim
