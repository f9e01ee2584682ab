#include "sim/app/write_chakra.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.hpp"
#include "traces/chakra_writer.hpp"

namespace distsim {
namespace {

constexpr std::uint32_t kMostRanks = 1u << 20;  // a file each
constexpr std::uint64_t kMostBytes = 4'000'000'000;  // unless the number of ranks is given

ChakraComm comm_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return ChakraComm::all_reduce;
    case CollectiveKind::reduce: return ChakraComm::reduce;
    case CollectiveKind::all_gather: return ChakraComm::all_gather;
    case CollectiveKind::gather: return ChakraComm::gather;
    case CollectiveKind::scatter: return ChakraComm::scatter;
    case CollectiveKind::broadcast: return ChakraComm::broadcast;
    case CollectiveKind::all_to_all:
    case CollectiveKind::all_to_all_v:
    case CollectiveKind::send_recv: return ChakraComm::all_to_all;
    case CollectiveKind::reduce_scatter: return ChakraComm::reduce_scatter;
    case CollectiveKind::barrier: return ChakraComm::barrier;
  }
  return ChakraComm::unknown;
}

/// Communicators of a partition, numbered through the program: "0" is the world.
struct NamedPartition {
  std::vector<std::string> name_of_rank;
  std::vector<std::uint32_t> size_of_rank;
};

class ChakraExport {
 public:
  ChakraExport(const CostedGraph& costed, const Lowered& lowered) : graph_(costed.graph), program_(lowered.program), origins_(lowered.origins) {
    for (const Groups& g : program_.groups) partitions_.push_back(name_groups(g));
  }

  const std::map<std::string, std::vector<std::uint32_t>>& groups() const { return groups_; }

  ChakraGraph graph_of(std::uint32_t rank) const {
    ChakraGraph out;
    ChakraNode groups;
    groups.id = program_.steps.size();
    groups.kind = ChakraKind::metadata;
    groups.name = intern(out, "process_group:init");
    for (const auto& [name, ranks] : groups_) {
      if (std::binary_search(ranks.begin(), ranks.end(), rank)) out.groups[name] = ranks;
    }
    std::vector<std::uint32_t> last(program_.streams, kNone);
    for (StepId s(0); s < program_.steps.end_id(); s = StepId(s.value() + 1)) {
      out.nodes.push_back(node_of(out, s, rank));
      for (const StepId wait : program_.waits_of(s)) out.deps.push_back(wait.value());
      std::uint32_t& before = last[program_.steps[s].stream.value()];
      if (before != kNone) out.deps.push_back(before);
      before = s.value();
      const auto first = out.deps.begin() + out.dep_offsets.back();
      std::sort(first, out.deps.end());
      out.deps.erase(std::unique(first, out.deps.end()), out.deps.end());
      out.dep_offsets.push_back(static_cast<std::uint32_t>(out.deps.size()));
    }
    if (!out.groups.empty()) {
      out.nodes.push_back(groups);
      out.dep_offsets.push_back(static_cast<std::uint32_t>(out.deps.size()));
    }
    return out;
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  static ChakraText intern(ChakraGraph& graph, std::string_view text) {
    const auto begin = static_cast<std::uint32_t>(graph.text.size());
    graph.text += text;
    return {begin, static_cast<std::uint32_t>(text.size())};
  }

  NamedPartition name_groups(const Groups& g) {
    NamedPartition named{std::vector<std::string>(program_.ranks), std::vector<std::uint32_t>(program_.ranks)};
    std::map<std::uint32_t, std::vector<std::uint32_t>> members;  // by number of the group
    for (std::uint32_t r = 0; r < program_.ranks && !g.listed(); ++r) members[r / (g.size * g.stride) * g.stride + r % g.stride].push_back(r);
    for (std::uint32_t i = 0; i + 1 < g.offsets.size(); ++i) members[i].assign(g.members.begin() + g.offsets[i], g.members.begin() + g.offsets[i + 1]);
    for (auto& [number, ranks] : members) {
      std::sort(ranks.begin(), ranks.end());
      const auto [known, is_new] = name_of_members_.try_emplace(ranks, ranks.size() == program_.ranks ? "0" : std::to_string(groups_.size() + 1));
      const std::string& name = known->second;
      for (const std::uint32_t r : ranks) named.name_of_rank[r] = name, named.size_of_rank[r] = static_cast<std::uint32_t>(ranks.size());
      if (is_new && name != "0") groups_[name] = ranks;
    }
    return named;
  }

  std::string name_of_step(const StepOrigin& origin) const {
    if (origin.role == StepRole::step_overhead) return "iteration " + std::to_string(origin.iteration);
    const std::string& task = graph_.names[graph_.tasks[origin.task].name];
    return origin.role == StepRole::host_dispatch ? "launch " + task : task;
  }

  ChakraNode node_of(ChakraGraph& out, StepId s, std::uint32_t rank) const {
    const Step& step = program_.steps[s];
    const StepOrigin& origin = origins_[s];
    ChakraNode node;
    node.id = s.value();
    node.ps = step.duration.at(rank);
    node.lane = step.stream.value();
    node.kind = ChakraKind::compute;
    node.name = intern(out, name_of_step(origin));
    node.on_cpu = origin.role != StepRole::device;
    if (node.on_cpu || step.group == Step::kNoGroup) return node;
    const Task& task = graph_.tasks[origin.task];
    const auto* op = std::get_if<Collective>(&graph_.ops[OpId(task.first_op.value() + graph_.variant_of(origin.task, rank))]);
    if (!op) return node;
    const NamedPartition& partition = partitions_[step.group];
    const bool of_one_part = op->kind == CollectiveKind::all_gather || op->kind == CollectiveKind::gather;
    node.kind = ChakraKind::collective;
    node.comm = comm_of(op->kind);
    const bool pair = op->kind == CollectiveKind::send_recv && partition.size_of_rank[rank] == 2;  // of an all-to-all of two, half goes to the other
    node.comm_bytes = of_one_part ? op->bytes / partition.size_of_rank[rank] : pair ? 2 * op->bytes : op->bytes;
    if (partition.name_of_rank[rank] != "0") node.group = intern(out, partition.name_of_rank[rank]);
    return node;
  }

  const TaskGraph& graph_;
  const Program& program_;
  const IdVector<StepId, StepOrigin>& origins_;
  std::map<std::string, std::vector<std::uint32_t>> groups_;
  std::map<std::vector<std::uint32_t>, std::string> name_of_members_;  ///< partitions may have groups in common
  std::vector<NamedPartition> partitions_;
};

/// All ranks have the nodes of rank 0.
Result<void> check_size(std::uint64_t bytes_of_rank, std::uint32_t ranks) {
  if (bytes_of_rank * ranks <= kMostBytes) return {};
  const auto fit = std::max<std::uint64_t>(1, kMostBytes / bytes_of_rank);
  return Error{fmt::format("--write-et: found {} ranks of {:.3g} MB each, {:.3g} GB in all, expected at most {:.3g} GB", ranks, static_cast<double>(bytes_of_rank) * 1e-6,
                           static_cast<double>(bytes_of_rank * ranks) * 1e-9, static_cast<double>(kMostBytes) * 1e-9),
               "", fmt::format("--write-et-ranks {} writes the first {}, --write-et-ranks {} all of them", fit, fit, ranks)};
}

}  // namespace

Result<void> write_chakra(const std::string& prefix, const CostedGraph& costed, const Lowered& lowered, std::uint32_t asked) {
  const std::uint32_t ranks = asked == 0 ? lowered.program.ranks : std::min(asked, lowered.program.ranks);
  if (ranks > kMostRanks) return Error{"--write-et: found " + std::to_string(ranks) + " ranks, expected at most 2^20: each has a file", "", ""};
  const ChakraExport exporter(costed, lowered);
  if (asked == 0) TRY(check_size(to_chakra(exporter.graph_of(0)).size(), ranks));
  for (std::uint32_t r = 0; r < ranks; ++r) {
    TRY(write_file_atomically(prefix + "." + std::to_string(r) + ".et", to_chakra(exporter.graph_of(r))));
  }
  return write_file_atomically(prefix + ".groups.json", to_chakra_groups(exporter.groups()));
}

}  // namespace distsim
