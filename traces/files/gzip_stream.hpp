// Gzip as a stream, for large outputs.
#pragma once

#include <ostream>
#include <streambuf>
#include <vector>

#include <zlib.h>

namespace distsim::traces {

/// A stream buffer that compresses what is written to it into another stream. `finish` must be called once, at the end;
/// only then is the output complete.
class GzipBuffer : public std::streambuf {
 public:
  explicit GzipBuffer(std::ostream& out, int level = 6);
  ~GzipBuffer() override;
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;

  /// Writes what is left and the trailer. False where zlib or the stream below failed, now or before.
  bool finish();

 protected:
  int overflow(int c) override;
  int sync() override { return 0; }  // a flush must not cut the deflate stream: it would cost compression

 private:
  bool deflate_pending(int flush);

  std::ostream& out_;
  z_stream z_{};
  bool ok_ = false;
  std::vector<char> in_, packed_;
};

}  // namespace distsim::traces
