#include "base/system/inputs/input_record.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace distsim {
namespace {

alignas(8) thread_local InputRecord* recording = nullptr;

FileStamp stamp_from(const std::string& path, const struct stat& info) {
  return {path,
          static_cast<std::uint64_t>(info.st_dev),
          static_cast<std::uint64_t>(info.st_ino),
          static_cast<std::int64_t>(info.st_size),
          static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec,
          S_ISREG(info.st_mode)};
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? stamp_from(path, info) : FileStamp{path};
}

bool are_unchanged(const std::vector<FileStamp>& stamps) {
  return std::ranges::all_of(stamps, [](const FileStamp& stamp) { return stamp_of(stamp.path) == stamp; });
}

Result<void> check_unchanged(const std::vector<FileStamp>& stamps) {
  for (const FileStamp& stamp : stamps) {
    if (stamp.is_file && stamp_of(stamp.path) != stamp)
      return Error{"found another file than at first, or one that has changed, expected one that stays as it is",
                   stamp.path, "it was replaced or written to while it was read: copy it first"};
  }
  return {};
}

InputRecord::InputRecord() : before_(std::exchange(recording, this)) {}
InputRecord::~InputRecord() { recording = before_; }
std::vector<FileStamp> InputRecord::take() { return std::exchange(stamps_, {}); }

void record_input(const std::string& path, int fd) {
  if (recording == nullptr) return;
  struct stat info {};
  if (::fstat(fd, &info) != 0) return;
  for (InputRecord* record = recording; record != nullptr; record = record->before_)
    record->stamps_.push_back(stamp_from(path, info));
}

}  // namespace distsim
