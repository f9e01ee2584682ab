#include "base/system/stop.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace distsim {

struct StopQuestion {
  std::function<bool()> asks;
  std::thread::id owner;
  std::chrono::steady_clock::time_point last;  ///< of the owner
  std::atomic<bool> stopped{false};
};

namespace {

constexpr auto kBetween = std::chrono::milliseconds(20);

std::shared_ptr<StopQuestion>& own_question() {
  alignas(8) thread_local std::shared_ptr<StopQuestion> question;
  return question;
}

}  // namespace

StopScope::StopScope(std::function<bool()> asks) : before_(own_question()) {
  if (!asks) return;
  auto question = std::make_shared<StopQuestion>();
  question->asks = std::move(asks);
  question->owner = std::this_thread::get_id();
  question->last = std::chrono::steady_clock::now();
  own_question() = std::move(question);
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
  if (now - question->last < kBetween) return false;
  question->last = now;
  if (!question->asks()) return false;
  question->stopped = true;
  return true;
}

}  // namespace distsim
