// FNV-1a (Fowler, Noll and Vo): h = (h xor byte) * prime, byte by byte. Tells a text that was edited or damaged from
// the one that was written; it does not protect against deliberate collisions. The value is the same on every machine,
// so it can be stored in files.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace distsim {

/// 64 bits of a sequence of texts and numbers.
class Fnv64 {
 public:
  void add_bytes(std::string_view bytes) {
    for (const char c : bytes) step(static_cast<unsigned char>(c));
  }
  /// A text and its end, so that "ab","c" and "a","bc" differ.
  void add(std::string_view text) {
    add_bytes(text);
    step(0xFF);
  }
  /// Eight bytes, the least first.
  void add_word(std::uint64_t word) {
    for (int bit = 0; bit < 64; bit += 8) step(static_cast<unsigned char>(word >> bit));
  }
  /// A number with 17 digits, which is all of a double.
  void add(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    add(std::string_view(text));
  }
  std::uint64_t value() const { return hash_; }
  /// 16 digits.
  std::string hex() const {
    char text[20];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash_));
    return text;
  }

 private:
  void step(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001B3ull; }
  std::uint64_t hash_ = 0xCBF29CE484222325ull;
};

/// 32 bits of one text, for short names.
inline std::uint32_t fnv32(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

}  // namespace distsim
