// Which files were read for something that is kept, and whether one of them is another now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace distsim {

/// What identifies the contents of a file, or the names in a folder: device, inode, size and time of the last change.
struct FileStamp {
  std::string path;
  std::uint64_t device = 0, inode = 0;
  std::int64_t size = -1;  ///< -1: there is none
  std::int64_t changed_ns = 0;
  bool is_file = false;  ///< a regular one: the times of pipes change as they are read
  bool operator==(const FileStamp&) const = default;
};

FileStamp stamp_of(const std::string& path);

/// Whether every one of them is as it was. Cost: about a microsecond each.
bool are_unchanged(const std::vector<FileStamp>& stamps);

/// For what was read in several openings and must be of one file each. Error: a file of them that was replaced or changed
/// since it was opened, or between two openings.
Result<void> check_unchanged(const std::vector<FileStamp>& stamps);

/// While one lives, its thread records every file that it opens (base/system/inputs/open_input.hpp), also for those that
/// lived before.
class InputRecord {
 public:
  InputRecord();
  ~InputRecord();
  InputRecord(const InputRecord&) = delete;
  InputRecord& operator=(const InputRecord&) = delete;
  std::vector<FileStamp> take();

 private:
  friend void record_input(const std::string& path, int fd);
  std::vector<FileStamp> stamps_;
  InputRecord* before_;
};

/// For open_input: notes the open file where this thread records.
void record_input(const std::string& path, int fd);

}  // namespace distsim
