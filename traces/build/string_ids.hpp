// The texts of a report that its tables refer to by numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.hpp"
#include "base/text/printable.hpp"
#include "traces/build/name_table.hpp"

namespace distsim::traces {

class StringIds {
 public:
  /// Names of `names`. An id that had another text before is kept for check().
  void add(std::int64_t id, std::string_view text, NameTable& names) {
    const NameId name = names.intern(text);
    const auto [known, fresh] = names_.try_emplace(id, name);
    if (fresh || known->second == name || !twice_.empty()) return;
    twice_ = "found the id " + std::to_string(id) + " with two texts, " + in_quotes(names.text(known->second), 100) +
             " and " + in_quotes(text, 100) + ", expected one";
  }
  std::optional<NameId> find(std::int64_t id) const {
    const auto at = names_.find(id);
    return at == names_.end() ? std::nullopt : std::optional(at->second);
  }
  /// A text that names something: not an empty one.
  std::optional<NameId> name(std::int64_t id, const NameTable& names) const {
    const auto text = find(id);
    return text && names.text(*text).empty() ? std::nullopt : text;
  }
  bool empty() const { return names_.empty(); }
  /// Error: an id with two texts, of which records would have either name.
  Result<void> check(std::string_view table, const std::string& path) const {
    if (twice_.empty()) return {};
    return Error{std::string(table) + ": " + twice_, path, "was the file put together from two?"};
  }

 private:
  std::unordered_map<std::int64_t, NameId> names_;
  std::string twice_;
};

}  // namespace distsim::traces
