#include "opmodels/checked_text.hpp"

#include <zlib.h>

#include <charconv>
#include <cstdint>

namespace distsim::opmodels {
namespace {

constexpr std::string_view kChecksumKey = "crc32 ";

std::uint32_t crc32_of(std::string_view text) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

}  // namespace

std::string with_checksum(std::string text) {
  char digits[8];
  const auto end = std::to_chars(digits, digits + sizeof digits, crc32_of(text), 16);
  text += kChecksumKey;
  text.append(digits, end.ptr);
  return text + '\n';
}

Result<std::string_view> checked_text(std::string_view text, std::string_view kind, std::string_view writer) {
  const std::size_t at = text.rfind("\n" + std::string(kChecksumKey));
  if (at == std::string_view::npos)
    return Error{"found no crc32 line, expected an intact " + std::string(kind) + "; it may be truncated", "", ""};
  const std::string_view body = text.substr(0, at + 1);
  std::string_view stored = text.substr(at + 1 + kChecksumKey.size());
  if (stored.ends_with('\n')) stored.remove_suffix(1);
  std::uint32_t sum = 0;
  const auto [end, error] = std::from_chars(stored.data(), stored.data() + stored.size(), sum, 16);
  if (error == std::errc() && end == stored.data() + stored.size() && sum == crc32_of(body)) return body;
  return Error{"crc32: found a checksum that does not match, expected an intact " + std::string(kind), "",
               "write it again with " + std::string(writer)};
}

}  // namespace distsim::opmodels
