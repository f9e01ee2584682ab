// Files that exist only until they become another: nothing of them is left behind, also where a signal ends the process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/system/descriptor.hpp"

namespace distsim {

/// Such a file; removes it unless it became the target.
class Temporary {
 public:
  /// Makes an empty file whose name is `begin` and 16 random letters, with what the umask leaves of 0666. Random, and not of
  /// the process: in containers that share a folder every process may be the first. errno says why where it is not `made`.
  explicit Temporary(const std::string& begin);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  bool made() const { return made_; }
  Descriptor& file() { return file_; }
  const std::string& path() const { return path_; }
  bool rename_to(const std::string& target);

 private:
  std::string path_;
  Descriptor file_;
  std::atomic<const char*>* place_ = nullptr;  ///< in the list for signals; nullptr: no memory for a longer list
  bool made_ = false, renamed_ = false;
};

/// A file that a signal removes, too, as long as this lives.
class RemovedBySignal {
 public:
  explicit RemovedBySignal(std::string path);
  ~RemovedBySignal();
  RemovedBySignal(const RemovedBySignal&) = delete;
  RemovedBySignal& operator=(const RemovedBySignal&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::atomic<const char*>* place_;
};

/// A folder of its own, for a program that works on files; it vanishes with those that `file` has named.
class TemporaryFolder {
 public:
  /// Makes one whose name is `begin` and 16 random letters, for this user alone. errno says why where it is not `made`.
  explicit TemporaryFolder(const std::string& begin);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  bool made() const { return made_; }
  const std::string& path() const { return path_; }
  /// The path of a file in it, which need not be there.
  const std::string& file(const char* name);

 private:
  std::string path_;
  std::atomic<const char*>* place_ = nullptr;
  std::vector<std::unique_ptr<RemovedBySignal>> files_;
  bool made_ = false;
};

/// A child that leads a process group of its own and makes such files: remove_temporaries() ends the group first. One at a
/// time.
class EndedBySignal {
 public:
  explicit EndedBySignal(pid_t group);
  ~EndedBySignal();  ///< to be called before the child is waited for: its number is another's then
  EndedBySignal(const EndedBySignal&) = delete;
  EndedBySignal& operator=(const EndedBySignal&) = delete;
};

/// Removes all that exist; a signal handler may call it. Nothing else may be done with them after that.
void remove_temporaries();

}  // namespace distsim
