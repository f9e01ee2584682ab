#include "sim/pipeline/write_chakra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/file.hpp"
#include "base/system/lock_file.hpp"
#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/report/work_tables.hpp"
#include "traces/chakra/chakra_manifest.hpp"
#include "traces/chakra/chakra_writer.hpp"

namespace distsim::pipeline {
namespace {

constexpr std::uint32_t kMostRanks = 1u << 20;       // a file each
constexpr std::uint64_t kMostBytes = 4'000'000'000;  // unless the number of ranks is given

traces::ChakraComm comm_of(graph::CollectiveKind kind) {
  switch (kind) {
    case graph::CollectiveKind::all_reduce:
      return traces::ChakraComm::all_reduce;
    case graph::CollectiveKind::reduce:
      return traces::ChakraComm::reduce;
    case graph::CollectiveKind::all_gather:
      return traces::ChakraComm::all_gather;
    case graph::CollectiveKind::gather:
      return traces::ChakraComm::gather;
    case graph::CollectiveKind::scatter:
      return traces::ChakraComm::scatter;
    case graph::CollectiveKind::broadcast:
      return traces::ChakraComm::broadcast;
    case graph::CollectiveKind::all_to_all:
    case graph::CollectiveKind::all_to_all_v:
    case graph::CollectiveKind::send_recv:
      return traces::ChakraComm::all_to_all;
    case graph::CollectiveKind::reduce_scatter:
      return traces::ChakraComm::reduce_scatter;
    case graph::CollectiveKind::barrier:
      return traces::ChakraComm::barrier;
  }
  return traces::ChakraComm::unknown;
}

/// Communicators of a partition, numbered through the program: "0" is the world.
struct NamedPartition {
  std::vector<std::string> name_of_rank;
  std::vector<std::uint32_t> size_of_rank;
};

class ChakraExport {
 public:
  /// `files`: how many ranks are written.
  ChakraExport(const graph::CostedGraph& costed, const Lowered& lowered, std::uint32_t files)
      : graph_(costed.graph), program_(lowered.program), origins_(lowered.origins), files_(files) {
    for (const engine::Groups& g : program_.groups) partitions_.push_back(name_groups(g));
    job_ = number_of_job();
  }

  const std::map<std::string, std::vector<std::uint32_t>>& groups() const { return groups_; }

  traces::ChakraGraph graph_of(std::uint32_t rank) const {
    traces::ChakraGraph out;
    out.set_ranks = files_;
    out.set_job = job_;
    out.job_ranks = program_.ranks;
    const traces::ChakraText groups_name = intern(out, "process_group:init");
    for (const auto& [name, ranks] : groups_) {
      if (std::binary_search(ranks.begin(), ranks.end(), rank)) out.groups[name] = ranks;
    }
    std::vector<std::uint32_t> last(program_.streams, kNone);
    IdVector<StepId, std::uint32_t> place(program_.steps.size());  // of a step's last node
    for (StepId s(0); s < program_.steps.end_id(); s = StepId(s.value() + 1)) {
      std::uint32_t& before = last[program_.steps[s].stream.value()];
      std::vector<std::uint32_t> deps;
      for (const StepId wait : program_.waits_of(s)) deps.push_back(place[wait]);
      if (before != kNone) deps.push_back(before);
      std::sort(deps.begin(), deps.end());
      deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
      for (const traces::ChakraNode& call : nodes_of(out, s, rank)) {
        place[s] = add(out, call, deps);
        deps = {place[s]};
      }
      before = place[s];
    }
    if (!out.groups.empty()) {
      traces::ChakraNode groups;
      groups.kind = traces::ChakraKind::metadata;
      groups.name = groups_name;
      add(out, groups, {});
    }
    return out;
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  /// Of the steps of the first and the last rank and their times: 63 bits, not 0.
  std::uint64_t number_of_job() const {
    std::uint64_t h = program_.ranks;
    const auto mix = [&h](std::uint64_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ull, h ^= h >> 29; };
    for (const engine::Step& step : program_.steps) {
      mix(step.stream.value());
      mix(static_cast<std::uint64_t>(step.duration.at(0)));
      mix(static_cast<std::uint64_t>(step.duration.at(program_.ranks - 1)));
    }
    return h >> 1 | 1;
  }

  static traces::ChakraText intern(traces::ChakraGraph& graph, std::string_view text) {
    const auto begin = static_cast<std::uint32_t>(graph.text.size());
    graph.text += text;
    return {begin, static_cast<std::uint32_t>(text.size())};
  }

  NamedPartition name_groups(const engine::Groups& g) {
    NamedPartition named{std::vector<std::string>(program_.ranks), std::vector<std::uint32_t>(program_.ranks)};
    std::map<std::uint32_t, std::vector<std::uint32_t>> members;  // by number of the group
    for (std::uint32_t r = 0; r < program_.ranks && !g.listed(); ++r)
      members[r / (g.size * g.stride) * g.stride + r % g.stride].push_back(r);
    for (std::uint32_t i = 0; i + 1 < g.offsets.size(); ++i)
      members[i].assign(g.members.begin() + g.offsets[i], g.members.begin() + g.offsets[i + 1]);
    for (auto& [number, ranks] : members) {
      std::sort(ranks.begin(), ranks.end());
      const auto [known, is_new] = name_of_members_.try_emplace(
          ranks, ranks.size() == program_.ranks ? "0" : std::to_string(groups_.size() + 1));
      const std::string& name = known->second;
      for (const std::uint32_t r : ranks)
        named.name_of_rank[r] = name, named.size_of_rank[r] = static_cast<std::uint32_t>(ranks.size());
      if (is_new && name != "0") groups_[name] = ranks;
    }
    return named;
  }

  std::string name_of_step(const report::StepOrigin& origin) const {
    if (origin.role == report::StepRole::step_overhead) return "iteration " + std::to_string(origin.iteration);
    const std::string& task = graph_.names[graph_.tasks[origin.task].name];
    return origin.role == report::StepRole::host_dispatch ? "launch " + task : task;
  }

  /// Appends a node after `deps`; its place.
  static std::uint32_t add(traces::ChakraGraph& out, traces::ChakraNode node, const std::vector<std::uint32_t>& deps) {
    const auto place = static_cast<std::uint32_t>(out.nodes.size());
    node.id = place;
    out.nodes.push_back(node);
    out.deps.insert(out.deps.end(), deps.begin(), deps.end());
    out.dep_offsets.push_back(static_cast<std::uint32_t>(out.deps.size()));
    return place;
  }

  /// Of a step: one, but of a collective that stands for several calls as many, each of its share of the time.
  std::vector<traces::ChakraNode> nodes_of(traces::ChakraGraph& out, StepId s, std::uint32_t rank) const {
    const engine::Step& step = program_.steps[s];
    const report::StepOrigin& origin = origins_[s];
    traces::ChakraNode node;
    node.ps = step.duration.at(rank);
    node.lane = step.stream.value();
    node.kind = traces::ChakraKind::compute;
    node.name = intern(out, name_of_step(origin));
    node.on_cpu = origin.role != report::StepRole::device;
    if (node.on_cpu || step.group == engine::Step::kNoGroup) return {node};
    const graph::Task& task = graph_.tasks[origin.task];
    const auto* op =
        std::get_if<graph::Collective>(&graph_.ops[OpId(task.first_op.value() + graph_.variant_of(origin.task, rank))]);
    if (!op) return {node};
    const NamedPartition& partition = partitions_[step.group];
    const std::uint32_t members = partition.size_of_rank[rank];
    const bool of_one_part = op->kind == graph::CollectiveKind::all_gather || op->kind == graph::CollectiveKind::gather;
    node.kind = traces::ChakraKind::collective;
    node.comm = comm_of(op->kind);
    node.send_recv = op->kind == graph::CollectiveKind::send_recv;
    const bool pair = node.send_recv && members == 2;  // of an all-to-all of two, half goes to the other
    const std::int64_t bytes = report::even_size(*op, members);
    node.comm_bytes = of_one_part ? bytes / members : pair ? 2 * bytes : bytes;
    if (partition.name_of_rank[rank] != "0") node.group = intern(out, partition.name_of_rank[rank]);
    std::vector<traces::ChakraNode> calls(static_cast<std::size_t>(std::max<std::int64_t>(1, op->times)), node);
    for (traces::ChakraNode& call : calls) call.ps = node.ps / static_cast<std::int64_t>(calls.size());
    calls.back().ps += node.ps % static_cast<std::int64_t>(calls.size());
    return calls;
  }

  const graph::TaskGraph& graph_;
  const engine::Program& program_;
  const IdVector<StepId, report::StepOrigin>& origins_;
  std::uint32_t files_;
  std::uint64_t job_ = 0;
  std::map<std::string, std::vector<std::uint32_t>> groups_;
  std::map<std::vector<std::uint32_t>, std::string> name_of_members_;  ///< partitions may have groups in common
  std::vector<NamedPartition> partitions_;
};

/// Of those asked for, 0: all.
std::uint32_t ranks_written(const Lowered& lowered, std::uint32_t asked) {
  return asked == 0 ? lowered.program.ranks : std::min(asked, lowered.program.ranks);
}

/// All ranks have the nodes of rank 0.
Result<void> check_size(std::uint64_t bytes_of_rank, std::uint32_t ranks) {
  if (bytes_of_rank * ranks <= kMostBytes) return {};
  const auto fit = std::max<std::uint64_t>(1, kMostBytes / bytes_of_rank);
  return Error{
      fmt::format("--write-et: found {} of {:.3g} MB each, {:.3g} GB in total, expected at most {:.3g} GB",
                  counted(ranks, "rank"), static_cast<double>(bytes_of_rank) * 1e-6,
                  static_cast<double>(bytes_of_rank * ranks) * 1e-9, static_cast<double>(kMostBytes) * 1e-9),
      "",
      fmt::format("--write-et-ranks {} writes the first {}, --write-et-ranks {} writes all of them", fit, fit, ranks)};
}

/// That of the set that stands in the place of the new one. An output, not an input: it may be written over.
Result<traces::ChakraManifest> old_manifest(const std::string& path) {
  constexpr std::size_t kMost = 1 << 16;
  std::ifstream in(path, std::ios::binary);
  std::string text(kMost, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return traces::parse_chakra_manifest(text, path);
}

/// Traces of an older, larger set that this one takes the place of. Errors: traces that no manifest of ours names.
Result<std::vector<std::string>> replaced_traces(const std::string& prefix, std::uint32_t ranks) {
  const std::vector<std::string> others = traces::other_traces(prefix, ranks);
  if (others.empty()) return others;
  const auto old = old_manifest(traces::chakra_manifest_path(prefix));
  const std::vector<std::string> unknown = traces::other_traces(prefix, old.ok() ? std::max(ranks, old->ranks) : ranks);
  if (unknown.empty()) return others;
  return Error{"--write-et: found a trace of another job, expected none with the prefix " + in_quotes(prefix, 200),
               printable(unknown.front(), 300), "remove it, or choose another prefix"};
}

std::string trace_path(const std::string& prefix, std::uint32_t rank) {
  return prefix + "." + std::to_string(rank) + ".et";
}
std::string groups_path(const std::string& prefix) { return prefix + ".groups.json"; }
std::string lock_path(const std::string& prefix) { return prefix + ".set.lock"; }

/// Two runs that write one set would leave files of both.
Result<LockFile> lock_set(const std::string& prefix) {
  auto lock = LockFile::open(lock_path(prefix), "a prefix that no other run writes to");
  if (!lock.ok()) return Error{"--write-et: " + lock.error().what, lock.error().where, lock.error().hint};
  return lock;
}

/// Files of a set on their way: written at once where none was there before; else under temporary names, so that a set that was
/// there stays whole until all of the new one is written.
class NewSet {
 public:
  explicit NewSet(const std::string& manifest) : over_another_(exists(manifest)) {}

  bool over_another() const { return over_another_; }

  Result<void> write(const std::string& path, std::string_view bytes) {
    if (over_another_ || exists(path)) return over_others_.write(path, bytes);
    TRY(write_file_atomically(path, bytes));
    made_.push_back(path);
    return {};
  }

  /// Replaces the older files. Error: some may have been.
  Result<void> replace_others() {
    const auto kept = over_others_.keep();
    if (kept.ok()) return {};
    return Error{kept.error().what, kept.error().where, "files of the set that was there may have been replaced"};
  }

  /// Removes what was not there before.
  void take_back() const {
    std::error_code ignored;
    for (const std::string& path : made_) std::filesystem::remove(path, ignored);
  }

 private:
  static bool exists(const std::string& path) {
    std::error_code unknown;
    return std::filesystem::exists(path, unknown) || unknown;
  }

  bool over_another_;
  std::vector<std::string> made_;
  FilesTogether over_others_;
};

/// The traces and the groups of a set; their digest.
Result<std::string> write_ranks(const std::string& prefix, const ChakraExport& exporter, std::uint32_t ranks,
                                NewSet& files) {
  traces::ChakraSetDigest digest;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    if (end_asked()) return Error{"interrupted: no traces were written", "", ""};
    const std::string bytes = traces::to_chakra(exporter.graph_of(r));
    digest.add(bytes);
    TRY(files.write(trace_path(prefix, r), bytes));
  }
  TRY(files.write(groups_path(prefix), traces::to_chakra_groups(exporter.groups())));
  return digest.text();
}

/// The traces of an older, larger set.
Result<void> remove_traces(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::remove(path, error) || error)
      return Error{"cannot be removed, expected to replace the larger set that it is of", path, ""};
  }
  return {};
}

/// What nobody plays, until all of the new set is there.
traces::ChakraManifest unfinished_manifest(traces::ChakraManifest set, const std::string& path) {
  if (const auto old = old_manifest(path); old.ok()) set.ranks = std::max(set.ranks, old->ranks);
  return set;
}

/// All files under their own or temporary names, beside a set that is still there whole; then the manifest that is left when
/// this ends early, and the new set in the place of the other.
Result<void> write_set(const std::string& prefix, const ChakraExport& exporter, traces::ChakraManifest set,
                       NewSet& files, bool& replacing) {
  const std::string path = traces::chakra_manifest_path(prefix), unfinished = to_text(unfinished_manifest(set, path));
  TRY_ASSIGN(const std::vector<std::string> larger, replaced_traces(prefix, set.ranks));
  if (!files.over_another()) TRY(files.write(path, unfinished));
  TRY_ASSIGN(set.digest, write_ranks(prefix, exporter, set.ranks, files));
  set.complete = true;
  FilesTogether manifest;
  TRY(manifest.write(path, to_text(set)));
  TRY(write_file_atomically(path, unfinished));
  replacing = true;
  TRY(files.replace_others());
  TRY(remove_traces(larger));
  return manifest.keep();
}

}  // namespace

Result<void> check_chakra_size(const graph::CostedGraph& costed, const Lowered& lowered, std::uint32_t asked) {
  const std::uint32_t ranks = ranks_written(lowered, asked);
  if (ranks > kMostRanks)
    return Error{"--write-et: found " + std::to_string(ranks) + " ranks, expected at most 2^20: one file per rank", "",
                 ""};
  if (asked != 0) return {};
  return check_size(traces::to_chakra(ChakraExport(costed, lowered, ranks).graph_of(0)).size(), ranks);
}

Result<void> write_chakra(const std::string& prefix, const graph::CostedGraph& costed, const Lowered& lowered,
                          std::uint32_t asked) {
  const std::uint32_t ranks = ranks_written(lowered, asked);
  const ChakraExport exporter(costed, lowered, ranks);
  TRY_ASSIGN(const LockFile lock, lock_set(prefix));
  NewSet files(traces::chakra_manifest_path(prefix));
  bool replacing = false;
  const EarlyEnd early;  // at the first signal what was written is taken back
  const auto written = write_set(prefix, exporter, {ranks, lowered.program.ranks, false, ""}, files, replacing);
  if (!written.ok() && !replacing) files.take_back();
  return written;
}

Result<void> check_chakra_place(const std::string& prefix, std::uint32_t ranks) {
  TRY(replaced_traces(prefix, ranks));
  return {};
}

std::vector<std::string> files_of_chakra_set(const std::string& prefix, std::uint32_t ranks) {
  std::vector<std::string> files{traces::chakra_manifest_path(prefix), groups_path(prefix), lock_path(prefix)};
  for (std::uint32_t r = 0; r < ranks; ++r) files.push_back(trace_path(prefix, r));
  std::ranges::move(traces::other_traces(prefix, ranks), std::back_inserter(files));
  return files;
}

}  // namespace distsim::pipeline
