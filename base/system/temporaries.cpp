#include "base/system/temporaries.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <new>
#include <utility>

#include "base/random.hpp"

namespace distsim {
namespace {

/// Names of files that are there, in blocks that are never freed: a handler, which may come at any moment, reads no other
/// memory than this. A set of files holds a temporary for each of its members until the last one is written.
struct Block {
  std::array<std::atomic<const char*>, 64> names{};
  std::atomic<Block*> next{nullptr};
};
static_assert(std::atomic<const char*>::is_always_lock_free && std::atomic<Block*>::is_always_lock_free);

Block first;
std::atomic<Block*> search_from{&first};  ///< blocks before it are full
std::atomic<pid_t> working_group{0};      ///< see EndedBySignal
static_assert(std::atomic<pid_t>::is_always_lock_free);

/// The block behind `block`, made where there is none; nullptr without memory for it.
Block* after(Block& block) {
  if (Block* next = block.next) return next;
  Block *made = new (std::nothrow) Block, *none = nullptr;
  if (!made || block.next.compare_exchange_strong(none, made)) return made;
  delete made;
  return none;
}

/// A place for the name: nullptr without memory.
std::atomic<const char*>* enter(const char* name) {
  for (Block* block = search_from; block; block = after(*block)) {
    search_from = block;
    for (std::atomic<const char*>& place : block->names) {
      const char* none = nullptr;
      if (place.load(std::memory_order_relaxed) == nullptr && place.compare_exchange_strong(none, name)) return &place;
    }
  }
  return nullptr;
}

void leave(std::atomic<const char*>* place) {
  if (!place) return;
  *place = nullptr;
  search_from = &first;
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
    leave(std::exchange(place_, nullptr));
    if (errno != EEXIST) return;
  }
}

Temporary::~Temporary() {
  if (made_ && !renamed_) ::unlink(path_.c_str());
  leave(place_);
}

bool Temporary::rename_to(const std::string& target) { return renamed_ = ::rename(path_.c_str(), target.c_str()) == 0; }

RemovedBySignal::RemovedBySignal(std::string path) : path_(std::move(path)), place_(enter(path_.c_str())) {}
RemovedBySignal::~RemovedBySignal() { leave(place_); }

TemporaryFolder::TemporaryFolder(const std::string& begin) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && !made_; ++i) {
    path_ = begin + random_letters();
    place_ = enter(path_.c_str());
    made_ = ::mkdir(path_.c_str(), 0700) == 0;
    if (made_) return;
    leave(std::exchange(place_, nullptr));
    if (errno != EEXIST) return;
  }
}

TemporaryFolder::~TemporaryFolder() {
  for (const auto& file : files_) ::unlink(file->path().c_str());
  if (made_) ::rmdir(path_.c_str());
  leave(place_);
}

const std::string& TemporaryFolder::file(const char* name) {
  files_.push_back(std::make_unique<RemovedBySignal>(path_ + "/" + name));
  return files_.back()->path();
}

EndedBySignal::EndedBySignal(pid_t group) { working_group = group; }
EndedBySignal::~EndedBySignal() { working_group = 0; }

void remove_temporaries() {
  if (const pid_t group = working_group; group > 0) {
    ::kill(-group, SIGKILL);
    ::waitpid(group, nullptr, 0);
  }
  const auto remove_by = [](int (*remove)(const char*)) {
    for (const Block* block = &first; block; block = block->next) {
      for (const auto& name : block->names) {
        if (const char* path = name.load()) remove(path);
      }
    }
  };
  remove_by(::unlink);
  remove_by(::rmdir);  // of folders, which are empty now
}

}  // namespace distsim
