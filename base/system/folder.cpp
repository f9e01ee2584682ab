#include "base/system/folder.hpp"

#include <dirent.h>
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <string_view>

namespace distsim {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::error_code code_of(int number) {
  if (number == ENOMEM) throw std::bad_alloc();
  return {number, std::generic_category()};
}

}  // namespace

FolderNames list_folder(const std::string& folder) {
  const std::unique_ptr<DIR, CloseFolder> open(::opendir(folder.c_str()));
  if (!open) return {{}, code_of(errno)};
  FolderNames out;
  for (errno = 0; const dirent* entry = ::readdir(open.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") out.names.emplace_back(name);
  }
  if (errno != 0) return {{}, code_of(errno)};
  std::ranges::sort(out.names);  // the order of a folder is not repeatable
  return out;
}

std::vector<std::string> paths_matching(const std::string& pattern) {
  struct Found : glob_t {
    Found() : glob_t{} {}
    ~Found() { ::globfree(this); }
  } found;
  const int code = ::glob(pattern.c_str(), 0, nullptr, &found);
  if (code == GLOB_NOSPACE) throw std::bad_alloc();
  if (code != 0) return {};
  return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
}

}  // namespace distsim
