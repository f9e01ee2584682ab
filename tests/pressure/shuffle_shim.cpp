// A library for LD_PRELOAD that returns the entries of folders in an order that depends on SHUFFLE_SEED, as another file
// system would. tests/pressure/determinism_test.py drives it.
#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace {

struct Listing {
  std::vector<dirent> entries;
  std::size_t next = 0;
};

std::mutex mutex;
std::map<DIR*, Listing>& listings() {
  static auto* all = new std::map<DIR*, Listing>;  // outlives every folder
  return *all;
}

using ReadDir = dirent* (*)(DIR*);

std::uint64_t key_of(const dirent& entry) {
  const char* seed = std::getenv("SHUFFLE_SEED");
  std::uint64_t hash = 0xCBF29CE484222325ull ^ (seed ? std::strtoull(seed, nullptr, 10) * 0x9E3779B97F4A7C15ull : 0);
  for (const char* c = entry.d_name; *c != 0; ++c) hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001B3ull;
  return hash ^ hash >> 29;
}

}  // namespace

extern "C" {

dirent* readdir(DIR* folder) {
  static const auto real = reinterpret_cast<ReadDir>(dlsym(RTLD_NEXT, "readdir"));
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = listings().try_emplace(folder);
  Listing& listing = at->second;
  if (is_new) {
    while (const dirent* entry = real(folder))  // which is only as long as its name
      std::memcpy(&listing.entries.emplace_back(), entry, std::min<std::size_t>(entry->d_reclen, sizeof(dirent)));
    std::ranges::sort(listing.entries, {}, key_of);
  }
  return listing.next < listing.entries.size() ? &listing.entries[listing.next++] : nullptr;
}
dirent* readdir_of_64_bits(DIR* folder) __asm__("readdir64");  // the same structure on 64-bit machines
dirent* readdir_of_64_bits(DIR* folder) { return readdir(folder); }

int closedir(DIR* folder) {
  {
    const std::lock_guard lock(mutex);
    listings().erase(folder);
  }
  return reinterpret_cast<int (*)(DIR*)>(dlsym(RTLD_NEXT, "closedir"))(folder);
}

}  // extern "C"
