#include "base/output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include "base/system/inputs/link_target.hpp"
#include "base/system/inputs/open_input.hpp"
#include "base/system/write_all.hpp"
#include "base/text/printable.hpp"

namespace distsim {

namespace {

/// The file that standard output goes to: "-" by another name. Not /dev/null, which keeps nothing.
bool is_standard_output(const struct stat& file) {
  struct stat out {};
  return !S_ISCHR(file.st_mode) && ::fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == file.st_dev &&
         out.st_ino == file.st_ino;
}

/// Equal for names of one file: device and inode where it exists, else those of its folder and its name there, behind all
/// links; "-" for standard output.
std::string identity_of(const std::string& given) {
  struct stat info {};
  const auto number = [&] { return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino); };
  if (given == "-" || given == "/dev/stdout" || own_descriptor(given) == STDOUT_FILENO) return "-";  // a terminal, too
  if (::stat(given.c_str(), &info) == 0) {
    if (is_standard_output(info)) return "-";
    return S_ISCHR(info.st_mode) ? "device " + given : number();
  }
  const std::string path = link_target(given).value_or(given);
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return ::stat(folder.c_str(), &info) == 0 ? number() + "/" + name : path;
}

std::vector<std::pair<std::string, std::string>> paths_of(const std::vector<OutputFile>& outputs) {
  std::vector<std::pair<std::string, std::string>> paths;
  for (const OutputFile& output : outputs) paths.emplace_back(output.flag, output.path);
  return paths;
}

/// Standard output, a pipe or a device: no file that another one could be written together with.
bool goes_out_at_once(const std::string& path) {
  struct stat info {};
  return path == "-" || path == "/dev/stdout" ||
         (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

/// The files that a command writes to.
class Targets {
 public:
  /// Error: another output goes to the file `identity`. Equal devices are shared: what is written to /dev/null twice is lost
  /// once.
  Result<void> add(const std::string& flag, const std::string& path, const std::string& identity) {
    const auto [known, is_new] = flag_of_.try_emplace(identity, flag);
    if (is_new || identity.starts_with("device ")) return {};
    const char* taken = identity == "-" ? " writes to standard output already" : " writes to it too";
    return Error{flag + ": found '" + path + "', but " + known->second + taken, "", ""};
  }

 private:
  std::unordered_map<std::string, std::string> flag_of_;
};

}  // namespace

Result<void> check_outputs(const std::vector<std::pair<std::string, std::string>>& outputs) {
  Targets targets;
  for (const auto& [flag, path] : outputs) {
    if (path.empty()) continue;
    const std::string identity = identity_of(path);
    TRY(targets.add(flag, path, identity));
    if (path != "-" && identity == "-" && path != "/dev/stdout")
      return Error{flag + ": found the file that standard output goes to, expected another one, or -", path, ""};
    const Result<void> writable = check_writable(path);
    if (!writable) return Error{flag + ": " + writable.error().what, writable.error().where, writable.error().hint};
  }
  return {};
}

Result<void> check_apart(const std::vector<std::pair<std::string, std::string>>& outputs) {
  Targets targets;
  for (const auto& [flag, path] : outputs) {
    if (!path.empty()) TRY(targets.add(flag, path, identity_of(path)));
  }
  return {};
}

OutputFile text_file(std::string flag, std::string path, std::function<std::string()> text) {
  auto write = [path, text = std::move(text)](FilesTogether& files) { return files.write(path, text()); };
  return {std::move(flag), std::move(path), std::move(write)};
}

Result<void> write_output_files(const std::vector<OutputFile>& outputs) {
  FilesTogether files;
  Result<void> all = check_apart(paths_of(outputs));
  for (const OutputFile& output : outputs) {
    if (output.path.empty() || (!all.ok() && !goes_out_at_once(output.path))) continue;
    Result<void> written = check_outputs({{output.flag, output.path}});
    if (written.ok()) written = output.write(files);
    if (!written.ok() && all.ok()) all = std::move(written);
  }
  return all.ok() ? files.keep() : all;
}

Result<void> write_and_print(const std::vector<OutputFile>& outputs, const std::function<std::string()>& text) {
  const Result<void> written = write_output_files(outputs);
  if (!takes_stdout(paths_of(outputs))) TRY(print(text()));
  return written;
}

std::string refuse_empty(const std::string& path) { return path.empty() ? "found an empty file name" : ""; }

std::string refuse_stdout(const std::string& path) {
  const bool taken = !path.empty() && identity_of(path) == "-";
  return taken ? "found standard output, expected a file that can be read again" : refuse_empty(path);
}

bool takes_stdout(const std::vector<std::pair<std::string, std::string>>& outputs) {
  for (const auto& [flag, path] : outputs) {
    if (path == "-" || path == "/dev/stdout") return true;
  }
  return false;
}

Result<void> print(const std::string& report) {
  const std::string text = console_text(report);
  if (std::fflush(stdout) == 0 && write_all(STDOUT_FILENO, text.data(), text.size())) return {};
  return Error{std::string("cannot write to standard output: ") + std::strerror(errno), "", ""};
}

Result<void> check_printed() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return Error{"cannot write to standard output: not all of the text is there", "", ""};
}

void remark(std::string_view text) {
  std::fputs(message_line("distsim: " + std::string(text)).append("\n").c_str(), stderr);
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
