#include "collectives/curve_set.hpp"

#include <algorithm>

#include "base/file.hpp"
#include "collectives/nccl_tests_reader.hpp"

namespace distsim::collectives {

namespace {

/// A line that begins with a field of curve.proto. A log of nccl-tests has none; a comment of a curve file may well speak of nccl-tests.
bool looks_like_curve_file(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    for (std::string_view field : {"version:", "system:", "curve_count:", "curves {", "curves{"}) {
      if (line.starts_with(field)) return true;
    }
    begin = end + 1;
  }
  return false;
}

}  // namespace

Result<CurveSet> read_curve_file(const std::string& path) {
  TRY_ASSIGN(std::string text, read_file(path, kMaxCurveFileBytes));
  if (text.empty()) return Error{"found an empty file, expected a curve file or an nccl-tests log", path, ""};
  return looks_like_curve_file(text) ? parse_curve_text(text, path) : parse_nccl_tests(text, path);
}

}  // namespace distsim::collectives
