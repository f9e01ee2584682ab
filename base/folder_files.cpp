#include "base/folder_files.hpp"

#include <algorithm>
#include <filesystem>
#include <new>
#include <set>
#include <system_error>

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
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();
  constexpr std::errc kAbsent[] = {std::errc::no_such_file_or_directory, std::errc::not_a_directory,
                                   std::errc::permission_denied};
  const bool absent = std::ranges::any_of(kAbsent, [&](std::errc known) { return error == known; });
  if (error && !absent) throw std::system_error(error, folder);  // what is there is not known
  std::sort(names.begin(), names.end());                         // the order of a directory is not repeatable
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
