// Which tool a line of a log is of.
#include "collectives/logs/log_readers.hpp"

#include <array>
#include <utility>

namespace distsim::collectives {

namespace {

const char* tool_of(LogFormat format) {
  switch (format) {
    case LogFormat::curve_file:
      return "a curve file";
    case LogFormat::json:
      return "the JSON of nccl-tests or collective_bench";
    case LogFormat::osu:
      return "OSU";
    case LogFormat::param:
      return "PARAM";
    case LogFormat::nccl_tests:
    case LogFormat::none:
      break;
  }
  return "nccl-tests";
}

}  // namespace

LogFormat format_of_line(std::string_view line) {
  constexpr std::array<std::pair<std::string_view, LogFormat>, 4> kMarks{{{"# OSU ", LogFormat::osu},
                                                                          {"COMMS-RES", LogFormat::param},
                                                                          {"\"out_of_place\"", LogFormat::json},
                                                                          {"\"out-of-place\"", LogFormat::json}}};
  for (const auto& [mark, format] : kMarks) {
    if (line.find(mark) != std::string_view::npos) return format;
  }
  for (std::string_view field : {"curve_count:", "curves {", "curves{"}) {
    if (line.starts_with(field)) return LogFormat::curve_file;
  }
  return starts_as_row(line) || header_of(line) ? LogFormat::nccl_tests : LogFormat::none;
}

Result<void> check_format(LogFormat own, std::string_view line, const std::string& where) {
  const LogFormat found = format_of_line(line);
  if (found == LogFormat::none || found == own) return {};
  return Error{std::string("found a line of ") + tool_of(found) + ", expected only those of " + tool_of(own), where,
               "import each part from a file of its own"};
}

}  // namespace distsim::collectives
