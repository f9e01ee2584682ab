#include "base/system/inputs/pipe_texts.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>

#include <map>
#include <mutex>
#include <utility>

namespace distsim {
namespace {

constexpr auto kPipeFilesystem = 0x50495045;  // PIPEFS_MAGIC of linux/magic.h: pipes without a name
constexpr std::size_t kMostKept = std::size_t{16} << 20;

struct PipeTexts {
  std::mutex mutex;
  std::map<std::pair<dev_t, ino_t>, std::string> of_pipe;
};

PipeTexts& pipe_texts() {
  static PipeTexts texts;
  return texts;
}

}  // namespace

bool has_name(int pipe) {
  struct statfs system {};
  return ::fstatfs(pipe, &system) != 0 || system.f_type != kPipeFilesystem;
}

std::optional<std::string> text_of_pipe(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISFIFO(info.st_mode)) return std::nullopt;
  PipeTexts& texts = pipe_texts();
  const std::lock_guard lock(texts.mutex);
  const auto known = texts.of_pipe.find({info.st_dev, info.st_ino});
  return known == texts.of_pipe.end() ? std::nullopt : std::optional(known->second);
}

void keep_text_of_pipe(int fd, const std::string& text) {
  struct stat info {};
  if (text.size() > kMostKept || ::fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode) || has_name(fd)) return;
  PipeTexts& texts = pipe_texts();
  const std::lock_guard lock(texts.mutex);
  texts.of_pipe.try_emplace({info.st_dev, info.st_ino}, text);
}

}  // namespace distsim
