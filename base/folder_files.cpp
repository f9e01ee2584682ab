#include "base/folder_files.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace distsim {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in_folder(const std::string& folder, std::string_view ending) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.ends_with(ending)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());  // the order of a directory is not repeatable
  return names;
}

}  // namespace

std::vector<std::vector<std::string>> files_by_folder(const std::vector<std::string>& folders,
                                                      std::string_view ending) {
  std::vector<std::vector<std::string>> files;
  std::set<std::string> seen;
  for (const std::string& folder : folders) {
    files.emplace_back();
    for (const std::string& name : names_in_folder(folder, ending)) {
      if (seen.insert(name).second) files.back().push_back((fs::path(folder) / name).string());
    }
  }
  return files;
}

}  // namespace distsim
