#include "traces/files/byte_source.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#include "base/system/inputs/open_input.hpp"
#include "base/text/quantity_text.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kPackedChunk = std::size_t{1} << 18;
constexpr std::uint64_t kAlwaysAllowed = std::uint64_t{1} << 20;

std::string byte_text(std::uint64_t n) { return format_quantity(static_cast<double>(n), Dimension::bytes); }

class PlainFile : public ByteSource {
 public:
  PlainFile(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Result<std::size_t> read(char* to, std::size_t n) override {
    for (;;) {
      const ssize_t got = ::read(file_.get(), to, n);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return Error{std::string("cannot read: ") + std::strerror(errno), path_, ""};
    }
  }

  std::uint64_t known_left() const override {
    struct stat info {};
    const bool is_file = ::fstat(file_.get(), &info) == 0 && S_ISREG(info.st_mode);
    const off_t at = is_file ? ::lseek(file_.get(), 0, SEEK_CUR) : -1;
    return at >= 0 && at < info.st_size ? static_cast<std::uint64_t>(info.st_size - at) : 0;
  }

 private:
  Descriptor file_;
  std::string path_;
};

class GzipSource : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> packed, std::string name, ExpansionLimit limit, std::shared_ptr<PackedEnd> end)
      : packed_(std::move(packed)), name_(std::move(name)), limit_(limit), end_(std::move(end)), chunk_(kPackedChunk) {
    ready_ = inflateInit2(&z_, 15 + 16) == Z_OK;
  }
  ~GzipSource() override { inflateEnd(&z_); }

  Result<std::size_t> read(char* to, std::size_t n) override {
    if (!ready_) return Error{"zlib initialisation failed", name_, ""};
    z_.next_out = reinterpret_cast<Bytef*>(to);
    z_.avail_out = static_cast<uInt>(std::min<std::size_t>(n, std::size_t{1} << 30));
    const std::size_t room = z_.avail_out;
    while (z_.avail_out == room && !done_) TRY(step());
    const std::size_t got = room - z_.avail_out;
    out_ += got;
    TRY(check_expansion(limit_, in_, out_, name_));
    return got;
  }

  bool cut_short() const override { return end_->cut; }

 private:
  Result<void> refill() {
    TRY_ASSIGN(const std::size_t n, packed_->read(chunk_.data(), chunk_.size()));
    z_.next_in = reinterpret_cast<Bytef*>(chunk_.data());
    z_.avail_in = static_cast<uInt>(n);
    in_ += n;
    at_end_ = n == 0;
    return {};
  }

  /// One call of inflate, or the start of the next member.
  Result<void> step() {
    if (z_.avail_in == 0 && !at_end_) TRY(refill());
    if (member_done_ && trailer_left_ > 0 && z_.avail_in > 0) {
      const uInt passed = std::min(trailer_left_, z_.avail_in);
      z_.next_in += passed, z_.avail_in -= passed, trailer_left_ -= passed;
      return {};
    }
    if (member_done_) return next_member();
    const int code = inflate(&z_, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) throw std::bad_alloc();  // no damage: not to be read over
    if (code == Z_STREAM_END) {
      member_done_ = true;
    } else if (code == Z_BUF_ERROR || (code == Z_OK && z_.avail_in == 0 && at_end_)) {
      if (at_end_ && z_.avail_out > 0) end_->cut = done_ = true;
    } else if (code == Z_DATA_ERROR && is_at_trailer()) {
      end_->altered = member_done_ = true;
    } else if (code != Z_OK) {
      if (out_ == 0 && z_.total_out == 0)
        return Error{std::string("found damaged gzip data (") + (z_.msg ? z_.msg : "no reason given") + ")", name_, ""};
      end_->cut = end_->damaged = done_ = true;  // what came before the damage is still good
    }
    return {};
  }

  /// Whether what zlib refuses is the checksum or the length behind a member, which it tells by its text alone.
  bool is_at_trailer() {
    const std::string_view said = z_.msg != nullptr ? z_.msg : "";
    if (said == "incorrect data check") trailer_left_ = 4;  // bytes of the length, not looked at any more
    return said == "incorrect data check" || said == "incorrect length check";
  }

  Result<void> next_member() {
    const bool another = z_.avail_in > 0 && z_.next_in[0] == 0x1f;
    if (!another) return read_behind();
    if (inflateReset(&z_) != Z_OK) return Error{"zlib reset failed", name_, ""};
    member_done_ = false;
    return {};
  }

  /// To the end of the file. Padding with zeros is common, on tapes and by filesystems that crashed.
  Result<void> read_behind() {
    done_ = true;
    std::uint64_t behind = 0;
    bool padding = true;
    while (!at_end_) {
      padding = padding && std::all_of(z_.next_in, z_.next_in + z_.avail_in, [](Bytef byte) { return byte == 0; });
      behind += z_.avail_in;
      TRY(refill());
    }
    end_->behind = padding ? 0 : behind;
    return {};
  }

  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  ExpansionLimit limit_;
  std::shared_ptr<PackedEnd> end_;
  z_stream z_{};
  std::vector<char> chunk_;
  std::uint64_t in_ = 0, out_ = 0;
  uInt trailer_left_ = 0;
  bool ready_ = false, at_end_ = false, member_done_ = false, done_ = false;
};

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::shared_ptr<const std::string> text) : text_(std::move(text)) {}

  Result<std::size_t> read(char* to, std::size_t n) override {
    const std::size_t got = std::min(n, text_->size() - used_);
    std::memcpy(to, text_->data() + used_, got);
    used_ += got;
    return got;
  }

 private:
  std::shared_ptr<const std::string> text_;
  std::size_t used_ = 0;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_plain(const std::string& path) {
  TRY_ASSIGN(Descriptor file, open_input(path));
  return std::unique_ptr<ByteSource>(std::make_unique<PlainFile>(std::move(file), path));
}

std::unique_ptr<ByteSource> expand_gzip(std::unique_ptr<ByteSource> packed, std::string name, ExpansionLimit limit,
                                        std::shared_ptr<PackedEnd> end) {
  return std::make_unique<GzipSource>(std::move(packed), std::move(name), limit, std::move(end));
}

Result<std::size_t> read_fully(ByteSource& source, char* to, std::size_t n) {
  std::size_t have = 0;
  while (have < n) {
    TRY_ASSIGN(const std::size_t got, source.read(to + have, n - have));
    if (got == 0) break;
    have += got;
  }
  return have;
}

Result<std::string> read_all(ByteSource& source, const std::string& name, std::uint64_t max_bytes) {
  const Error too_many{"found more than " + byte_text(max_bytes) + ", expected at most that", name, ""};
  const std::uint64_t left = source.known_left();
  if (left > max_bytes) return too_many;
  std::string text;
  text.reserve(left);
  std::vector<char> chunk(kPackedChunk);
  for (;;) {
    TRY_ASSIGN(const std::size_t got, source.read(chunk.data(), chunk.size()));
    if (got == 0) return text;
    if (text.size() + got > max_bytes) return too_many;
    text.append(chunk.data(), got);
  }
}

std::unique_ptr<ByteSource> from_memory(std::shared_ptr<const std::string> text) {
  return std::make_unique<MemorySource>(std::move(text));
}

Result<void> check_expansion(const ExpansionLimit& limit, std::uint64_t packed, std::uint64_t expanded,
                             const std::string& name) {
  const std::string hint = "decompress it first if that is intended";
  if (expanded > limit.max_bytes)
    return Error{"found more text than expected, at most " + byte_text(limit.max_bytes), name, hint};
  const double allowed = std::max(static_cast<double>(packed) * limit.ratio, static_cast<double>(kAlwaysAllowed));
  if (static_cast<double>(expanded) <= allowed) return {};
  return Error{"found compressed data that expands to more than " +
                   std::to_string(static_cast<long long>(limit.ratio)) + " times its size, expected a trace",
               name, hint};
}

}  // namespace distsim::traces
