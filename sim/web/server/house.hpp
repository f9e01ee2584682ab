// What all connections share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>

#include "sim/web/answers/answers.hpp"
#include "sim/web/gate.hpp"
#include "sim/web/server/workers.hpp"

namespace distsim::web {

inline constexpr std::size_t kMostConnections = 1024;  ///< more are closed at once
inline constexpr std::size_t kMostPages = 256;         ///< of them with a WebSocket
inline constexpr std::size_t kMostHeader = 16 << 10;   ///< bytes of a request
inline constexpr std::size_t kMostMessage = 512 << 10;
inline constexpr std::size_t kMostUnsent = std::size_t{64}
                                           << 20;       ///< of one answer, and to one page that does not read
inline constexpr std::size_t kMostWaiting = 16;         ///< messages of one page
inline constexpr std::chrono::seconds kHeaderTime{10};  ///< for a whole request, also the next of a connection
inline constexpr std::chrono::seconds kSendTime{60};
inline constexpr std::chrono::seconds kIdleTime{300};   ///< of a page that answers no ping
inline constexpr std::chrono::seconds kAnswerTime{30};  ///< then a page is told that the answer is not coming

/// The flags of the answers that are being worked on, so that all of them can be stopped. May be used by several threads.
class Begun {
 public:
  using Flag = std::shared_ptr<std::atomic<bool>>;
  void add(const Flag& flag) {
    const std::lock_guard lock(mutex_);
    if (is_over_) *flag = true;
    flags_.insert(flag);
  }
  void remove(const Flag& flag) {
    const std::lock_guard lock(mutex_);
    flags_.erase(flag);
  }
  /// Those that come later, too.
  void stop_all() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    for (const Flag& flag : flags_) *flag = true;
  }

 private:
  std::mutex mutex_;
  std::set<Flag> flags_;
  bool is_over_ = false;
};

struct House {
  House(Answers& a, const Gate& g, Workers& q, Workers& s, Workers& f, std::size_t most)
      : answers(a), gate(g), quick(q), studies(s), files(f), most_connections(most) {}
  Answers& answers;
  const Gate& gate;
  Workers& quick;
  Workers& studies;
  Workers& files;  ///< that are being received
  const std::size_t most_connections;
  std::size_t connections = 0, pages = 0, receiving = 0;  ///< changed by the server's thread only
  Begun begun;
};

/// One more while it lives.
class Counted {
 public:
  explicit Counted(std::size_t& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::size_t& count_;
};

}  // namespace distsim::web
