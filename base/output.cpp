#include "base/output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace distsim {

namespace {

/// Equal for names of one file: device and inode where it exists, else those of its folder and its name there.
std::string identity_of(const std::string& path) {
  struct stat info {};
  const auto number = [&] { return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino); };
  if (::stat(path.c_str(), &info) == 0) return S_ISREG(info.st_mode) ? number() : "special " + path;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return ::stat(folder.c_str(), &info) == 0 ? number() + "/" + name : path;
}

}  // namespace

Result<void> check_outputs(const std::vector<std::pair<std::string, std::string>>& outputs) {
  std::string on_stdout;
  for (const auto& [flag, path] : outputs) {
    if (path.empty()) continue;
    for (const auto& [other_flag, other] : outputs) {
      if (other_flag != flag && !other.empty() && path != "-" && other != "-" &&
          identity_of(other) == identity_of(path))
        return Error{flag + ": found '" + path + "', but " + other_flag + " writes to it too", "", ""};
    }
    if (path == "-") {
      if (!on_stdout.empty())
        return Error{flag + ": found '-', but " + on_stdout + " writes to standard output already", "", ""};
      on_stdout = flag;
      continue;
    }
    const Result<void> writable = check_writable(path);
    if (!writable) return Error{flag + ": " + writable.error().what, writable.error().where, writable.error().hint};
  }
  return {};
}

std::string refuse_empty(const std::string& path) { return path.empty() ? "found an empty file name" : ""; }

bool takes_stdout(const std::vector<std::pair<std::string, std::string>>& outputs) {
  for (const auto& [flag, path] : outputs) {
    if (path == "-") return true;
  }
  return false;
}

Result<void> print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  return Error{std::string("cannot write to standard output: ") + std::strerror(errno), "", ""};
}

ProgressLine::ProgressLine(std::string what, std::size_t total)
    : what_(std::move(what)), total_(total), shown_(isatty(2) != 0) {}

void ProgressLine::advance() {
  ++done_;
  constexpr std::size_t kSteps = 1000;  // of a long list, not every item is worth a line to the terminal
  if (shown_ && done_ % (1 + total_ / kSteps) == 0) std::fprintf(stderr, "\r%s %zu/%zu", what_.c_str(), done_, total_);
}

ProgressLine::~ProgressLine() {
  if (shown_ && done_ > 0) std::fputs("\r\033[K", stderr);
}

}  // namespace distsim
