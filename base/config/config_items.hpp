// Items of a list named by their number, in --set paths and in overrides.
#pragma once

#include <string>

#include "base/config/config_node.hpp"

namespace distsim {

/// The item that `text` numbers, from 0, in a list of `size`; an Error at `where` for anything else.
Result<std::size_t> item_index(const std::string& text, std::size_t size, const SourcePos& where);

}  // namespace distsim
