#include "collectives/logs/line_source.hpp"

#include <algorithm>
#include <istream>

namespace distsim::collectives {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18, kChecked = std::size_t{64} << 10;

}  // namespace

Result<void> LineSource::check_text(std::string_view read) {
  const bool first = checked_ == 0;
  const bool marked = first && (read.starts_with("\xFF\xFE") || read.starts_with("\xFE\xFF"));
  const bool binary = checked_ < kChecked && read.substr(0, kChecked - checked_).find('\0') != std::string_view::npos;
  checked_ += read.size();
  if (marked || binary)
    return Error{"found UTF-16 or binary text, expected plain text", name_, "convert it: iconv -f UTF-16 -t UTF-8"};
  return {};
}

Result<bool> LineSource::next(std::string_view& line) {
  line_.clear();
  bool any = false;
  for (;;) {
    if (at_ == buffer_.size()) {
      buffer_.resize(kBlock);
      in_->read(buffer_.data(), static_cast<std::streamsize>(kBlock));
      buffer_.resize(static_cast<std::size_t>(in_->gcount()));
      at_ = 0;
      if (in_->bad()) return Error{"cannot be read beyond this point", name_, ""};
      const bool first = checked_ == 0;
      TRY(check_text(buffer_));
      if (first && std::string_view(buffer_).starts_with("\xEF\xBB\xBF")) at_ = 3;
    }
    if (buffer_.empty()) break;
    any = true;
    const std::size_t end = std::min(buffer_.find('\n', at_), buffer_.size());
    line_.append(buffer_, at_, std::min(end - at_, kLongest - std::min(kLongest, line_.size())));
    at_ = end;
    if (end == buffer_.size()) continue;
    ++at_;
    ++number_;
    if (line_.ends_with('\r')) line_.pop_back();
    line = line_;
    return true;
  }
  if (!any) return false;
  unfinished_ = true;
  ++number_;
  line = line_;
  return true;
}

}  // namespace distsim::collectives
