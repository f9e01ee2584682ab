// Files that a page made and is about to fetch: a bounded store by random names.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace distsim::web {

struct KeptFile {
  std::string id, name, type, text;
  std::chrono::steady_clock::time_point made;
};

/// May be used by several threads.
class KeptFiles {
 public:
  /// The oldest go where there are more than this, or more bytes together; each goes after a while.
  static constexpr std::size_t kMostFiles = 64;
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  static constexpr std::chrono::seconds kAge{120};

  /// Its random name.
  std::string keep(std::string name, std::string type, std::string text);
  std::shared_ptr<const KeptFile> find(std::string_view id);
  /// Lets go of those that are too old; find and keep do so too.
  void tidy();

 private:
  void forget(std::chrono::steady_clock::time_point now);
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::deque<std::shared_ptr<const KeptFile>> files_;  ///< the oldest first
};

}  // namespace distsim::web
