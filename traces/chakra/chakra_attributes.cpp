// What the attributes of a Chakra node mean.

#include "base/json/json.hpp"
#include "traces/chakra/chakra_parts.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kMostGroupText = std::size_t{16} << 20;

/// The JSON list of groups within text that a Python writer has quoted, perhaps twice: from "[{" to the last "}]",
/// without backslashes.
std::string unquoted(std::string_view text) {
  const std::size_t begin = text.find("[{"), end = text.rfind("}]");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "";
  std::string json;
  for (const char c : text.substr(begin, end + 2 - begin)) {
    if (c != '\\') json += c;
  }
  return json;
}

}  // namespace

void set_micros(ChakraNode& node, std::int64_t micros) {
  node.ps = micros >= 0 && micros <= INT64_MAX / 1'000'000 ? micros * 1'000'000 : -1;
}

void apply_attribute(ChakraBuilder& builder, ChakraNode& node, const ChakraAttribute& a) {
  if (a.name == "is_cpu_op")
    node.on_cpu = a.number != 0;
  else if (a.name == "comm_type")
    node.comm = a.number >= 0 && a.number <= 9 ? static_cast<ChakraComm>(a.number) : ChakraComm::unknown;
  else if (a.name == "comm_size")
    node.comm_bytes = a.number;
  else if (a.name == "comm_dst" && node.kind != ChakraKind::receive)
    node.peer = a.number;
  else if (a.name == "comm_src" && node.kind != ChakraKind::send)
    node.peer = a.number;
  else if (a.name == "comm_tag")
    node.tag = a.number;
  else if (a.name == "num_ops")
    node.operations = a.number;
  else if (a.name == "tensor_size")
    node.tensor_bytes = a.number;
  else if (a.name == "stream")
    node.lane = a.number;
  else if (a.name == "tid" && node.lane == ChakraNode::kAbsent)
    node.lane = a.number;
  else if (a.name == "duration_ps")
    node.ps = a.number;
  else if (a.name == "pg_name")
    node.group = builder.intern(a.text.empty() && a.number != 0 ? std::to_string(a.number) : a.text);
}

void add_process_groups(ChakraBuilder& builder, std::string_view inputs) {
  if (inputs.find("pg_name") == std::string_view::npos || inputs.size() > kMostGroupText) return;
  const auto list = nlohmann::json::parse(unquoted(inputs), nullptr, false);
  if (!list.is_array()) return;
  for (const auto& group : list) {
    if (!group.is_object() || !group.contains("pg_name") || !group["pg_name"].is_string()) continue;
    std::vector<std::uint32_t> ranks;
    if (const auto members = group.find("ranks"); members != group.end() && members->is_array()) {
      for (const auto& rank : *members) {
        if (rank.is_number_unsigned() && rank.get<std::uint64_t>() < (1u << 24))
          ranks.push_back(rank.get<std::uint32_t>());
      }
    }
    builder.add_group(group["pg_name"].get<std::string>(), std::move(ranks));
  }
}

}  // namespace distsim::traces
