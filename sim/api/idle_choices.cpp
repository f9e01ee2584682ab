#include "sim/api/idle_choices.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "collectives/selection.hpp"

namespace distsim::api {
namespace {

/// What may be left out, and how: false where the request is the same without it.
struct Choice {
  std::string_view flag;
  bool (*leave_out)(CollectiveRequest&);
};
constexpr std::string_view kAlgorithms = "--algorithms", kProtocols = "--protocols";
constexpr Choice kChoices[] = {
    {"--curve", [](CollectiveRequest& r) { return !std::exchange(r.curves, {}).empty(); }},
    {"--no-curves", [](CollectiveRequest& r) { return !std::exchange(r.use_curves, true); }},
    {"--allow-partial", [](CollectiveRequest& r) { return std::exchange(r.allow_partial, false); }},
    {"--side-by-side", [](CollectiveRequest& r) { return std::exchange(r.side_by_side, false); }},
    {kAlgorithms, [](CollectiveRequest& r) { return !std::exchange(r.algorithms, {}).empty(); }},
    {kProtocols, [](CollectiveRequest& r) { return !std::exchange(r.protocols, {}).empty(); }},
    {"--launch", [](CollectiveRequest& r) { return std::exchange(r.launch, "mpi") != "mpi"; }},
    {"--exchange", [](CollectiveRequest& r) { return std::exchange(r.exchange, "grouped") != "grouped"; }},
    {"--all-reduce", [](CollectiveRequest& r) { return std::exchange(r.all_reduce, "nccl") != "nccl"; }},
};

}  // namespace

std::vector<std::string> sizes_in_parts(const PricedCollective& priced) {
  using graph::CollectiveKind;
  const CollectiveKind kind = priced.kind;
  const bool divided = kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter ||
                       kind == CollectiveKind::all_to_all || kind == CollectiveKind::gather ||
                       kind == CollectiveKind::scatter;
  std::vector<std::string> lines;
  for (const std::int64_t bytes : priced.sizes) {
    if (divided && bytes % priced.ranks != 0)
      lines.push_back(
          fmt::format("--bytes: {} is not a multiple of {} ranks; nccl-tests would send less", bytes, priced.ranks));
  }
  return lines;
}

std::string unheeded_choice(const PricedCollective& priced) {
  const topology::GroupFacts& facts = priced.table.facts;
  const collectives::CollectiveOptions& options = priced.options;
  if (facts.ranks < 2 || (options.algorithms.empty() && options.protocols.empty())) return "";
  const graph::CollectiveKind moved = collectives::kind_priced(priced.kind);
  const collectives::Selection selection = collectives::selection_of(options);
  if (collectives::any_allowed(collectives::candidates_for(moved, collectives::channels_of(facts)),
                               collectives::selection_for(moved, selection)))
    return "";
  return fmt::format("{}, {}: none of them supports {} on this group; priced with NCCL's default choice", kAlgorithms,
                     kProtocols, graph::name_of(priced.kind));
}

std::vector<study::IdleArgument> idle_choices(const CollectiveRequest& request, const PricedCollective& priced) {
  const LogSilence silence;
  const bool choice_named = !unheeded_choice(priced).empty();
  std::vector<study::IdleArgument> idle;
  for (const Choice& choice : kChoices) {
    CollectiveRequest rest = request;
    if (!choice.leave_out(rest)) continue;
    if (choice_named && (choice.flag == kAlgorithms || choice.flag == kProtocols)) continue;
    const auto without = priced_collective(rest);
    if (without && without->table.text == priced.table.text)
      idle.push_back({std::string(choice.flag), "no effect, the cost is the same"});
  }
  return idle;
}

}  // namespace distsim::api
