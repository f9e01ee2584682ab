// Reports that were asked for before: a slider has few places, and is moved back and forth.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace distsim::web {

/// What is sent of a prediction.
struct KeptReport {
  std::string text;          ///< of the experiment
  std::string iteration_ps;  ///< in decimal
  std::string report;        ///< JSON
  std::size_t bytes() const { return text.size() + report.size(); }
};

/// By the text of the experiment; the least lately used go first. May be used by several threads.
class KeptReports {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  std::shared_ptr<const KeptReport> find(const std::string& text);
  void keep(KeptReport report);
  void clear();

 private:
  using Order = std::list<std::shared_ptr<const KeptReport>>;  ///< the last used first
  std::mutex mutex_;
  Order order_;
  std::unordered_map<std::string_view, Order::iterator> by_text_;  ///< views into the reports
  std::size_t bytes_ = 0;
};

}  // namespace distsim::web
