#include "sim/web/answers/kept_reports.hpp"

#include <utility>

namespace distsim::web {

std::shared_ptr<const KeptReport> KeptReports::find(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto it = by_text_.find(text);
  if (it == by_text_.end()) return nullptr;
  order_.splice(order_.begin(), order_, it->second);
  return order_.front();
}

void KeptReports::keep(KeptReport report) {
  const std::size_t bytes = report.bytes();
  if (bytes > kMostBytes / 8) return;  // one that would push out most others
  auto kept = std::make_shared<const KeptReport>(std::move(report));
  const std::lock_guard lock(mutex_);
  if (by_text_.contains(kept->text)) return;
  order_.push_front(std::move(kept));
  by_text_.emplace(order_.front()->text, order_.begin());
  bytes_ += bytes;
  while (bytes_ > kMostBytes) {
    bytes_ -= order_.back()->bytes();
    by_text_.erase(order_.back()->text);
    order_.pop_back();
  }
}

void KeptReports::clear() {
  const std::lock_guard lock(mutex_);
  by_text_.clear();
  order_.clear();
  bytes_ = 0;
}

}  // namespace distsim::web
