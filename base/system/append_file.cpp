#include "base/system/append_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/system/lock_file.hpp"

namespace distsim {
namespace {

Error append_error(const std::string& path, const std::string& what, int code) {
  return {"cannot " + what + " (" + std::strerror(code) + ")", path, ""};
}

}  // namespace

Result<AppendFile> AppendFile::open(const std::string& path) {
  constexpr int kHow = O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK;
  Descriptor file(::open(path.c_str(), kHow | O_CREAT | O_EXCL, 0666));
  const bool is_new = file.valid();
  if (!is_new && errno == EEXIST) file = Descriptor(::open(path.c_str(), kHow | O_CREAT, 0666));
  if (!file.valid()) return append_error(path, "open", errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return append_error(path, "open", errno);
  if (!S_ISREG(info.st_mode)) return Error{"found a device or pipe, expected a file", path, ""};
  TRY(lock_whole(file.get(), path, "a file of this run"));
  if (::fstat(file.get(), &info) != 0) return append_error(path, "open", errno);  // as the one before left it
  return AppendFile(path, std::move(file), static_cast<std::uint64_t>(info.st_size), is_new);
}

Result<std::string> AppendFile::read(std::uint64_t offset, std::size_t most) const {
  std::string bytes(most, '\0');
  std::size_t got = 0;
  while (got < most) {
    const ssize_t n = ::pread(file_.get(), bytes.data() + got, most - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return append_error(path_, "read", errno);
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

Result<void> AppendFile::append(std::string_view bytes) {
  for (std::size_t put = 0; put < bytes.size();) {
    const ssize_t n = ::write(file_.get(), bytes.data() + put, bytes.size() - put);
    if (n < 0 && errno == EINTR) continue;
    if (n >= 0) {
      put += static_cast<std::size_t>(n);
      continue;
    }
    const int code = errno;
    (void)truncate(size_);
    return append_error(path_, "write", code);
  }
  size_ += bytes.size();
  return {};
}

Result<void> AppendFile::truncate(std::uint64_t size) {
  if (::ftruncate(file_.get(), static_cast<off_t>(size)) != 0) return append_error(path_, "cut", errno);
  size_ = size;
  return {};
}

Result<void> AppendFile::sync() {
  if (::fdatasync(file_.get()) != 0) return append_error(path_, "write", errno);
  return {};
}

void AppendFile::remove_if_new() {
  if (is_new_) (void)::unlink(path_.c_str());
}

}  // namespace distsim
