// Files of folders that are searched one after another, as configs/ of the user and of the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace distsim {

/// Paths of the files whose names end in `ending`, sorted, a list a folder. A file hides those of the same name in
/// later folders. A folder that is not there or may not be read has
/// no files; std::system_error where the machine fails.
std::vector<std::vector<std::string>> files_by_folder(const std::vector<std::string>& folders, std::string_view ending);

}  // namespace distsim
