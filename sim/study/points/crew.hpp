// The threads of one process that evaluate points, and what they have finished.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "sim/study/points/row.hpp"

namespace distsim::study {

/// A point that a thread is done with.
struct Done {
  std::size_t index = 0;
  std::string row;  ///< encoded; empty: memory did not suffice
};

/// Where a thread cannot be started, those that run do the work; where none does, work_here(). A thread for which memory runs
/// out gives up.
class Crew {
 public:
  Crew(std::function<Row(std::size_t)> evaluate, unsigned threads);
  /// Waits for the points that are being evaluated, no more.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  unsigned threads() const { return static_cast<unsigned>(threads_.size()); }
  void give(std::span<const std::size_t> indices);
  /// Points that no thread has begun.
  std::size_t waiting() const;
  /// Points that were given and are not collected.
  std::size_t open() const;
  /// Forgets the points that no thread has begun.
  void drop();

  /// What is finished; waits for `patience`, less when all that was given is finished. Throws what an evaluation threw
  /// that was not about memory.
  std::vector<Done> collect(std::chrono::milliseconds patience);

  /// Whether all threads have given up: then work_here() evaluates the next point.
  bool is_deserted() const;
  void work_here();

 private:
  void work();
  bool do_next(std::unique_lock<std::mutex>& lock);
  bool is_gone() const { return gone_ == threads_.size(); }

  const std::function<Row(std::size_t)> evaluate_;
  mutable std::mutex mutex_;
  std::condition_variable work_, news_;
  std::deque<std::size_t> queue_;
  std::vector<Done> done_;
  std::size_t busy_ = 0, gone_ = 0;
  bool ending_ = false;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;
};

/// Cores that this process may use; with neighbours on this machine, its share of them, at least one.
unsigned cores_for_each(int neighbours);

}  // namespace distsim::study
