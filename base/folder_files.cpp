#include "base/folder_files.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include "base/system/folder.hpp"

namespace distsim {
namespace {

std::vector<std::string> names_in_folder(const std::string& folder, std::string_view ending) {
  FolderNames found = list_folder(folder);
  const std::error_code error = found.error;
  constexpr std::errc kAbsent[] = {std::errc::no_such_file_or_directory, std::errc::not_a_directory,
                                   std::errc::permission_denied};
  const bool absent = std::ranges::any_of(kAbsent, [&](std::errc known) { return error == known; });
  if (error && !absent) throw std::system_error(error, folder);  // what is there is not known
  std::erase_if(found.names, [&](const std::string& name) { return !name.ends_with(ending); });
  return std::move(found.names);
}

}  // namespace

std::vector<std::vector<std::string>> files_by_folder(const std::vector<std::string>& folders,
                                                      std::string_view ending) {
  std::vector<std::vector<std::string>> files;
  std::set<std::string> seen;
  for (const std::string& folder : folders) {
    files.emplace_back();
    for (const std::string& name : names_in_folder(folder, ending)) {
      if (seen.insert(name).second) files.back().push_back(folder + (folder.ends_with('/') ? "" : "/") + name);
    }
  }
  return files;
}

}  // namespace distsim
