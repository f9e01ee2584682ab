#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <streambuf>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/system/descriptor.hpp"
#include "base/system/inputs/link_target.hpp"
#include "base/system/inputs/open_input.hpp"
#include "base/system/inputs/pipe_texts.hpp"
#include "base/system/inputs/protected_inputs.hpp"
#include "base/system/signals.hpp"
#include "base/system/temporaries.hpp"
#include "base/system/write_all.hpp"

namespace distsim {
namespace {

Error file_error(const std::string& path, const std::string& what, int code) {
  return {"cannot " + what + " (" + std::strerror(code) + ")", path, ""};
}

/// A buffered output stream on a descriptor, which remembers the first errno. `held`: so many bytes are written only when more
/// follow or with pass(), for what cannot be taken back.
class DescriptorBuffer : public std::streambuf {
 public:
  DescriptorBuffer(int fd, std::size_t held) : fd_(fd), held_(held), buffer_(std::size_t{1} << 16) { reset(); }
  int error_code() const { return error_code_; }

  /// All that was put in.
  void pass() {
    held_ = 0;
    sync();
  }

 protected:
  int overflow(int c) override {
    if (sync() != 0) return traits_type::eof();
    if (c != traits_type::eof()) sputc(static_cast<char>(c));
    return traits_type::not_eof(c);
  }
  int sync() override {
    waiting_.append(pbase(), pptr());
    reset();
    if (waiting_.size() <= held_) return 0;
    held_ = 0;
    if (error_code_ == 0 && !write_all(fd_, waiting_.data(), waiting_.size())) error_code_ = errno;
    waiting_.clear();
    return error_code_ == 0 ? 0 : -1;
  }

 private:
  void reset() { setp(buffer_.data(), buffer_.data() + buffer_.size()); }
  int fd_;
  std::size_t held_;
  std::string waiting_;
  std::vector<char> buffer_;
  int error_code_ = 0;
};

using Producer = std::function<Result<void>(std::ostream&)>;

Result<void> produce_into(int fd, const std::string& path, const Producer& produce, std::size_t held = 0) {
  DescriptorBuffer buffer(fd, held);
  std::ostream out(&buffer);
  const Result<void> made = produce(out);
  out.flush();
  if (made.ok()) buffer.pass();
  if (buffer.error_code() != 0) return file_error(path, "write", buffer.error_code());  // why, whatever `produce` says
  TRY(made);
  if (!out) return Error{"cannot write (the output stream failed)", path, ""};
  return {};
}

/// The path with a shorter name where a suffix would make that too long for a file system (255 bytes).
std::string beside(const std::string& path) {
  constexpr std::size_t kLongestStem = 200;
  const std::size_t slash = path.rfind('/'), name = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, std::min(path.size(), name + kLongestStem));
}

/// Whether what the path leads to is found by its own name: a file that was removed, or never had one, is not.
bool still_has_name(const std::string& path, const struct stat& file) {
  struct stat named {};
  return ::stat(resolved_path(path).c_str(), &named) == 0 && named.st_dev == file.st_dev && named.st_ino == file.st_ino;
}

/// Why no other file may take the place of this one, though it may be written to; empty where one may.
const char* why_irreplaceable(const std::string& path, const struct stat& file, const struct stat& folder) {
#ifdef STATX_ATTR_MOUNT_ROOT
  struct statx more {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_TYPE, &more) == 0) {
    if (more.stx_attributes & more.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
      return "found a file that is mounted by itself, expected one in a mounted folder";
    if (more.stx_attributes & more.stx_attributes_mask & STATX_ATTR_APPEND)
      return "found a file that may only be appended to, expected one that can be replaced";
  }
#endif
  const uid_t user = ::geteuid();
  if ((folder.st_mode & S_ISVTX) != 0 && user != 0 && file.st_uid != user && folder.st_uid != user)
    return "found the file of another user in a folder where only its owner may replace it, expected another name";
  return "";
}

enum class TargetKind { absent, regular, special };

Result<TargetKind> examine_target(const std::string& path) {
  if (path.empty()) return Error{"found an empty file name, expected a path", "", ""};
  if (path.find('\0') != std::string::npos) return Error{"found a NUL byte in a file name, expected a path", "", ""};
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (!exists && (errno == ELOOP || errno == ENAMETOOLONG)) return file_error(path, "write", errno);
  if (exists && S_ISDIR(info.st_mode)) return Error{"found a folder, expected a file to write", path, ""};
  TRY(check_not_read(path));
  if (const auto own = own_descriptor(path)) {
    const int flags = ::fcntl(*own, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return file_error(path, "write", EBADF);
    return TargetKind::special;
  }
  if (exists && S_ISREG(info.st_mode) && !still_has_name(path, info))
    return Error{"found a file without a name, expected one that can be replaced", path, ""};
  if (exists && ::access(path.c_str(), W_OK) != 0) return file_error(path, "write", errno);
  if (exists && !S_ISREG(info.st_mode)) return TargetKind::special;  // /dev/null, a pipe: there is nothing to replace
  const std::string folder = folder_of_file(resolved_path(path));
  struct stat folder_info {};
  if (::stat(folder.c_str(), &folder_info) != 0)
    return file_error(path, "write: no such folder '" + folder + "'", errno);
  if (!S_ISDIR(folder_info.st_mode)) return file_error(path, "write: '" + folder + "' is not a folder", ENOTDIR);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return file_error(path, "write in the folder '" + folder + "'", errno);
  if (exists) {
    if (const char* why = why_irreplaceable(path, info, folder_info); *why != '\0') return Error{why, path, ""};
  }
  TRY(check_not_input(path));
  return exists ? TargetKind::regular : TargetKind::absent;
}

/// What a command has written by then when it refuses its input, as a rule: nothing of that gets out.
constexpr std::size_t kHeld = std::size_t{16} << 20;

/// Writes to an open file of this process, a pipe or a device, which cannot be replaced.
Result<void> write_in_place(const std::string& path, const Producer& produce) {
  TRY_ASSIGN(Descriptor file, open_special_output(path));
  TRY(produce_into(file.get(), path, produce, kHeld));
  if (!file.close()) return file_error(path, "close", errno);
  return {};
}

/// A file that is replaced keeps its mode; a new one has what the umask leaves of 0666.
bool keep_mode(int fd, const std::string& target) {
  struct stat info {};
  return ::stat(target.c_str(), &info) != 0 || ::fchmod(fd, info.st_mode & 07777) == 0;
}

/// Whether a file can be made beside the target at all: a folder of the kernel or a file system that is mounted to be read
/// grants access and refuses only then.
Result<void> probe_folder(const std::string& path) {
  const Temporary probe(beside(resolved_path(path)) + ".tmp.probe.");
  return probe.made() ? Result<void>() : file_error(path, "create a temporary file next to it", errno);
}

Error too_many_bytes(const std::string& path, std::size_t most) {
  return {"found more than " + std::to_string(most) + " bytes, expected no more than that", path, ""};
}

/// How much an open file says that it has, and how much is read of it.
struct ExpectedSize {
  std::size_t bytes = 0, most = 0;
};

/// A file that is too large is refused before a byte is read. A device says nothing, and may never end.
Result<ExpectedSize> expected_size(int fd, const std::string& path, std::size_t most) {
  constexpr std::size_t kMostOfDevice = 1 << 20;
  struct stat info {};
  if (::fstat(fd, &info) != 0) return file_error(path, "read", errno);
  if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) return ExpectedSize{0, std::min(most, kMostOfDevice)};
  if (!S_ISREG(info.st_mode)) return ExpectedSize{0, most};
  const auto bytes = static_cast<std::uint64_t>(info.st_size);
  if (bytes > most) return too_many_bytes(path, most);
  return ExpectedSize{bytes, most};
}

Result<void> write_standard_output(const Producer& produce) {
  std::cout.flush();
  std::fflush(stdout);
  return produce_into(STDOUT_FILENO, "standard output", produce, kHeld);
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  if (const std::optional<std::string> known = text_of_pipe(path)) {
    if (known->size() > max_bytes) return too_many_bytes(path, max_bytes);
    return *known;
  }
  TRY_ASSIGN(const Descriptor file, open_input(path));
  TRY_ASSIGN(const ExpectedSize expected, expected_size(file.get(), path, max_bytes));
  std::string text;
  text.reserve(expected.bytes);
  std::vector<char> chunk(std::size_t{1} << 16);  // not on the stack, which may be small
  while (text.size() <= expected.most) {
    const ssize_t n = ::read(file.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_error(path, "read", errno);
    if (n == 0) {
      keep_text_of_pipe(file.get(), text);
      return text;
    }
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  return too_many_bytes(path, expected.most);
}

/// One that is whole, under a temporary name.
struct FilesTogether::Written {
  explicit Written(const std::string& as_given)
      : path(as_given), target(resolved_path(path)), temporary(beside(target) + ".tmp.") {}
  std::string path, target;
  Temporary temporary;

  Result<void> fill(const Producer& produce) {
    if (!temporary.made()) return file_error(path, "create a temporary file next to it", errno);
    Descriptor& file = temporary.file();
    TRY(produce_into(file.get(), path, produce));
    if (!keep_mode(file.get(), target)) return file_error(path, "set its permissions", errno);
    if (::fsync(file.get()) != 0) return file_error(path, "flush", errno);
    if (!file.close()) return file_error(path, "close", errno);
    return {};
  }
};

FilesTogether::FilesTogether() = default;
FilesTogether::~FilesTogether() = default;

Result<void> FilesTogether::write_stream(const std::string& path, const Producer& produce) {
  if (path == "-" || path == "/dev/stdout") return write_standard_output(produce);
  TRY_ASSIGN(const TargetKind kind, examine_target(path));
  if (kind == TargetKind::special) {
    TRY(write_in_place(path, produce));
    log_info([&] { return path + ": written"; });
    return {};
  }
  auto file = std::make_unique<Written>(path);
  TRY(file->fill(produce));
  files_.push_back(std::move(file));
  return {};
}

Result<void> FilesTogether::write(const std::string& path, std::string_view contents) {
  return write_stream(path, [contents](std::ostream& out) -> Result<void> {
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    return {};
  });
}

Result<void> FilesTogether::keep() {
  for (const auto& file : files_) TRY(check_not_input(file->path));  // what was read since, while the last was made
  const SignalsHeld whole;  // a program that ends between two of them would leave a part
  for (const auto& file : files_) {
    if (!file->temporary.rename_to(file->target))
      return file_error(file->path, "rename the temporary file to it", errno);
    log_info([&] { return file->path + ": written"; });
  }
  files_.clear();
  return {};
}

Result<void> write_stream_atomically(const std::string& path, const Producer& produce) {
  FilesTogether alone;
  TRY(alone.write_stream(path, produce));
  return alone.keep();
}

Result<void> write_file_atomically(const std::string& path, std::string_view contents) {
  FilesTogether alone;
  TRY(alone.write(path, contents));
  return alone.keep();
}

Result<void> check_writable(const std::string& path) {
  if (path == "-" || path == "/dev/stdout") return {};
  TRY_ASSIGN(const TargetKind kind, examine_target(path));
  return kind == TargetKind::special ? Result<void>() : probe_folder(path);
}

}  // namespace distsim
