#include "traces/files/gunzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <vector>

namespace distsim::traces {
namespace {

class Inflate {
 public:
  Inflate() {
    const int code = inflateInit2(&z_, 15 + 16);  // 16: only gzip headers
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    ok_ = code == Z_OK;
  }
  ~Inflate() { inflateEnd(&z_); }
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;
  bool ok() const { return ok_; }
  z_stream& stream() { return z_; }

 private:
  z_stream z_{};
  bool ok_ = false;
};

constexpr std::size_t kMostInput = std::size_t{1} << 30;  // zlib counts in unsigned int

}  // namespace

Result<std::string> gunzip(std::string_view bytes, const std::string& file, ExpansionLimit limit) {
  const auto broken = [&] {
    return Error{"found damaged or incomplete gzip data, expected a complete file", file, ""};
  };
  if (bytes.size() > kMostInput) return Error{"found more than 1 GiB of gzip data, expected less", file, ""};
  Inflate inflate_;
  if (!inflate_.ok()) return broken();
  z_stream& z = inflate_.stream();
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  std::vector<char> chunk(std::size_t{1} << 16);
  while (z.avail_in > 0) {
    int state = Z_OK;
    while (state == Z_OK) {
      z.next_out = reinterpret_cast<Bytef*>(chunk.data());
      z.avail_out = static_cast<uInt>(chunk.size());
      state = ::inflate(&z, Z_NO_FLUSH);
      if (state == Z_MEM_ERROR) throw std::bad_alloc();
      if (state != Z_OK && state != Z_STREAM_END) return broken();
      out.append(chunk.data(), chunk.size() - z.avail_out);
      TRY(check_expansion(limit, bytes.size(), out.size(), file));
    }
    if (z.avail_in > 0 && inflateReset(&z) != Z_OK) return broken();
  }
  return out;
}

std::string gunzip_head(std::string_view start, std::size_t bytes) {
  Inflate inflate_;
  if (!inflate_.ok() || start.size() > kMostInput) return "";
  z_stream& z = inflate_.stream();
  std::string out(bytes, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(start.data()));
  z.avail_in = static_cast<uInt>(start.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  if (::inflate(&z, Z_SYNC_FLUSH) == Z_MEM_ERROR) throw std::bad_alloc();
  out.resize(out.size() - z.avail_out);
  return out;
}

}  // namespace distsim::traces
