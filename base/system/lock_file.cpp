#include "base/system/lock_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/log.hpp"

namespace distsim {
namespace {

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

}  // namespace

Result<void> lock_whole(int fd, const std::string& path, const std::string& expected) {
  struct flock wanted {};
  wanted.l_type = F_WRLCK;
  wanted.l_whence = SEEK_SET;
  if (::fcntl(fd, F_SETLK, &wanted) == 0) return {};
  if (errno != EACCES && errno != EAGAIN) {
    const int code = errno;
    log_warn([&] { return path + ": cannot be locked (" + std::strerror(code) + "); no second run may use it"; });
    return {};
  }
  struct flock held = wanted;
  const bool known = ::fcntl(fd, F_GETLK, &held) == 0 && held.l_type != F_UNLCK && held.l_pid > 0;
  return Error{
      "in use by " + (known ? "process " + std::to_string(held.l_pid) : "a process") + ", expected " + expected, path,
      ""};
}

Result<LockFile> LockFile::open(const std::string& path, const std::string& expected) {
  for (;;) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    if (!file.valid()) return Error{std::string("cannot be made (") + std::strerror(errno) + ")", path, ""};
    TRY(lock_whole(file.get(), path, expected));
    struct stat opened {
    }, now{};
    if (::fstat(file.get(), &opened) != 0)
      return Error{std::string("cannot be read (") + std::strerror(errno) + ")", path, ""};
    if (!S_ISREG(opened.st_mode) || opened.st_size > 0)
      return Error{"found a file of others, expected none: it is removed at the end", path, ""};
    // Else the one who held the lock has removed the file since it was opened.
    if (::stat(path.c_str(), &now) == 0 && same_file(opened, now)) return LockFile(path, std::move(file));
  }
}

LockFile::~LockFile() {
  if (file_.valid()) ::unlink(path_->path().c_str());  // before the lock goes with the descriptor
}

}  // namespace distsim
