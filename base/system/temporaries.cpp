#include "base/system/temporaries.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "base/random.hpp"

namespace distsim {
namespace {

/// A handler may read no other memory than this. Outputs are written one after the other by at most a few threads.
constexpr int kMost = 64;
std::array<std::atomic<const char*>, kMost> names{};
static_assert(std::atomic<const char*>::is_always_lock_free);

int enter(const char* name) {
  for (int i = 0; i < kMost; ++i) {
    const char* none = nullptr;
    if (names[static_cast<std::size_t>(i)].compare_exchange_strong(none, name)) return i;
  }
  return -1;
}

void leave(int place) {
  if (place >= 0) names[static_cast<std::size_t>(place)] = nullptr;
}

/// Of the kernel; where it has none yet, early after its start, of the clock and the process.
std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof bits)) return bits;
  static std::atomic<std::uint64_t> calls{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  Random mixed(static_cast<std::uint64_t>(now) ^ (static_cast<std::uint64_t>(::getpid()) << 40));
  return mixed.next() + calls++;
}

std::string random_letters() {
  std::string out;
  for (std::uint64_t bits = random_bits(); out.size() < 16; bits >>= 4) out += static_cast<char>('a' + bits % 16);
  return out;
}

}  // namespace

Temporary::Temporary(const std::string& begin) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && !made_; ++i) {
    path_ = begin + random_letters();
    place_ =
        enter(path_.c_str());  // before it is there: a signal may come between. Nobody else has a file of this name
    file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    made_ = file_.valid();
    if (made_) return;
    leave(std::exchange(place_, -1));
    if (errno != EEXIST) return;
  }
}

Temporary::~Temporary() {
  if (made_ && !renamed_) ::unlink(path_.c_str());
  leave(place_);
}

bool Temporary::rename_to(const std::string& target) { return renamed_ = ::rename(path_.c_str(), target.c_str()) == 0; }

void remove_temporaries() {
  for (const auto& name : names) {
    if (const char* path = name.load()) ::unlink(path);
  }
}

}  // namespace distsim
