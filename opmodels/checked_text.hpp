// Text files of models that end in a checksum of what stands before it: a line "crc32" and eight hexadecimal digits at most.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace distsim::opmodels {

/// The text, which ends in a line end, with the line of its checksum.
std::string with_checksum(std::string text);

/// The text before the line of its checksum. Errors: none, or another; `kind` is what is expected intact, `writer` the
/// command that writes it anew.
Result<std::string_view> checked_text(std::string_view text, std::string_view kind, std::string_view writer);

}  // namespace distsim::opmodels
