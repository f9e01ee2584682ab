// Traces that pages send: files in the server's private folder, by random names, a bounded number of bounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sim/web/files/private_folder.hpp"

namespace distsim::web {

struct Upload {
  std::string id;    ///< what a page calls it
  std::string name;  ///< of the file, as far as it may be one (plain_file_name)
  std::string path;
  std::uint64_t bytes = 0;
};

/// May be used by several threads.
class Uploads {
 public:
  static constexpr std::uint64_t kMostFileBytes = std::uint64_t{2} << 30;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;  ///< of all; the oldest go where there are more
  static constexpr std::size_t kMostFiles = 256;

  explicit Uploads(PrivateFolder& folder) : folder_(folder) {}

  /// A place for a file that is about to come, in a folder of its own. Error: there is none.
  Result<Upload> begin(std::string_view name);
  /// It has come as a whole.
  void finish(Upload upload);
  /// It has not.
  static void drop(const Upload& upload);

  /// Paths of the files with these ids. Error: one of them is not there, or not any more.
  Result<std::vector<std::string>> paths(const std::vector<std::string>& ids) const;

 private:
  PrivateFolder& folder_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 1, bytes_ = 0;
  std::deque<Upload> files_;  ///< the oldest first
};

}  // namespace distsim::web
