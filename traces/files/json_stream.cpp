#include "traces/files/json_stream.hpp"

#include <algorithm>
#include <cstring>

#include "base/text/printable.hpp"
#include "traces/files/json_scan.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kFront = 64;              // bytes in front of the text that a handler may write to
constexpr std::size_t kSuspicious = 64 * 1024;  // an element longer than this is searched for the start of another one
constexpr std::size_t kLongestKey = 4096;

bool blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

class Stream {
 public:
  Stream(ByteSource& source, std::string name, std::size_t window, std::size_t max_piece, JsonHandler& handler)
      : source_(source),
        name_(std::move(name)),
        max_piece_(max_piece),
        handler_(handler),
        buffer_(kFront + std::max<std::size_t>(window, 4096) + kJsonPadding) {}

  Result<JsonStreamEnd> run() {
    TRY_ASSIGN(const char first, first_byte());
    if (first == '[') {
      if (handler_.on_key("") == JsonHandler::Want::elements) {
        TRY(array(""));
      } else {
        TRY(skip());
      }
    } else if (first == '{') {
      ++pos_;
      TRY(object());
    } else {
      return wrong("expected JSON: '{' or '['");
    }
    if (source_.cut_short()) end_.complete = false;
    if (end_.complete) {
      TRY_ASSIGN(const bool more, next());
      if (more) return wrong("expected the end of the file after its JSON document");
    }
    end_.bytes = consumed_ + (filled_ - kFront);
    return end_;
  }

 private:
  Error wrong(const std::string& expected) const {
    const std::string found = pos_ < filled_ ? in_quotes(std::string_view(&buffer_[pos_], 1)) : "the end";
    return Error{"byte " + std::to_string(offset(pos_)) + ": found " + found + ", " + expected, name_, ""};
  }
  std::uint64_t offset(std::size_t at) const { return consumed_ + (at - kFront); }

  /// Drops what is before `keep`, then reads more; false at the end of the input. Positions in the buffer move down by
  /// the bytes dropped.
  Result<bool> fill(std::size_t& keep) {
    const std::size_t dropped = keep - kFront;
    if (dropped > 0) std::memmove(&buffer_[kFront], &buffer_[keep], filled_ - keep);
    filled_ -= dropped;
    pos_ -= dropped;
    consumed_ += dropped;
    keep = kFront;
    if (filled_ + kJsonPadding == buffer_.size()) {
      if (filled_ - kFront > max_piece_)
        return Error{"byte " + std::to_string(offset(keep)) + ": found a value longer than " +
                         std::to_string(max_piece_) + " bytes",
                     name_, ""};
      buffer_.resize(std::min(buffer_.size() * 2, kFront + max_piece_ + 1 + kJsonPadding));
    }
    const std::size_t room = buffer_.size() - kJsonPadding - filled_;
    TRY_ASSIGN(const std::size_t got, source_.read(&buffer_[filled_], room));
    filled_ += got;
    return got > 0;
  }

  /// Moves to the next byte that is not blank; false at the end of the input.
  Result<bool> next() {
    for (;;) {
      while (pos_ < filled_ && blank(buffer_[pos_])) ++pos_;
      if (pos_ < filled_) return true;
      std::size_t keep = pos_;
      TRY_ASSIGN(const bool more, fill(keep));
      if (!more) return false;
    }
  }

  Result<char> first_byte() {
    TRY_ASSIGN(bool there, next());
    if (there) {
      std::size_t keep = pos_;
      while (filled_ - pos_ < 3) {
        TRY_ASSIGN(const bool more, fill(keep));
        if (!more) break;
      }
      if (filled_ - pos_ >= 3 && std::memcmp(&buffer_[pos_], "\xEF\xBB\xBF", 3) == 0) {
        pos_ += 3;
        TRY_ASSIGN(there, next());
      }
    }
    if (!there) return Error{"found an empty file, expected JSON", name_, ""};
    return buffer_[pos_];
  }

  /// The extent of the value at pos_, all of it in the buffer when `keep` says so; false when the input ends first.
  Result<bool> value_end(std::size_t& begin, bool keep) {
    JsonScan scan;
    std::size_t at = begin;
    for (;;) {
      const char* stop = scan.advance(&buffer_[at], buffer_.data() + filled_);
      if (stop != nullptr) {
        pos_ = static_cast<std::size_t>(stop - buffer_.data());
        return true;
      }
      pos_ = filled_;
      std::size_t from = keep ? begin : filled_;
      TRY_ASSIGN(const bool more, fill(from));
      if (keep) begin = from;
      at = pos_;
      if (!more) return false;
    }
  }

  Result<void> skip() {
    std::size_t begin = pos_;
    TRY_ASSIGN(const bool whole, value_end(begin, false));
    if (!whole) end_.complete = false;
    return {};
  }

  Result<void> object() {
    for (;;) {
      TRY_ASSIGN(bool there, next());
      if (!there) {
        end_.complete = false;
        return {};
      }
      if (buffer_[pos_] == ',') {
        ++pos_;
        continue;
      }
      if (buffer_[pos_] == '}') {
        ++pos_;
        return {};
      }
      if (buffer_[pos_] != '"') return wrong("expected a key in quotes");
      std::size_t begin = pos_;
      TRY_ASSIGN(there, value_end(begin, true));
      if (!there) {
        end_.complete = false;
        return {};
      }
      if (pos_ - begin > kLongestKey) return wrong("expected a key of at most 4096 bytes");
      const std::string key(&buffer_[begin + 1], pos_ - begin - 2);
      TRY_ASSIGN(there, next());
      if (there && buffer_[pos_] != ':') return wrong("expected ':' after the key " + in_quotes(key));
      if (there) ++pos_;
      if (there) {
        TRY_ASSIGN(there, next());
      }
      if (!there) {
        end_.complete = false;
        return {};
      }
      TRY(member(key));
      if (!end_.complete) return {};
    }
  }

  Result<void> member(const std::string& key) {
    const JsonHandler::Want want = handler_.on_key(key);
    if (want == JsonHandler::Want::elements && buffer_[pos_] == '[') return array(key);
    if (want != JsonHandler::Want::value) return skip();
    std::size_t begin = pos_;
    TRY_ASSIGN(const bool whole, value_end(begin, true));
    if (!whole) {
      end_.complete = false;
      return {};
    }
    if (pos_ == begin) return wrong("expected a value");
    return handler_.on_value(key, std::string_view(&buffer_[begin], pos_ - begin));
  }

  Result<void> flush() {
    if (batch_.elements.empty()) return {};
    batch_.text = buffer_.data();
    batch_.before = batch_.elements.front().begin;
    const Result<void> done = handler_.on_elements(batch_);
    batch_.elements.clear();
    return done;
  }

  Result<void> array(const std::string&) {
    ++pos_;
    for (;;) {
      while (pos_ < filled_ && (blank(buffer_[pos_]) || buffer_[pos_] == ',')) ++pos_;
      if (pos_ == filled_) {
        TRY(flush());
        std::size_t keep = pos_;
        TRY_ASSIGN(const bool more, fill(keep));
        if (!more) {
          end_.complete = false;
          return {};
        }
        continue;
      }
      if (buffer_[pos_] == ']') {
        ++pos_;
        return flush();
      }
      TRY_ASSIGN(const bool whole, element());
      if (!whole) {
        end_.complete = false;
        return flush();
      }
    }
  }

  /// One element, from pos_ on; false when the input ends within it.
  Result<bool> element() {
    std::size_t begin = pos_;
    JsonScan scan;
    std::size_t at = begin;
    for (;;) {
      const char* stop = scan.advance(&buffer_[at], buffer_.data() + filled_);
      if (stop != nullptr) {
        pos_ = static_cast<std::size_t>(stop - buffer_.data());
        if (pos_ == begin) return wrong("expected an element");
        if (pos_ - begin > kSuspicious && restart_in(begin)) return true;
        batch_.elements.push_back({begin, pos_});
        return true;
      }
      pos_ = filled_;
      if (pos_ - begin > kSuspicious && restart_in(begin)) return true;
      TRY(flush());
      TRY_ASSIGN(const bool more, fill(begin));
      at = pos_;
      if (!more) {
        pos_ = filled_;
        return restart_in(begin);
      }
    }
  }

  /// An element whose quotes do not match runs on over its successors. Looks for `}, { "start"` behind `begin`; if it
  /// is there, goes on at that `{`.
  bool restart_in(std::size_t begin) {
    const std::string_view start = handler_.element_start();
    if (start.empty()) return false;
    const std::string_view text(&buffer_[begin], pos_ - begin);
    for (std::size_t at = text.find(start, 1); at != std::string_view::npos; at = text.find(start, at + 1)) {
      std::size_t open = at;
      const auto back = [&] {
        while (open > 0 && blank(text[open - 1])) --open;
        return open > 0 ? text[open - 1] : '\0';
      };
      if (back() != '{') continue;
      const std::size_t brace = --open;
      if (back() != ',') continue;
      --open;
      if (back() != '}' || brace == 0) continue;
      ++end_.broken_elements;
      std::memset(&buffer_[begin], ' ', brace);  // so that the elements around it stay one array
      pos_ = begin + brace;
      return true;
    }
    return false;
  }

  ByteSource& source_;
  std::string name_;
  std::size_t max_piece_;
  JsonHandler& handler_;
  std::vector<char> buffer_;
  std::size_t pos_ = kFront, filled_ = kFront;
  std::uint64_t consumed_ = 0;
  JsonBatch batch_;
  JsonStreamEnd end_;
};

}  // namespace

Result<JsonStreamEnd> stream_json(ByteSource& source, const std::string& name, std::size_t window,
                                  std::size_t max_piece, JsonHandler& handler) {
  return Stream(source, name, window, max_piece, handler).run();
}

}  // namespace distsim::traces
