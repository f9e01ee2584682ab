#include "traces/chakra/chakra_set.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/file.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "traces/chakra/chakra_manifest.hpp"
#include "traces/chakra/chakra_reader.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kMostBytes = (std::size_t{1} << 31) - 1;

/// Equal for structures that are alike; see same_structure.
std::uint64_t hash_of(const ChakraGraph& g) {
  std::uint64_t h = g.nodes.size();
  const auto mix = [&h](std::uint64_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ull, h ^= h >> 29; };
  for (const std::uint32_t dep : g.deps) mix(dep);
  for (const ChakraNode& n : g.nodes) {
    mix(static_cast<std::uint64_t>(n.comm_bytes) * 31 + static_cast<std::uint64_t>(n.peer));
    mix(static_cast<std::uint64_t>(n.kind) << 8 | static_cast<std::uint64_t>(n.comm));
    if (n.group.size > 0) mix(std::hash<std::string_view>()(g.text_of(n.group)));
  }
  return h;
}

class SetReader {
 public:
  /// `expected`: how many files a set of distsim's must have been written with; 0: any.
  explicit SetReader(std::size_t expected) : expected_(expected) {}

  Result<void> read(const std::string& file) {
    TRY_ASSIGN(const std::string bytes, read_file(file, kMostBytes));
    digest_.add(bytes);
    const std::size_t hash = std::hash<std::string_view>()(bytes);
    const auto known = file_with_.find(hash);
    if (known != file_with_.end()) {
      TRY_ASSIGN(const std::string earlier, read_file(files_[known->second], kMostBytes));
      if (earlier == bytes) return repeat(known->second, file);
    }
    file_with_.emplace(hash, files_.size());
    TRY_ASSIGN(ChakraGraph graph, read_chakra(bytes, file));
    if (expected_ > 0 && graph.set_ranks > 0 && graph.set_ranks != expected_)
      return Error{
          "found " + counted(expected_, "trace") + ", expected the " + std::to_string(graph.set_ranks) +
              " that this one was written with",
          printable(file, 300),
          graph.set_ranks > expected_ ? "every rank of the job needs its trace" : "the others are of another job"};
    TRY(check_job(graph.set_job, file));
    stamped_ = stamped_ || graph.set_ranks > 0;
    add(std::move(graph));
    files_.push_back(file);
    return {};
  }

  std::string digest() const { return digest_.text(); }
  /// Whether distsim wrote one of them as part of a set.
  bool is_of_set() const { return stamped_; }

  /// Whether any rank does anything; one of them alone may be idle.
  bool plays() const {
    return std::ranges::any_of(set_.graphs, [](const ChakraGraph& graph) {
      return std::ranges::any_of(graph.nodes, [](const ChakraNode& node) {
        return node.on_cpu || (node.kind != ChakraKind::invalid && node.kind != ChakraKind::metadata);
      });
    });
  }

  ChakraSet take(std::size_t files) {
    set_.files = files;
    return std::move(set_);
  }

 private:
  Result<void> repeat(std::size_t rank, const std::string& file) {
    set_.ranks.push_back(set_.ranks[rank]);
    ++set_.same_files;
    files_.push_back(file);
    return {};
  }

  /// Files that distsim wrote for different jobs do not play together, even where their groups and kinds agree.
  Result<void> check_job(std::uint64_t job, const std::string& file) {
    if (job == 0) return {};
    if (job_ != 0 && job != job_)
      return Error{"found a trace of another job than " + in_quotes(job_file_, 300) + ", expected those of one job",
                   printable(file, 300), "the times of both were predicted for different experiments"};
    if (job_ == 0) job_file_ = file;
    job_ = job;
    return {};
  }

  void add(ChakraGraph graph) {
    const std::uint64_t hash = hash_of(graph);
    const auto [first, last] = graph_with_.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      if (!same_structure(set_.graphs[it->second], graph)) continue;
      ChakraRank rank{it->second, {}};
      rank.ps.reserve(graph.nodes.size());
      for (const ChakraNode& node : graph.nodes) rank.ps.push_back(node.ps);
      set_.ranks.push_back(std::move(rank));
      return;
    }
    graph_with_.emplace(hash, static_cast<std::uint32_t>(set_.graphs.size()));
    set_.ranks.push_back({static_cast<std::uint32_t>(set_.graphs.size()), {}});
    graph.nodes.shrink_to_fit();
    graph.text.shrink_to_fit();
    set_.graphs.push_back(std::move(graph));
  }

  std::size_t expected_;
  std::uint64_t job_ = 0;  ///< of the files so far; 0: none says it
  std::string job_file_;
  bool stamped_ = false;
  ChakraSet set_;
  ChakraSetDigest digest_;
  std::vector<std::string> files_;                          ///< by rank
  std::unordered_map<std::size_t, std::size_t> file_with_;  ///< hash of the bytes -> rank
  std::unordered_multimap<std::uint64_t, std::uint32_t> graph_with_;
};

/// As the manifest or the traces state them; 0: as many as there are traces. Error: fewer.
Result<std::uint32_t> ranks_of_job(const ChakraSet& set, const ChakraManifest& manifest, const std::string& file) {
  std::uint32_t stated = manifest.job_ranks;
  std::uint32_t by_traces = 0;
  for (const ChakraGraph& graph : set.graphs) {
    if (by_traces > 0 && graph.job_ranks > 0 && graph.job_ranks != by_traces)
      return Error{"found traces of a job of " + counted(by_traces, "rank") + " and of one of " +
                       counted(graph.job_ranks, "rank") + ", expected one number: group_size of the group of all ranks",
                   printable(file, 300), ""};
    by_traces = std::max(by_traces, graph.job_ranks);
  }
  stated = std::max(stated, by_traces);
  if (stated > 0 && stated < set.ranks.size())
    return Error{"found " + counted(set.ranks.size(), "trace") + ", expected at most the " + counted(stated, "rank") +
                     " of the job that the traces name",
                 printable(file, 300), "the others are of another job"};
  return stated == set.ranks.size() ? 0 : stated;
}

}  // namespace

Result<ChakraSet> read_chakra_set(const std::vector<std::string>& files, std::uint32_t copies) {
  if (copies == 0 || (copies > 1 && files.size() > 1)) {
    return Error{"found " + std::to_string(files.size()) + " traces for " + std::to_string(copies) +
                     " ranks, expected one trace to replicate, or one per rank",
                 "", ""};
  }
  TRY_ASSIGN(const ChakraManifest manifest, manifest_beside(files, copies));
  SetReader reader(copies > 1 ? 0 : files.size());
  for (const std::string& file : files) TRY(reader.read(file));
  if (!manifest.digest.empty() && reader.digest() != manifest.digest)
    return Error{"found files that are not those of their set, expected the traces as they were written together",
                 printable(files.front(), 300), "traces of two jobs, or a damaged file? Write the set again"};
  if (!reader.plays())
    return Error{"found no node to play, expected at least one computation or message", printable(files.front(), 300),
                 ""};
  const bool of_set = reader.is_of_set();
  ChakraSet set = reader.take(files.size());
  set.order_is_known = !of_set || !manifest.digest.empty() || set.same_files + 1 == set.files;
  if (copies > 1) {
    set.ranks.resize(copies, set.ranks.front());
  } else {
    TRY_ASSIGN(set.job_ranks, ranks_of_job(set, manifest, files.front()));
  }
  return set;
}

}  // namespace distsim::traces
