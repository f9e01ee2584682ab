// Where a path leads, through symbolic links whose end is not there yet, too.
#pragma once

#include <optional>
#include <string>

namespace distsim {

/// The path that is opened or made when `path` is: itself where it is no link. Nothing where links lead in a circle.
std::optional<std::string> link_target(const std::string& path);

/// What a symbolic link leads to, so that the link stays, also where nothing is there yet; the path itself where there is no
/// link.
std::string resolved_path(const std::string& path);

/// The folder of a file by its path: "a" of "a/b", "." of "b", "/" of "/b".
std::string folder_of_file(const std::string& path);

}  // namespace distsim
