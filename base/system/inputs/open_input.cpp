#include "base/system/inputs/open_input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <streambuf>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "base/system/inputs/input_record.hpp"
#include "base/system/inputs/pipe_texts.hpp"
#include "base/system/signals.hpp"

namespace distsim {
namespace {

constexpr auto kLook = std::chrono::milliseconds(20);

/// Where it is the machine that has no more, nothing is said of the file: a study goes on past files that cannot be read.
Error cannot_open(const std::string& path, int code) {
  if (code == EMFILE || code == ENFILE || code == ENOMEM)
    throw std::system_error(code, std::generic_category(), "cannot open " + path);
  return {std::string("cannot open (") + std::strerror(code) + ")", path, ""};
}

Error nobody(const std::string& path, const char* what) {
  return {std::string("found a pipe that nobody ") + what + " within " + std::to_string(kPipeSeconds) +
              " s, expected a file or a pipe in use",
          path, ""};
}

/// Data, or an end that was open and is closed.
bool comes_alive(int pipe) {
  pollfd waiting{.fd = pipe, .events = POLLIN, .revents = 0};
  for (;;) {
    const int ready = ::poll(&waiting, 1, kPipeSeconds * 1000);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

bool set_blocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

/// Whether a read that gave nothing may be tried again; waits for data where whoever opened the file would not.
bool may_come(int file) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  pollfd waiting{.fd = file, .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, -1) >= 0 || errno == EINTR;
}

class InputBuffer : public std::streambuf {
 public:
  /// `ends_early`: where an early end is asked for.
  InputBuffer(Descriptor file, std::string path, bool ends_early)
      : file_(std::move(file)), path_(std::move(path)), ends_early_(ends_early), bytes_(std::size_t{1} << 16) {}

 protected:
  int_type underflow() override {
    ssize_t got = -1;
    do {
      if (ends_early_ && end_asked()) return traits_type::eof();
      got = ::read(file_.get(), bytes_.data(), bytes_.size());
    } while (got < 0 && may_come(file_.get()));
    if (got < 0) throw std::system_error(errno, std::generic_category(), path_);
    setg(bytes_.data(), bytes_.data(), bytes_.data() + got);
    return got == 0 ? traits_type::eof() : traits_type::to_int_type(bytes_[0]);
  }

 private:
  Descriptor file_;
  std::string path_;
  bool ends_early_;
  std::vector<char> bytes_;
};

class InputStream : public std::istream {
 public:
  InputStream(Descriptor file, const std::string& path, bool ends_early = false)
      : std::istream(nullptr), buffer_(std::move(file), path, ends_early) {
    rdbuf(&buffer_);
  }

 private:
  InputBuffer buffer_;
};

}  // namespace

Result<Descriptor> open_input(const std::string& path) {
  if (path.find('\0') != std::string::npos) return Error{"found a NUL byte in a file name, expected a path", "", ""};
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe without a writer opens, too
  if (!file.valid()) return cannot_open(path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return cannot_open(path, errno);
  if (S_ISDIR(info.st_mode)) return Error{"found a folder, expected a file", path, ""};
  if (S_ISFIFO(info.st_mode) && has_name(file.get()) && !comes_alive(file.get())) return nobody(path, "writes to");
  if (!set_blocking(file.get())) return cannot_open(path, errno);
  note_input(file.get());
  record_input(path, file.get());
  return file;
}

std::optional<int> own_descriptor(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  const std::string process = "/proc/" + std::to_string(::getpid()) + "/";
  std::string at = path;
  for (int links = 0; links < kMostLinks; ++links) {
    const std::size_t slash = at.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : at.substr(0, slash);
    const std::string name = slash == std::string::npos ? at : at.substr(slash + 1);
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(folder.c_str(), nullptr), &std::free);
    if (!real) return std::nullopt;
    const std::string_view place = real.get();  // /proc/<process>/fd, or /proc/<process>/task/<thread>/fd
    if (place.starts_with(process) && place.ends_with("/fd")) {
      int descriptor = -1;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), descriptor);
      const bool is_number = error == std::errc() && end == name.data() + name.size();
      return is_number && descriptor >= 0 ? std::optional(descriptor) : std::nullopt;
    }
    std::array<char, 4096> target{};
    const std::string link = std::string(place) + "/" + name;
    const ssize_t size = ::readlink(link.c_str(), target.data(), target.size() - 1);
    if (size <= 0) return std::nullopt;  // no link
    const std::string to(target.data(), static_cast<std::size_t>(size));
    at = to.starts_with('/') ? to : std::string(place) + "/" + to;
  }
  return std::nullopt;
}

Result<Descriptor> open_special_output(const std::string& path) {
  if (const auto own = own_descriptor(path)) {
    Descriptor file(::fcntl(*own, F_DUPFD_CLOEXEC, 3));  // its place in the file is kept
    if (!file.valid() || (::fcntl(*own, F_GETFL) & O_ACCMODE) == O_RDONLY) return cannot_open(path, EBADF);
    return file;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kPipeSeconds);
  for (;;) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file.valid() && !set_blocking(file.get())) return cannot_open(path, errno);
    if (file.valid()) return file;
    if (errno != ENXIO) return cannot_open(path, errno);
    if (std::chrono::steady_clock::now() > end) return nobody(path, "reads from");
    std::this_thread::sleep_for(kLook);
  }
}

Result<std::unique_ptr<std::istream>> open_input_stream(const std::string& path) {
  TRY_ASSIGN(Descriptor file, open_input(path));
  return std::unique_ptr<std::istream>(std::make_unique<InputStream>(std::move(file), path));
}

std::unique_ptr<std::istream> standard_input() {
  return std::make_unique<InputStream>(Descriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)), "standard input", true);
}

}  // namespace distsim
