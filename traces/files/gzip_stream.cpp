#include "traces/files/gzip_stream.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 16;
constexpr int kGzipWindow = 15 + 16;  // 32 KiB window, gzip header and trailer

}  // namespace

GzipBuffer::GzipBuffer(std::ostream& out, int level) : out_(out), in_(kBuffer), packed_(kBuffer) {
  ok_ = deflateInit2(&z_, level, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK;
  setp(in_.data(), in_.data() + in_.size());
}

GzipBuffer::~GzipBuffer() { deflateEnd(&z_); }

bool GzipBuffer::deflate_pending(int flush) {
  z_.next_in = reinterpret_cast<Bytef*>(pbase());
  z_.avail_in = static_cast<uInt>(pptr() - pbase());
  do {
    z_.next_out = reinterpret_cast<Bytef*>(packed_.data());
    z_.avail_out = static_cast<uInt>(packed_.size());
    if (deflate(&z_, flush) == Z_STREAM_ERROR) ok_ = false;
    out_.write(packed_.data(), static_cast<std::streamsize>(packed_.size() - z_.avail_out));
  } while (ok_ && out_.good() && z_.avail_out == 0);
  setp(in_.data(), in_.data() + in_.size());
  ok_ = ok_ && out_.good();
  return ok_;
}

int GzipBuffer::overflow(int c) {
  if (!ok_ || !deflate_pending(Z_NO_FLUSH)) return traits_type::eof();
  if (c != traits_type::eof()) sputc(static_cast<char>(c));
  return traits_type::not_eof(c);
}

bool GzipBuffer::finish() { return ok_ && deflate_pending(Z_FINISH); }

}  // namespace distsim::traces
