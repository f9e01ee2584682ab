#include "traces/chakra/chakra_writer.hpp"

#include "base/check.hpp"
#include "base/json/json_text.hpp"
#include "traces/chakra/chakra_parts.hpp"
#include "traces/files/proto_wire.hpp"

namespace distsim::traces {
namespace {

constexpr const char* kVersion = "0.0.4";

void append_message(std::string& out, const ProtoMessage& message) {
  append_varint(out, message.str().size());
  out += message.str();
}

ProtoMessage attribute(std::string_view name) {
  ProtoMessage a;
  a.bytes(1, name);
  return a;
}

void add_integer(ProtoMessage& node, std::string_view name, std::int64_t value) {
  ProtoMessage a = attribute(name);
  a.varint(9, static_cast<std::uint64_t>(value));
  node.message(10, a);
}

void add_bool(ProtoMessage& node, std::string_view name, bool value) {
  ProtoMessage a = attribute(name);
  a.varint(27, value ? 1 : 0);
  node.message(10, a);
}

void add_text(ProtoMessage& node, std::string_view name, std::string_view value) {
  ProtoMessage a = attribute(name);
  a.text(29, value);
  node.message(10, a);
}

/// IOInfo{values, shapes, types} of a process_group:init node.
ProtoMessage group_inputs(const ChakraGraph& graph) {
  auto list = nlohmann::json::array();
  for (const auto& [name, ranks] : graph.groups)
    list.push_back({{"pg_name", name}, {"ranks", ranks}, {"group_size", ranks.size()}});
  ProtoMessage inputs;
  inputs.bytes(1, nlohmann::json::array({list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)}).dump());
  inputs.bytes(2, "[[]]");
  inputs.bytes(3, "[\"String\"]");
  return inputs;
}

void add_communication(ProtoMessage& out, const ChakraGraph& graph, const ChakraNode& node) {
  if (node.comm != ChakraComm::unknown) add_integer(out, "comm_type", static_cast<std::int64_t>(node.comm));
  if (node.comm_bytes >= 0) add_integer(out, "comm_size", node.comm_bytes);
  if (node.send_recv) add_bool(out, "send_recv", true);
  if (node.kind == ChakraKind::send) add_integer(out, "comm_dst", node.peer);
  if (node.kind == ChakraKind::receive) add_integer(out, "comm_src", node.peer);
  if (node.tag != 0) add_integer(out, "comm_tag", node.tag);
  if (node.group.size > 0) add_text(out, "pg_name", graph.text_of(node.group));
}

ProtoMessage node_message(const ChakraGraph& graph, std::size_t n, bool with_groups) {
  constexpr std::int64_t kMicro = 1'000'000;
  const ChakraNode& node = graph.nodes[n];
  ProtoMessage out;
  out.varint(1, node.id);
  out.text(2, graph.text_of(node.name));
  out.varint(3, static_cast<std::uint64_t>(node.kind));
  std::string deps;
  for (const std::uint32_t dep : graph.deps_of(n)) append_varint(deps, graph.nodes[dep].id);
  if (!deps.empty()) out.bytes(5, deps);
  if (node.ps > 0)
    out.varint(7, static_cast<std::uint64_t>(std::max<std::int64_t>(1, (node.ps + kMicro / 2) / kMicro)));
  if (with_groups) out.message(8, group_inputs(graph));
  add_bool(out, "is_cpu_op", node.on_cpu);
  if (node.lane != ChakraNode::kAbsent) add_integer(out, node.on_cpu ? "tid" : "stream", node.lane);
  if (node.operations > 0) add_integer(out, "num_ops", node.operations);
  if (node.tensor_bytes > 0) add_integer(out, "tensor_size", node.tensor_bytes);
  add_communication(out, graph, node);
  if (node.ps % kMicro != 0) add_integer(out, "duration_ps", node.ps);
  return out;
}

}  // namespace

std::string to_chakra(const ChakraGraph& graph) {
  std::string out;
  ProtoMessage metadata;
  metadata.bytes(1, kVersion);
  if (graph.set_ranks > 0) {
    ProtoMessage ranks = attribute(kSetRanks);
    ranks.varint(9, graph.set_ranks);
    metadata.message(2, ranks);
  }
  if (graph.set_job > 0) {
    ProtoMessage job = attribute(kSetJob);
    job.varint(9, graph.set_job);
    metadata.message(2, job);
  }
  if (graph.job_ranks > 0) {
    ProtoMessage ranks = attribute(kJobRanks);
    ranks.varint(9, graph.job_ranks);
    metadata.message(2, ranks);
  }
  append_message(out, metadata);
  bool groups_left = !graph.groups.empty();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const bool with_groups = groups_left && graph.nodes[n].kind == ChakraKind::metadata;
    append_message(out, node_message(graph, n, with_groups));
    groups_left = groups_left && !with_groups;
  }
  CHECK(!groups_left) << "process groups without a METADATA node to carry them";
  return out;
}

std::string to_chakra_groups(const std::map<std::string, std::vector<std::uint32_t>>& groups) {
  return json_text(nlohmann::json(groups)) + "\n";
}

}  // namespace distsim::traces
