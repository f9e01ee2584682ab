#include "base/threads/stop.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace distsim {

struct StopQuestion {
  std::function<bool()> asks;
  std::function<void()> raise;
  std::thread::id owner;
  std::chrono::milliseconds between{20};
  std::chrono::steady_clock::time_point next;  ///< of the owner: when it asks again
  std::atomic<bool> stopped{false};
};

namespace {

/// That of the innermost scope of the thread. A pointer: a thread's object with a destructor would need memory where there is
/// none left, and end the program.
thread_local const std::shared_ptr<StopQuestion>* question_of_thread = nullptr;

}  // namespace

StopScope::StopScope(std::function<bool()> asks, std::function<void()> raise) : before_(question_of_thread) {
  if (!asks) return;
  own_ = std::make_shared<StopQuestion>();
  own_->asks = std::move(asks);
  own_->raise = std::move(raise);
  own_->owner = std::this_thread::get_id();
  question_of_thread = &own_;
}

StopScope::StopScope(const std::atomic<bool>& flag)
    : StopScope([&flag] { return flag.load(std::memory_order_relaxed); }) {
  own_->between = {};
}

StopScope::StopScope(std::shared_ptr<StopQuestion> shared) : own_(std::move(shared)), before_(question_of_thread) {
  question_of_thread = &own_;
}

StopScope::~StopScope() { question_of_thread = before_; }

std::shared_ptr<StopQuestion> stop_question() { return question_of_thread == nullptr ? nullptr : *question_of_thread; }

bool stop_asked() {
  StopQuestion* const question = question_of_thread == nullptr ? nullptr : question_of_thread->get();
  if (question == nullptr) return false;
  if (question->stopped.load(std::memory_order_relaxed)) return true;
  if (question->owner != std::this_thread::get_id()) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now < question->next) return false;
  question->next = now + question->between;
  if (!question->asks()) return false;
  question->stopped = true;
  return true;
}

void end_if_stopped() {
  if (!stop_asked()) return;
  const StopQuestion& question = **question_of_thread;
  if (question.owner != std::this_thread::get_id()) return;
  if (question.raise) question.raise();
  throw Stopped{};
}

}  // namespace distsim
