// A timeline file as both writers write it: piece by piece, compressed where its name ends in .gz.
#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>

#include "base/file.hpp"
#include "base/result.hpp"
#include "traces/files/gzip_stream.hpp"

namespace distsim::traces {

/// Text that a writer holds before it goes to the stream, in bytes.
constexpr std::size_t kFlushAt = std::size_t{1} << 16;

/// `write` puts the whole timeline into the stream it is given.
inline Result<void> write_timeline_file(const std::string& path, FilesTogether& files,
                                        const std::function<Result<void>(std::ostream&)>& write) {
  return files.write_stream(path, [&](std::ostream& out) -> Result<void> {
    if (!path.ends_with(".gz")) return write(out);
    GzipBuffer buffer(out);
    std::ostream packed(&buffer);
    TRY(write(packed));
    if (!buffer.finish()) return Error{"cannot write the compressed timeline", "", "is the disk full?"};
    return {};
  });
}

}  // namespace distsim::traces
