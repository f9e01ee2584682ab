#include "traces/chakra/chakra_reader.hpp"

#include <algorithm>

#include "base/json/parse_once.hpp"
#include "base/text/printable.hpp"
#include "traces/chakra/chakra_parts.hpp"
#include "traces/files/gunzip.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kMostExpanded = std::size_t{1} << 31;
constexpr std::size_t kPrintedWithin = 4096;  // bytes: the first messages that chakra_jsonizer prints

std::size_t skip_space(std::string_view text) { return std::min(text.size(), text.find_first_not_of(" \t\r\n")); }

bool is_json(std::string_view bytes) {
  const std::size_t begin = skip_space(bytes);
  return begin < bytes.size() && bytes[begin] == '{' &&
         skip_space(bytes.substr(begin + 1)) + begin + 1 < bytes.size() &&
         std::string_view("\"}").find(bytes[begin + 1 + skip_space(bytes.substr(begin + 1))]) != std::string_view::npos;
}

Error at(const std::string& file, const Error& e) { return {e.what, file, e.hint}; }

/// A length, then field 1 or 2 of GlobalMetadata, both of which are length-delimited and lie within it. (A text whose
/// second byte ends a line is not that.)
bool begins_with_metadata(std::string_view bytes) {
  const auto byte = [&](std::size_t at) { return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0u; };
  std::size_t i = 0, length = 0;
  for (; i < 5 && (byte(i) & 0x80); ++i) length |= std::size_t{byte(i) & 0x7F} << (7 * i);
  length |= std::size_t{byte(i)} << (7 * i);
  const bool tagged = i < 5 && (byte(i + 1) == 0x0a || byte(i + 1) == 0x12);
  return tagged && i + 2 < bytes.size() && ((byte(i + 2) & 0x80) || std::size_t{byte(i + 2)} + 2 <= length) &&
         byte(0) != '[';
}

}  // namespace

bool sniff_chakra(const TraceHead& head) {
  if (head.json == TraceHead::Json::none) return begins_with_metadata(head.bytes);
  if (head.has("traceEvents") || head.has("nodes") || head.has("events")) return false;
  const std::string_view start = head.text.substr(0, kPrintedWithin);
  const auto has = [start](const char* word) { return start.find(word) != std::string_view::npos; };
  const bool has_kind = std::ranges::any_of(
      kChakraKinds, [&](std::string_view kind) { return start.find("\"" + std::string(kind) + "\"") != start.npos; });
  const bool waits = has("\"ctrlDeps\"") || has("\"dataDeps\"") || has("\"ctrl_deps\"") || has("\"data_deps\"");
  return head.has("workload_graph") || has("\"durationMicros\"") || has_kind || (waits && has("\"type\""));
}

Result<ChakraGraph> read_chakra(std::string_view bytes, const std::string& file) {
  std::string expanded;
  if (is_gzip(bytes)) {
    TRY_ASSIGN(expanded, gunzip(bytes, file, {ExpansionLimit{}.ratio, kMostExpanded}));
    bytes = expanded;
  }
  if (bytes.empty()) return Error{"found an empty file, expected a Chakra trace", file, ""};
  if (is_json(bytes)) {
    const TraceHead head = look_at(bytes);
    for (const char* key : {"traceEvents", "nodes", "events"}) {
      if (head.has(key)) return Error{"found JSON with '" + std::string(key) + "', expected a Chakra trace", file, ""};
    }
  }
  auto graph = is_json(bytes) ? read_chakra_json(bytes) : read_chakra_protobuf(bytes);
  return graph ? std::move(graph) : at(file, graph.error());
}

Result<std::map<std::string, std::vector<std::uint32_t>>> read_chakra_groups(std::string_view text,
                                                                             const std::string& file) {
  std::string twice;
  const auto json = parse_once(text, twice);
  if (!json.is_object())
    return Error{"found no JSON object, expected {\"1\": [0, 1], ..}: the ranks of each communicator", file, ""};
  if (!twice.empty()) return Error{"found the key " + in_quotes(twice, 100) + " twice, expected it once", file, ""};
  std::map<std::string, std::vector<std::uint32_t>> groups;
  for (const auto& [name, list] : json.items()) {
    const auto wrong = [&, &key = name](const std::string& found) {
      return Error{printable(key) + ": found " + found + ", expected a list of distinct ranks", file, ""};
    };
    if (!list.is_array() || list.empty()) return wrong(list.is_array() ? "no ranks" : list.type_name());
    std::vector<std::uint32_t> ranks;
    for (const auto& rank : list) {
      if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= (1u << 24)) return wrong(printable(rank.dump()));
      ranks.push_back(rank.get<std::uint32_t>());
    }
    std::sort(ranks.begin(), ranks.end());
    if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) return wrong("a rank twice");
    groups[name] = std::move(ranks);
  }
  return groups;
}

}  // namespace distsim::traces
