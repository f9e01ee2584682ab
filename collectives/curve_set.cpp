#include "collectives/curve_set.hpp"

#include "base/file.hpp"
#include "collectives/nccl_tests_reader.hpp"

namespace distsim::collectives {

namespace {

/// Field names of curve.proto that any curve file begins with.
bool looks_like_curve_file(std::string_view text) {
  const std::string_view head = text.substr(0, 65536);
  return head.find("version:") != std::string_view::npos || head.find("curves {") != std::string_view::npos || head.find("curve_count:") != std::string_view::npos;
}

}  // namespace

Result<CurveSet> read_curve_file(const std::string& path) {
  TRY_ASSIGN(std::string text, read_file(path, kMaxCurveFileBytes));
  if (text.empty()) return Error{"found an empty file, expected a curve file or an nccl-tests log", path, ""};
  if (looks_like_nccl_tests(text) || !looks_like_curve_file(text)) return parse_nccl_tests(text, path);
  return parse_curve_text(text, path);
}

}  // namespace distsim::collectives
