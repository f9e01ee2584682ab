// Files that exist only until they become another: nothing of them is left behind, also where a signal ends the process.
#pragma once

#include <string>

namespace distsim {

/// The name of such a file, from before it is created; removes it unless it became the target.
class Temporary {
 public:
  explicit Temporary(std::string path);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  const std::string& path() const { return path_; }
  bool rename_to(const std::string& target);

 private:
  const std::string path_;
  int place_ = -1;  ///< in the list for signals; -1: that was full
  bool renamed_ = false;
};

/// Removes all that exist; a signal handler may call it. Nothing else may be done with them after that.
void remove_temporaries();

}  // namespace distsim
