// A fuzz target: a function that takes any bytes. With clang (-DDISTSIM_FUZZ=ON) each becomes a program of libFuzzer; in
// the tests all are one program that plays their seeds and some seconds of edits of them (mutate_main.cpp).
//   FUZZ_TARGET(yaml) { ... text ... }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "base/result.hpp"

namespace distsim::fuzz {

using Target = void (*)(std::string_view text);

/// Enters a target in the list of all; returns true.
bool enter(const char* name, Target target);

/// What every reader promises of its refusals: one line, fit for a terminal, not endless.
inline void check_line(const std::string& line) {
  CHECK(!line.empty() && line.size() < 4200);
  for (const char c : line) CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << line;
}
template <class T>
void check_answer(const Result<T>& result) {
  if (!result.ok()) check_line(result.error().text());
}

/// The bytes as a file that is opened by its path, without a disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int fd_ = -1;
  std::string path_;
};

}  // namespace distsim::fuzz

#ifdef DISTSIM_LIBFUZZER
#define FUZZ_TARGET(name)                                                             \
  static void name##_target(std::string_view text);                                   \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);  \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    name##_target({reinterpret_cast<const char*>(data), size});                       \
    return 0;                                                                         \
  }                                                                                   \
  static void name##_target(std::string_view text)
#else
#define FUZZ_TARGET(name)                                                                         \
  static void name##_target(std::string_view text);                                               \
  [[maybe_unused]] static const bool name##_entered = distsim::fuzz::enter(#name, name##_target); \
  static void name##_target(std::string_view text)
#endif
