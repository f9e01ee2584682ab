// Threads that answer messages.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace distsim::web {

class Workers {
 public:
  explicit Workers(unsigned threads);
  /// Waits for what is being worked on; drops the rest.
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void give(std::function<void()> work);
  void stop();

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::function<void()>> waiting_;
  bool ending_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace distsim::web
