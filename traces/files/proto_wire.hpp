// Minimal protocol buffer output for streaming writers: tags, varints and nested messages appended to a string.
// Wire format: https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text/printable.hpp"

namespace distsim::traces {

inline void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline std::string utf8_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool ascii = static_cast<unsigned char>(text[0]) < 0x80;
    const std::size_t length = ascii ? 1 : utf8_character_length(text);
    out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

/// One message as bytes; fields are appended in the order of the calls.
class ProtoMessage {
 public:
  void varint(std::uint32_t field, std::uint64_t value) {
    tag(field, 0);
    append_varint(bytes_, value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    tag(field, 1);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift);
  }
  void number(std::uint32_t field, double value) { fixed64(field, std::bit_cast<std::uint64_t>(value)); }
  void bytes(std::uint32_t field, std::string_view value) {
    tag(field, 2);
    append_varint(bytes_, value.size());
    bytes_ += value;
  }
  /// A string, which has to be UTF-8: what is none becomes U+FFFD.
  void text(std::uint32_t field, std::string_view value) { bytes(field, utf8_text(value)); }
  void message(std::uint32_t field, const ProtoMessage& inner) { bytes(field, inner.bytes_); }
  const std::string& str() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  void clear() { bytes_.clear(); }

 private:
  void tag(std::uint32_t field, std::uint32_t wire_type) { append_varint(bytes_, field << 3 | wire_type); }
  std::string bytes_;
};

}  // namespace distsim::traces
