#include "base/system/link_target.hpp"

#include <unistd.h>

#include <climits>

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

}  // namespace distsim
