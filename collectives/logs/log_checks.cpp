// Ranks and nodes of a run: what the lines of its log say against each other and against the flags.

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text/counted.hpp"
#include "collectives/logs/log_tables.hpp"

namespace distsim::collectives {
namespace {

/// The list of ranks that nccl-tests prints, against itself and the flags.
Result<void> check_listed(const LogContext& context, const std::string& file, const LogHints& hints) {
  const std::size_t listed = context.rank_ids.size();
  if (listed == 0) return {};
  std::map<std::uint32_t, std::size_t> sizes;
  for (const auto& [group, rank] : context.other_groups) ++sizes[group];
  for (const auto& [group, size] : sizes) {
    if (size != listed)
      return Error{"found " + counted(listed, "rank") + " in group 0 and " + std::to_string(size) + " in group " +
                       std::to_string(group) + ", expected groups of one size",
                   file, "times of groups of several sizes (NCCL_TESTS_SPLIT) are those of no single one"};
  }
  if (context.other_groups.empty() && *context.rank_ids.rbegin() + std::size_t{1} != listed) {
    std::uint32_t missing = 0;
    while (context.rank_ids.contains(missing)) ++missing;
    return Error{"found no line of rank " + std::to_string(missing) + " among " + counted(listed, "rank") +
                     ", expected all that took part",
                 file, "the log may be damaged"};
  }
  if (hints.ranks != 0 && hints.ranks != listed)
    return Error{"--ranks: found " + std::to_string(hints.ranks) + ", expected " + std::to_string(listed) +
                     ", the ranks that the log lists",
                 file, ""};
  if (context.other_groups.empty() && context.ranks != 0 && context.ranks != listed)
    return Error{"ranks: found " + std::to_string(context.ranks) + ", expected " + std::to_string(listed) +
                     ", the ranks that the log lists",
                 file, ""};
  return {};
}

/// Ranks and nodes of the flags against those that a log states.
Result<void> check_flags(const LogContext& context, const std::string& file, const LogHints& hints) {
  for (const auto& [flag, given, stated] :
       {std::tuple("--ranks", hints.ranks, context.stated_ranks), {"--nodes", hints.nodes, context.stated_nodes}}) {
    if (given != 0 && stated != 0 && given != stated)
      return Error{
          std::string(flag) + ": found " + std::to_string(given) + ", but the log states " + std::to_string(stated),
          file, ""};
  }
  return {};
}

/// Nodes as stated against the hosts of the list: each is one or, of containers, a part of one. GPUs of one PCI address are on
/// as many nodes.
Result<void> check_nodes(const LogContext& context, const std::string& file, const LogHints& hints) {
  const std::uint32_t nodes = hints.nodes != 0 ? hints.nodes : context.nodes;
  const std::string key = hints.nodes != 0 ? "--nodes" : "nodes";
  std::size_t least = 0;
  for (const auto& [address, hosts] : context.hosts_of_address) least = std::max(least, hosts.size());
  if (nodes == 0 || context.hosts.empty() || (nodes <= context.hosts.size() && nodes >= least)) return {};
  if (nodes > context.hosts.size())
    return Error{key + ": found " + std::to_string(nodes) + ", expected at most " +
                     std::to_string(context.hosts.size()) + ", the hosts that the log names",
                 file, ""};
  return Error{key + ": found " + std::to_string(nodes) + ", expected at least " + std::to_string(least) +
                   ", the hosts with a GPU at the same address",
               file, ""};
}

}  // namespace

Result<void> check_launch(const RunFacts& run, std::uint32_t ranks) {
  const std::uint64_t each = run.ranks_each, least = each * run.processes;
  if (each == 0 || (ranks % each == 0 && ranks >= least)) return {};
  return Error{"ranks: found " + std::to_string(ranks) + ", expected " +
                   (ranks % each != 0 ? "a multiple of " + std::to_string(each) + ", those of a process"
                                      : "at least " + std::to_string(least) + ", " + std::to_string(each) +
                                            " of each listed process") +
                   " (threads times GPUs of each)",
               "", ""};
}

Result<void> check_shape(const LogContext& context, const std::string& file) {
  if (context.ranks == 0 || context.nodes <= context.ranks) return {};
  return Error{"nodes: found " + std::to_string(context.nodes) + ", expected at most the number of ranks, " +
                   std::to_string(context.ranks),
               file, "--ranks counts the GPUs of all nodes"};
}

Result<void> check_hints(const LogContext& context, const std::string& file, const LogHints& hints) {
  TRY(check_listed(context, file, hints));
  TRY(check_flags(context, file, hints));
  return check_nodes(context, file, hints);
}

}  // namespace distsim::collectives
