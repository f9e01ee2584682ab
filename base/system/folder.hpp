// What is in a folder. Not std::filesystem::directory_iterator: it joins paths in a function that may not throw, so that
// memory that runs out there ends the program.
#pragma once

#include <string>
#include <system_error>
#include <vector>

namespace distsim {

struct FolderNames {
  std::vector<std::string> names;  ///< sorted, without "." and ".."
  std::error_code error;           ///< why the folder could not be listed to its end
};

/// Throws std::bad_alloc where memory does not suffice.
FolderNames list_folder(const std::string& folder);

/// Sorted paths of what a shell's pattern matches. Throws as above.
std::vector<std::string> paths_matching(const std::string& pattern);

}  // namespace distsim
