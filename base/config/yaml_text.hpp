// The text of a YAML file as its parser's messages need it: checked bytes, and a description of what is at a position.
#pragma once

#include <string>
#include <string_view>

#include "base/config/config_node.hpp"
#include "base/result.hpp"

namespace distsim {

/// "file:line:col" of a byte offset. Columns count bytes, from 1.
std::string position_of(std::string_view text, std::size_t offset, const std::string& file);

/// Refuses bytes that are not text and tabs in the indentation, which YAML forbids and editors hide.
Result<void> check_yaml_text(std::string_view text, const std::string& file);

/// The word at `offset` in quotes, "the end of the line" or "the end of the file".
std::string describe_text_at(std::string_view text, std::size_t offset);

}  // namespace distsim
