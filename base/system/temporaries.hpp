// Files that exist only until they become another: nothing of them is left behind, also where a signal ends the process.
#pragma once

#include <atomic>
#include <string>

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

/// Removes all that exist; a signal handler may call it. Nothing else may be done with them after that.
void remove_temporaries();

}  // namespace distsim
