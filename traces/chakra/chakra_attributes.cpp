// What the attributes of a Chakra node mean.

#include <algorithm>
#include <array>

#include "base/json/json.hpp"
#include "base/text/printable.hpp"
#include "traces/chakra/chakra_parts.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kMostGroupText = std::size_t{16} << 20;
constexpr std::size_t kMostPrinted = 60;

/// Of CollectiveCommType, by number.
constexpr std::array<std::string_view, 10> kCollectives{
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};

/// Where a whole number goes.
std::int64_t* place_of(std::string_view name, ChakraNode& node) {
  if (name == "comm_size") return &node.comm_bytes;
  if (name == "comm_dst" && node.kind != ChakraKind::receive) return &node.peer;
  if (name == "comm_src" && node.kind != ChakraKind::send) return &node.peer;
  if (name == "comm_tag") return &node.tag;
  if (name == "num_ops") return &node.operations;
  if (name == "tensor_size") return &node.tensor_bytes;
  if (name == "stream") return &node.lane;
  if (name == "tid" && node.lane == ChakraNode::kAbsent) return &node.lane;
  if (name == "duration_ps") return &node.ps;
  return nullptr;
}

bool* truth_of(std::string_view name, ChakraNode& node) {
  if (name == "is_cpu_op") return &node.on_cpu;
  return name == "send_recv" ? &node.send_recv : nullptr;
}

Error wrong(const ChakraAttribute& a, const std::string& expected) {
  const std::string found = a.number && !a.is_truth ? std::to_string(*a.number) : a.as_written;
  return {std::string(a.name) + ": found " + found + ", expected " + expected, "", ""};
}

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

/// The ranks of one process group, ascending.
Result<std::vector<std::uint32_t>> ranks_in(const nlohmann::json& group, const std::string& name) {
  std::vector<std::uint32_t> ranks;
  const auto members = group.find("ranks");
  if (members == group.end() || members->is_null()) return ranks;
  if (!members->is_array())
    return Error{"process group " + in_quotes(name, kMostPrinted) + ": ranks: found " +
                     printable(members->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), kMostPrinted) +
                     ", expected a list of ranks",
                 "", ""};
  for (const auto& rank : *members) {
    if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= kMostSetRanks)
      return Error{"process group " + in_quotes(name, kMostPrinted) + ": found " +
                       printable(rank.dump(), kMostPrinted) + ", expected a rank from 0 to 16777215",
                   "", ""};
    ranks.push_back(rank.get<std::uint32_t>());
  }
  std::ranges::sort(ranks);
  return ranks;
}

/// The size that a process group states, nothing where it states none; of its members where it lists them.
Result<std::optional<std::uint32_t>> size_of(const nlohmann::json& group, const std::string& name,
                                             std::size_t members) {
  const auto size = group.find("group_size");
  if (size == group.end() || size->is_null()) return std::optional<std::uint32_t>();
  const bool counts = size->is_number_unsigned() && size->get<std::uint64_t>() >= 1 &&
                      size->get<std::uint64_t>() <= std::uint64_t{kMostSetRanks};
  if (counts && (members == 0 || size->get<std::uint64_t>() == members))
    return std::optional(size->get<std::uint32_t>());
  return Error{"process group " + in_quotes(name, kMostPrinted) + ": group_size: found " +
                   printable(size->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), kMostPrinted) +
                   ", expected " +
                   (members > 0 ? std::to_string(members) + ", as many as its ranks" : "a count of ranks"),
               "", ""};
}

}  // namespace

void set_micros(ChakraNode& node, std::int64_t micros) {
  node.ps = micros >= 0 && micros <= INT64_MAX / 1'000'000 ? micros * 1'000'000 : -1;
}

Result<void> ChakraAttributes::apply_kind_of_collective(const ChakraAttribute& a) {
  const auto named = std::ranges::find(kCollectives, a.text);
  const auto last = static_cast<std::int64_t>(kCollectives.size()) - 1;
  if (a.number && *a.number >= 0 && !a.is_truth) {
    node_.comm = *a.number <= last ? static_cast<ChakraComm>(*a.number) : ChakraComm::unknown;
  } else if (named != kCollectives.end()) {
    node_.comm = static_cast<ChakraComm>(named - kCollectives.begin());
  } else {
    return wrong(a, "a number of CollectiveCommType, or a name such as ALL_REDUCE");
  }
  return {};
}

Result<void> ChakraAttributes::apply(const ChakraAttribute& a) {
  std::int64_t* const place = place_of(a.name, node_);
  const bool is_kind = a.name == "comm_type", is_group = a.name == "pg_name";
  bool* const truth = truth_of(a.name, node_);
  if (place == nullptr && !is_kind && !is_group && truth == nullptr) {
    builder_.passed_by(a.name);
    return {};
  }
  const std::string value = a.number ? std::to_string(*a.number) : a.as_written;
  const auto before = std::ranges::find(seen_, a.name, [](const auto& seen) { return seen.first; });
  if (before != seen_.end() && before->second != value)
    return Error{std::string(a.name) + ": found " + before->second + " and " + value + ", expected one value", "", ""};
  if (before == seen_.end()) seen_.emplace_back(a.name, value);
  if (is_kind) return apply_kind_of_collective(a);
  if (is_group) {
    if (a.is_truth || (!a.number && !a.is_text)) return wrong(a, "the name of a group");
    node_.group = builder_.intern(a.text.empty() && a.number ? std::to_string(*a.number) : a.text);
    return {};
  }
  if (truth != nullptr) {
    if (!a.number || *a.number < 0 || *a.number > 1) return wrong(a, "true or false");
    *truth = *a.number == 1;
    return {};
  }
  if (!a.number || a.is_truth) return wrong(a, "a whole number");
  *place = *a.number;
  return {};
}

void apply_metadata(ChakraBuilder& builder, const ChakraAttribute& attribute) {
  const std::int64_t number = attribute.number.value_or(0);
  if (number <= 0) return;
  if (attribute.name == kSetRanks && number <= kMostSetRanks) builder.set_set_ranks(static_cast<std::uint32_t>(number));
  if (attribute.name == kJobRanks && number <= kMostSetRanks) builder.set_job_ranks(static_cast<std::uint32_t>(number));
  if (attribute.name == kSetJob) builder.set_set_job(static_cast<std::uint64_t>(number));
}

Result<void> add_process_groups(ChakraBuilder& builder, std::string_view inputs) {
  if (inputs.find("pg_name") == std::string_view::npos || inputs.size() > kMostGroupText) return {};
  const auto list = nlohmann::json::parse(unquoted(inputs), nullptr, false);
  if (!list.is_array()) return {};
  std::optional<std::uint32_t> of_all;
  for (const auto& group : list) {
    if (!group.is_object() || !group.contains("pg_name") || !group["pg_name"].is_string()) continue;
    const auto name = group["pg_name"].get<std::string>();
    TRY_ASSIGN(std::vector<std::uint32_t> ranks, ranks_in(group, name));
    TRY_ASSIGN(const auto size, size_of(group, name, ranks.size()));
    if (ranks.empty() && size) {
      if (of_all && *of_all != *size)
        return Error{"process group " + in_quotes(name, kMostPrinted) + ": group_size: found " + std::to_string(*size) +
                         " without ranks, expected " + std::to_string(*of_all) + ", as another group of all ranks has",
                     "", ""};
      of_all = size;
      builder.set_job_ranks(*size);
    }
    TRY(builder.add_group(name, std::move(ranks)));
  }
  return {};
}

}  // namespace distsim::traces
