// Names that become those of files.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/printable.hpp"

namespace distsim {

/// With an ending ("a100.ops") and the letters of a temporary file it is no longer than a file system takes (255 bytes).
constexpr std::size_t kLongestFileName = 200;

/// Whether NAME.ending is a file of the folder where it is written: no `/`, no control character, UTF-8, 1 to
/// kLongestFileName bytes.
inline bool is_file_name(std::string_view name) {
  const auto leads_out = [](char c) { return c == '/' || c == '\n' || c == '\r' || c == '\t'; };
  return !name.empty() && name.size() <= kLongestFileName && std::ranges::none_of(name, leads_out) &&
         !find_bad_byte(name);
}

/// For rules of schemas (base/config/schema.hpp): why the `name` of a thing cannot be that of its file.
inline std::optional<std::string> broken_file_name(const std::string& name) {
  if (is_file_name(name)) return std::nullopt;
  return "name: found " + in_quotes(name, 60) + ", expected the name of a file: 1 to " +
         std::to_string(kLongestFileName) + " bytes without '/' or control characters";
}

}  // namespace distsim
