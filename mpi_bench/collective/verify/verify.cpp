#include "mpi_bench/collective/verify/verify.hpp"

#include <algorithm>
#include <cstring>

namespace distsim::bench {
namespace {

constexpr std::size_t kChunkBytes = 1u << 20;  // divides into whole elements of any type
constexpr std::byte kPoison{0xA5};

PatternSpec spec_of(const Call& call) {
  PatternSpec spec{.type = call.type, .ranks = call.shape.ranks};
  if (call.what->reduces) spec.op = call.op;
  return spec;
}

std::uint64_t result_at(const Backend& backend, const Call& call) {
  return call.in_place ? backend.in_place_result_at(call) : 0;
}

Result<void> poison(Backend& backend, std::uint64_t bytes) {
  const std::vector<std::byte> chunk(std::min<std::uint64_t>(bytes, kChunkBytes), kPoison);
  for (std::uint64_t at = 0; at < bytes; at += chunk.size())
    TRY(backend.write(Backend::Buffer::receive, at,
                      std::span(chunk).first(std::min<std::uint64_t>(chunk.size(), bytes - at))));
  return {};
}

Result<void> write_pattern(Backend& backend, Backend::Buffer buffer, std::uint64_t at, const PatternBytes& pattern,
                           std::uint64_t bytes, std::size_t element_bytes) {
  std::vector<std::byte> chunk(std::min<std::uint64_t>(bytes, kChunkBytes));
  for (std::uint64_t done = 0; done < bytes; done += chunk.size()) {
    const auto part = std::span(chunk).first(std::min<std::uint64_t>(chunk.size(), bytes - done));
    pattern.copy(done / element_bytes, part);
    TRY(backend.write(buffer, at + done, part));
  }
  return {};
}

void compare(std::span<const std::byte> found, std::span<const std::byte> expected, std::uint64_t first_element,
             DataType type, Check& check) {
  if (std::memcmp(found.data(), expected.data(), found.size()) == 0) return;
  const std::size_t e = info_of(type).size;
  for (std::size_t at = 0; at < found.size(); at += e) {
    if (std::memcmp(found.data() + at, expected.data() + at, e) == 0) continue;
    if (check.wrong++ > 0) continue;
    check.first_element = first_element + at / e;
    check.found = element_text(type, found.data() + at);
    check.expected = element_text(type, expected.data() + at);
  }
}

Result<void> check_segment(Backend& backend, const Call& call, const Segment& segment, Check& check) {
  const std::size_t e = info_of(call.type).size;
  const std::uint64_t bytes = segment.count * e, base = result_at(backend, call) + segment.at;
  const PatternBytes pattern(spec_of(call), segment.source, segment.source_index, segment.count);
  std::vector<std::byte> found(std::min<std::uint64_t>(bytes, kChunkBytes)), expected(found.size());
  for (std::uint64_t done = 0; done < bytes; done += found.size()) {
    const std::size_t length = std::min<std::uint64_t>(found.size(), bytes - done);
    TRY(backend.read(Backend::Buffer::receive, base * e + done, std::span(found).first(length)));
    pattern.copy(done / e, std::span(expected).first(length));
    compare(std::span(found).first(length), std::span(expected).first(length), segment.at + done / e, call.type, check);
  }
  return {};
}

}  // namespace

Result<void> fill_buffers(Backend& backend, const Call& call) {
  const std::size_t e = info_of(call.type).size;
  const Layout& l = *call.layout;
  TRY(poison(backend, (call.in_place ? l.in_place_count() : l.recv_count) * e));
  if (l.send_count == 0) return {};
  const PatternBytes pattern(spec_of(call), call.shape.rank, 0, l.send_count);
  const auto buffer = call.in_place ? Backend::Buffer::receive : Backend::Buffer::send;
  return write_pattern(backend, buffer, call.in_place ? l.send_at * e : 0, pattern, l.send_count * e, e);
}

Result<Check> check_buffers(Backend& backend, const Call& call) {
  Check check;
  for (const Segment& segment : call.what->expected(*call.layout, call.shape)) {
    if (segment.count > 0) TRY(check_segment(backend, call, segment, check));
  }
  return check;
}

Result<void> damage_element(Backend& backend, const Call& call, std::uint64_t element) {
  const Layout& l = *call.layout;
  if (element >= l.recv_count) return {};
  const std::uint64_t at = (result_at(backend, call) + element) * info_of(call.type).size;
  std::byte value[1];
  TRY(backend.read(Backend::Buffer::receive, at, value));
  value[0] ^= std::byte{1};
  return backend.write(Backend::Buffer::receive, at, value);
}

}  // namespace distsim::bench
