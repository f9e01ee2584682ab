#include "base/system/temporaries.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <utility>

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

}  // namespace

Temporary::Temporary(std::string path) : path_(std::move(path)), place_(enter(path_.c_str())) {}

Temporary::~Temporary() {
  if (!renamed_) ::unlink(path_.c_str());
  if (place_ >= 0) names[static_cast<std::size_t>(place_)] = nullptr;
}

bool Temporary::rename_to(const std::string& target) { return renamed_ = ::rename(path_.c_str(), target.c_str()) == 0; }

void remove_temporaries() {
  for (const auto& name : names) {
    if (const char* path = name.load()) ::unlink(path);
  }
}

}  // namespace distsim
