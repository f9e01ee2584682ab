// Traces that were read: a page asks many what-ifs of the same ones.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.hpp"
#include "traces/trace.hpp"

namespace distsim::web {

/// By what was read and how; the last two, and only the last one of large ones. May be used by several threads.
class KeptJobs {
 public:
  std::shared_ptr<const traces::TraceJob> find(const std::string& key);
  void keep(std::string key, std::shared_ptr<const traces::TraceJob> job);

 private:
  static constexpr std::size_t kMostJobs = 2;
  static constexpr std::uint64_t kMostRecords = 4'000'000;  ///< of those that are kept besides the last one
  struct Kept {
    std::string key;
    std::shared_ptr<const traces::TraceJob> job;
  };
  std::mutex mutex_;
  std::deque<Kept> jobs_;  ///< the last used first
};

}  // namespace distsim::web
