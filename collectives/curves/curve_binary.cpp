// The binary form of a curve file, as collective_bench writes it to a name without .txtpb: the same message, read
// through its text form, so that one place checks both.
#include <google/protobuf/text_format.h>

#if __has_include(<google/protobuf/stubs/logging.h>)
#include <google/protobuf/stubs/logging.h>
#define DISTSIM_QUIET const google::protobuf::LogSilencer quiet  // damage is reported once, by us
#else
#define DISTSIM_QUIET static_cast<void>(0)
#endif

#include "collectives/curve_file/curve.pb.h"
#include "collectives/curves/curve_set.hpp"
#include "collectives/curves/curve_tables.hpp"

namespace distsim::collectives {

bool begins_binary_curve_file(std::string_view head) {
  return head.starts_with("\x08\x01");
}  // field 1, version, as a varint: 1

Result<CurveSet> parse_curve_binary(std::string_view bytes, const std::string& file) {
  if (bytes.size() > kMaxCurveFileBytes)
    return Error{"found " + std::to_string(bytes.size()) + " bytes, expected at most 16 MiB", file, ""};
  DISTSIM_QUIET;
  build_curve_tables();
  curves::CurveFile message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Error{"incomplete or damaged binary curve file", file, "the file may be truncated"};
  if (message.checksum().empty())
    return Error{"checksum: missing, expected one, because nothing else reveals a truncated binary file", file, ""};
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(message, &text)) return Error{"not a binary curve file", file, ""};
  auto set = parse_curve_text(text, file);
  if (set.ok()) return set;
  // Lines and columns would be those of a text that nobody has; unknown fields cannot be read back from it.
  const bool of_value = set.error().what.find(": found ") != std::string::npos;
  return Error{of_value ? set.error().what : "found fields that curve files do not have, expected none", file,
               "the file may be damaged"};
}

}  // namespace distsim::collectives
