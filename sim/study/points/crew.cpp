#include "sim/study/points/crew.hpp"

#include <sched.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "base/system/signals.hpp"

namespace distsim::study {

Crew::Crew(std::function<Row(std::size_t)> evaluate, unsigned threads) : evaluate_(std::move(evaluate)) {
  try {
    threads_.reserve(threads);
    for (unsigned t = 0; t < threads; ++t) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // fewer threads
  } catch (const std::bad_alloc&) {
  }
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_all();
  for (std::jthread& thread : threads_) thread.join();
}

void Crew::give(std::span<const std::size_t> indices) {
  {
    const std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), indices.begin(), indices.end());
  }
  if (indices.size() == 1)
    work_.notify_one();
  else
    work_.notify_all();
}

std::size_t Crew::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

std::size_t Crew::open() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() + busy_ + done_.size();
}

void Crew::drop() {
  const std::lock_guard lock(mutex_);
  queue_.clear();
}

std::vector<Done> Crew::collect(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, patience, [&] {
    return failure_ || (queue_.empty() && busy_ == 0 && !done_.empty()) || (is_gone() && !queue_.empty());
  });
  if (failure_) std::rethrow_exception(failure_);
  return std::exchange(done_, {});
}

bool Crew::is_deserted() const {
  const std::lock_guard lock(mutex_);
  return is_gone();
}

void Crew::work_here() {
  std::unique_lock lock(mutex_);
  if (!queue_.empty()) do_next(lock);
}

/// False where memory did not suffice. No row where a signal ended it. Called with the lock, and returns with it.
bool Crew::do_next(std::unique_lock<std::mutex>& lock) {
  Done one{queue_.front(), {}};
  queue_.pop_front();
  ++busy_;
  lock.unlock();
  bool enough = true;
  std::exception_ptr failure;
  try {
    (void)unless_signalled([&] {
      const Row row = evaluate_(one.index);
      if (!row.is_unfinished) one.row = encode(row);
    });
  } catch (const std::bad_alloc&) {
    one.row.clear();
    enough = false;
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  --busy_;
  if (failure && !failure_) failure_ = failure;
  if (!failure) done_.push_back(std::move(one));
  if (failure || !enough || (queue_.empty() && busy_ == 0)) news_.notify_all();
  return enough;
}

void Crew::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (ending_ || !do_next(lock)) break;
  }
  ++gone_;
  news_.notify_all();
}

unsigned cores_for_each(int neighbours) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0;
  const unsigned cores = known ? static_cast<unsigned>(CPU_COUNT(&allowed)) : std::thread::hardware_concurrency();
  return std::clamp(cores / static_cast<unsigned>(std::max(1, neighbours)), 1u, 256u);
}

}  // namespace distsim::study
