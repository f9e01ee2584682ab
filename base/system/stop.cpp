#include "base/system/stop.hpp"

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

std::shared_ptr<StopQuestion>& own_question() {
  alignas(8) thread_local std::shared_ptr<StopQuestion> question;
  return question;
}

}  // namespace

StopScope::StopScope(std::function<bool()> asks, std::function<void()> raise) : before_(own_question()) {
  if (!asks) return;
  auto question = std::make_shared<StopQuestion>();
  question->asks = std::move(asks);
  question->raise = std::move(raise);
  question->owner = std::this_thread::get_id();
  own_question() = std::move(question);
}

StopScope::StopScope(const std::atomic<bool>& flag)
    : StopScope([&flag] { return flag.load(std::memory_order_relaxed); }) {
  own_question()->between = {};
}

StopScope::StopScope(std::shared_ptr<StopQuestion> shared) : before_(own_question()) {
  own_question() = std::move(shared);
}

StopScope::~StopScope() { own_question() = std::move(before_); }

std::shared_ptr<StopQuestion> stop_question() { return own_question(); }

bool stop_asked() {
  const std::shared_ptr<StopQuestion>& question = own_question();
  if (!question) return false;
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
  const StopQuestion& question = *own_question();
  if (question.owner != std::this_thread::get_id()) return;
  if (question.raise) question.raise();
  throw Stopped{};
}

}  // namespace distsim
