#include "sim/study/points/row.hpp"

#include <bit>
#include <utility>

#include "base/check.hpp"

namespace distsim::study {
namespace {

void put_count(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

/// Takes bytes from the front; an end that comes too early is remembered.
class RowBytes {
 public:
  explicit RowBytes(std::string_view bytes) : left_(bytes) {}
  bool whole() const { return !short_ && left_.empty(); }
  std::size_t left() const { return left_.size(); }

  std::uint64_t count() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = text(1);
      if (byte.empty()) return 0;
      value |= std::uint64_t(static_cast<unsigned char>(byte[0]) & 0x7F) << shift;
      if ((static_cast<unsigned char>(byte[0]) & 0x80) == 0) return value;
    }
    short_ = true;
    return 0;
  }

  double figure() {
    std::uint64_t bits = 0;
    int shift = 0;
    for (const char c : text(8)) {
      bits |= std::uint64_t(static_cast<unsigned char>(c)) << shift;
      shift += 8;
    }
    return std::bit_cast<double>(bits);
  }

  std::string_view text(std::uint64_t size) {
    if (size > left_.size()) {
      short_ = true;
      left_ = {};
    }
    if (short_) return {};
    const std::string_view out = left_.substr(0, size);
    left_.remove_prefix(size);
    return out;
  }

 private:
  std::string_view left_;
  bool short_ = false;
};

}  // namespace

std::string encode(const Row& row) {
  std::string out;
  put_count(out, row.figures.size());
  for (const double figure : row.figures) {
    const auto bits = std::bit_cast<std::uint64_t>(figure);
    for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(bits >> shift);
  }
  put_count(out, row.texts.size());
  for (const std::string& text : row.texts) {
    put_count(out, text.size());
    out += text;
  }
  put_count(out, row.error.size());
  return out += row.error;
}

std::optional<Row> decode_row(std::string_view bytes) {
  RowBytes in(bytes);
  Row row;
  const std::uint64_t figures = in.count();
  if (figures > in.left() / 8) return std::nullopt;
  row.figures.reserve(figures);
  for (std::uint64_t i = 0; i < figures; ++i) row.figures.push_back(in.figure());
  const std::uint64_t texts = in.count();
  if (texts > in.left()) return std::nullopt;
  row.texts.reserve(texts);
  for (std::uint64_t i = 0; i < texts; ++i) row.texts.emplace_back(in.text(in.count()));
  row.error = in.text(in.count());
  if (!in.whole()) return std::nullopt;
  return row;
}

Row Rows::at(std::size_t index) const {
  std::optional<Row> row = decode_row(bytes_[index]);
  CHECK(row.has_value());
  return std::move(*row);
}

bool Rows::add(std::size_t index, std::string bytes) {
  if (has(index)) return false;
  bytes_[index] = std::move(bytes);
  ++known_;
  return true;
}

}  // namespace distsim::study
