// Bytes of a trace file, one piece after the other: plain files and gzip. Memory does not grow with the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace distsim::traces {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Up to `n` further bytes; 0 at the end.
  virtual Result<std::size_t> read(char* to, std::size_t n) = 0;
  /// True after the end, where the container (gzip, zip) stops before it says that it is complete.
  virtual bool cut_short() const { return false; }
  /// How many bytes are left, where the source knows; 0 where it does not.
  virtual std::uint64_t known_left() const { return 0; }
};

/// A plain file. Refuses folders, and what is neither file nor pipe.
Result<std::unique_ptr<ByteSource>> open_plain(const std::string& path);

/// The largest text that a compressed file may become: `ratio` times its size, but always 1 MiB.
struct ExpansionLimit {
  double ratio = 100;
  std::uint64_t max_bytes = std::uint64_t{64} << 30;
};

/// How the packed data of a file (gzip, a member of a zip archive) ended, once they were read to their end.
struct PackedEnd {
  bool cut = false;          ///< before they say that they are complete
  bool damaged = false;      ///< cut, as they cannot be unpacked any further
  bool altered = false;      ///< all of them unpack, but not to what their checksum or length is of
  std::uint64_t behind = 0;  ///< bytes of the file behind them that are neither another member nor padding of zeros
};

/// Expands gzip (also several members in a row) read from `packed`. `name` appears in messages; `end` is told how the
/// data ended. Error: damaged data, or more than the limit.
std::unique_ptr<ByteSource> expand_gzip(std::unique_ptr<ByteSource> packed, std::string name, ExpansionLimit limit,
                                        std::shared_ptr<PackedEnd> end = std::make_shared<PackedEnd>());

/// Reads until `n` bytes are there or the source ends.
Result<std::size_t> read_fully(ByteSource& source, char* to, std::size_t n);

/// All that is left, at most `max_bytes`; more is an error, before it is read where the source knows.
Result<std::string> read_all(ByteSource& source, const std::string& name, std::uint64_t max_bytes);

/// Text that is in memory already.
std::unique_ptr<ByteSource> from_memory(std::shared_ptr<const std::string> text);

/// Error: `expanded` bytes of text from `packed` bytes are more than `limit` allows.
Result<void> check_expansion(const ExpansionLimit& limit, std::uint64_t packed, std::uint64_t expanded,
                             const std::string& name);

}  // namespace distsim::traces
