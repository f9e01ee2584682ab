// A folder of the server's own, which only its user can read: for traces that a page sends, and placements that it plans.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/system/descriptor.hpp"

namespace distsim::web {

/// Made when it is first needed, in $TMPDIR or /tmp, and removed with all that is in it when the server ends. A server that
/// was killed leaves its folder; the next one of the same user removes it. May be used by several threads.
class PrivateFolder {
 public:
  PrivateFolder() = default;
  ~PrivateFolder() { remove(); }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  /// Canonical. Error: no folder can be made there.
  Result<std::string> path();
  /// Empty where there is none yet.
  std::string known_path();
  /// With what is in it. Nothing is made any more after that.
  void remove();

 private:
  std::mutex mutex_;
  std::string path_;
  Descriptor lock_;  ///< says to servers that cannot see this process, in other containers, that it lives
  bool is_over_ = false;
};

/// A name that a client gave a file, as one that may stand in a folder: letters, digits, '.', '_', '-', at most 100 of them,
/// the last ones, which are what tells formats apart. "trace" where nothing of it is left.
std::string plain_file_name(std::string_view given);

}  // namespace distsim::web
