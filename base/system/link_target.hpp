// Where a symbolic link leads, also one whose end is not there yet.
#pragma once

#include <optional>
#include <string>

namespace distsim {

/// The path that is opened or made when `path` is: itself where it is no link. Nothing where links lead in a circle.
std::optional<std::string> link_target(const std::string& path);

}  // namespace distsim
