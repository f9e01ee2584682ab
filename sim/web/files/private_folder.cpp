#include "sim/web/files/private_folder.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/system/folder.hpp"
#include "base/text/printable.hpp"

namespace distsim::web {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "distsim-serve-";
constexpr std::size_t kLongestName = 100;

std::string folder_of_temporaries() {
  const char* named = std::getenv("TMPDIR");
  return named != nullptr && *named == '/' ? named : "/tmp";
}

/// The folder, locked; nothing valid where another server has the lock, or there are no locks.
Descriptor locked(const std::string& folder) {
  Descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return file.valid() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(file) : Descriptor();
}

/// "distsim-serve-PID-XXXXXX" of a process that is gone, and a folder of ours.
bool is_left_over(const std::string& parent, const std::string& name) {
  if (!name.starts_with(kBegin)) return false;
  const std::string_view rest = std::string_view(name).substr(kBegin.size());
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
  if (error != std::errc() || end == rest.data() + rest.size() || *end != '-' || pid <= 0) return false;
  struct stat about {};
  if (::lstat((parent + "/" + name).c_str(), &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != ::geteuid())
    return false;
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

void remove_left_over(const std::string& parent) {
  for (const std::string& name : list_folder(parent).names) {
    std::error_code error;
    const std::string folder = parent + "/" + name;
    if (is_left_over(parent, name) && locked(folder).valid()) fs::remove_all(folder, error);
  }
}

}  // namespace

Result<std::string> PrivateFolder::path() {
  const std::lock_guard lock(mutex_);
  if (!path_.empty()) return path_;
  if (is_over_) return Error{"the server is ending", "", ""};
  const std::string parent = folder_of_temporaries();
  remove_left_over(parent);
  std::string made = parent + "/" + std::string(kBegin) + std::to_string(::getpid()) + "-XXXXXX";
  if (::mkdtemp(made.data()) == nullptr)
    return Error{"found no place for files in " + in_quotes(parent) + ", expected a folder that can be written", "",
                 std::system_category().message(errno)};
  lock_ = locked(made);
  std::error_code error;
  const fs::path real = fs::canonical(made, error);
  path_ = error ? made : real.string();
  return path_;
}

std::string PrivateFolder::known_path() {
  const std::lock_guard lock(mutex_);
  return path_;
}

void PrivateFolder::remove() {
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  if (path_.empty()) return;
  std::error_code error;
  fs::remove_all(path_, error);
  path_.clear();
  lock_ = Descriptor();
}

std::string plain_file_name(std::string_view given) {
  const std::size_t slash = given.find_last_of("/\\");
  if (slash != std::string_view::npos) given.remove_prefix(slash + 1);
  std::string out;
  for (const char c : given) {
    const bool plain =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
    out += plain ? c : '_';
  }
  if (out.size() > kLongestName) out.erase(0, out.size() - kLongestName);
  while (out.starts_with('.') || out.starts_with('-')) out.erase(0, 1);
  return out.find_first_not_of("_.") == std::string::npos ? "trace" : out;
}

}  // namespace distsim::web
