// One process at a time: locks that end with the process, however it ends.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"
#include "base/system/temporaries.hpp"

namespace distsim {

/// Locks the open file for this process. Error: another one has it, which is named: "in use by process 12, expected
/// `expected`". Where the file system has no locks, that is said and nothing else done.
Result<void> lock_whole(int fd, const std::string& path, const std::string& expected);

/// A file that is there while its owner works on what lies beside it. One that a killed process left behind holds nobody
/// up.
class LockFile {
 public:
  /// Errors: cannot be made; a file that is not empty, as it is removed at the end; as lock_whole.
  static Result<LockFile> open(const std::string& path, const std::string& expected);
  ~LockFile();
  LockFile(LockFile&& other) = default;
  LockFile& operator=(LockFile&& other) = default;

 private:
  LockFile(const std::string& path, Descriptor file)
      : path_(std::make_unique<RemovedBySignal>(path)), file_(std::move(file)) {}
  std::unique_ptr<RemovedBySignal> path_;
  Descriptor file_;
};

}  // namespace distsim
