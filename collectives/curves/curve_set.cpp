#include "collectives/curves/curve_set.hpp"

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "base/system/open_input.hpp"
#include "collectives/logs/line_source.hpp"
#include "collectives/logs/log_readers.hpp"

namespace distsim::collectives {

namespace {

enum class Format : std::uint8_t { curve_file, binary, json, osu, param, nccl_tests };

constexpr std::size_t kSniffed = std::size_t{64} << 10;

/// A line that begins with a field of curve.proto. A log of nccl-tests has none; a comment of a curve file may well
/// mention nccl-tests.
bool begins_curve_file(std::string_view line) {
  for (std::string_view field : {"version:", "system:", "curve_count:", "curves {", "curves{"}) {
    if (line.starts_with(field)) return true;
  }
  return false;
}

Format format_of(std::string_view head) {
  if (begins_binary_curve_file(head)) return Format::binary;
  const std::size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first != std::string_view::npos && head[first] == '{') return Format::json;
  for (std::size_t begin = 0; begin < head.size();) {
    const std::size_t end = std::min(head.find('\n', begin), head.size());
    const std::string_view line = head.substr(begin, end - begin);
    if (begins_curve_file(line)) return Format::curve_file;
    if (line.find("# OSU ") != std::string_view::npos) return Format::osu;
    if (line.find("COMMS-RES") != std::string_view::npos) return Format::param;
    begin = end + 1;
  }
  return Format::nccl_tests;
}

/// The first bytes. A pipe would have lost them to the reader that follows.
Result<std::string> head_of(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_fifo(path, unknown))
    return Error{"found a pipe, expected a file: it is read twice", path, "write it to a file first"};
  TRY_ASSIGN(const auto in, open_input_stream(path));
  std::string head(kSniffed, '\0');
  in->read(head.data(), static_cast<std::streamsize>(head.size()));
  if (in->bad()) return Error{"cannot be read", path, ""};
  head.resize(static_cast<std::size_t>(in->gcount()));
  return head;
}

Result<CurveSet> read_log(const std::string& path, Result<CurveSet> (*read)(LineSource&, const LogHints&),
                          const LogHints& hints) {
  TRY_ASSIGN(const auto in, open_input_stream(path));
  LineSource lines(*in, path);
  return read(lines, hints);
}

}  // namespace

Result<CurveSet> read_curve_file(const std::string& path, const LogHints& hints) {
  TRY_ASSIGN(const std::string head, head_of(path));
  if (head.empty())
    return Error{"found an empty file, expected a curve file or a log (nccl-tests, OSU, PARAM)", path, ""};
  switch (format_of(head)) {
    case Format::curve_file: {
      TRY_ASSIGN(const std::string text, read_file(path, kMaxCurveFileBytes));
      return parse_curve_text(text, path);
    }
    case Format::binary: {
      TRY_ASSIGN(const std::string bytes, read_file(path, kMaxCurveFileBytes));
      return parse_curve_binary(bytes, path);
    }
    case Format::json: {
      TRY_ASSIGN(const std::string text, read_file(path, kMaxJsonBytes));
      return parse_json_log(text, path, hints);
    }
    case Format::osu:
      return read_log(path, parse_osu, hints);
    case Format::param:
      return read_log(path, parse_param, hints);
    case Format::nccl_tests:
      break;
  }
  return read_log(path, parse_nccl_tests, hints);
}

}  // namespace distsim::collectives
