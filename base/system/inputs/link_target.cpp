#include "base/system/inputs/link_target.hpp"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <new>

namespace distsim {

std::optional<std::string> link_target(const std::string& path) {
  constexpr int kMostLinks = 40;  // as Linux follows
  std::string at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(at.c_str(), target, sizeof target);
    if (size <= 0) return at;
    const std::size_t slash = at.rfind('/');
    const std::string folder = target[0] == '/' || slash == std::string::npos ? "" : at.substr(0, slash + 1);
    at = folder + std::string(target, static_cast<std::size_t>(size));
  }
  return std::nullopt;
}

std::string resolved_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real && errno == ENOMEM) throw std::bad_alloc();
  return real ? std::string(real.get()) : link_target(path).value_or(path);
}

std::string folder_of_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace distsim
