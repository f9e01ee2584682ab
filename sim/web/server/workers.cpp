#include "sim/web/server/workers.hpp"

#include <utility>

namespace distsim::web {

Workers::Workers(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

void Workers::give(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  news_.notify_one();
}

void Workers::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    waiting_.clear();
  }
  news_.notify_all();
  threads_.clear();
}

void Workers::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
  }
}

}  // namespace distsim::web
