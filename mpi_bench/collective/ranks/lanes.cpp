#include "mpi_bench/collective/ranks/lanes.hpp"

#include <cstdint>
#include <cstring>

namespace distsim::bench {
namespace {

constexpr std::size_t kPrefix = sizeof(std::uint64_t);  // the length of the text behind it

Result<void> unpack_one(std::string_view packed, std::vector<std::string>& out) {
  while (!packed.empty()) {
    std::uint64_t length = 0;
    if (packed.size() < kPrefix) return Error{"found a truncated length, expected a complete one", "lanes", ""};
    std::memcpy(&length, packed.data(), kPrefix);
    packed.remove_prefix(kPrefix);
    if (packed.size() < length)
      return Error{"found " + std::to_string(packed.size()) + " bytes, expected " + std::to_string(length), "lanes",
                   ""};
    out.emplace_back(packed.substr(0, length));
    packed.remove_prefix(length);
  }
  return {};
}

}  // namespace

int rank_of(const LanePlace& place, const LaneShape& shape) {
  return (place.process * shape.threads + place.thread) * shape.gpus + place.gpu;
}

LanePlace place_of(int rank, const LaneShape& shape) {
  return {.process = rank / shape.lanes(), .thread = rank / shape.gpus % shape.threads, .gpu = rank % shape.gpus};
}

int device_of(int local_process, const LanePlace& place, const LaneShape& shape) {
  return rank_of({.process = local_process, .thread = place.thread, .gpu = place.gpu}, shape);
}

std::string pack_lanes(std::span<const std::string> texts) {
  std::string packed;
  for (const std::string& text : texts) {
    const std::uint64_t length = text.size();
    packed.append(reinterpret_cast<const char*>(&length), kPrefix);
    packed += text;
  }
  return packed;
}

Result<std::vector<std::string>> unpack_lanes(std::span<const std::string> processes) {
  std::vector<std::string> texts;
  for (const std::string& packed : processes) TRY(unpack_one(packed, texts));
  return texts;
}

}  // namespace distsim::bench
