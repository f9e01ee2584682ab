#include "traces/chakra/chakra_builder.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>

#include "base/text/lower_case.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

constexpr std::int64_t kMostPs = std::int64_t{1'000'000} * 1'000'000'000'000;  // Duration::kMaxSeconds
constexpr std::int64_t kMostRanks = std::int64_t{1} << 24;

Error found(std::string_view what, std::int64_t value, std::string_view expected) {
  return {std::string(what) + ": found " + std::to_string(value) + ", expected " + std::string(expected), "", ""};
}

Result<void> check_numbers(const ChakraNode& n) {
  if (n.ps < 0 || n.ps > kMostPs) return found("duration", n.ps, "from 0 to 10^6 s, in picoseconds");
  if (n.operations < 0) return found("num_ops", n.operations, "a non-negative count");
  if (n.tensor_bytes < 0) return found("tensor_size", n.tensor_bytes, "a non-negative size");
  if (n.comm_bytes < ChakraNode::kAbsent) return found("comm_size", n.comm_bytes, "a non-negative size");
  const bool message = n.kind == ChakraKind::send || n.kind == ChakraKind::receive;
  if (message && (n.peer < 0 || n.peer >= kMostRanks)) {
    return found(n.kind == ChakraKind::send ? "comm_dst" : "comm_src", n.peer, "the peer rank");
  }
  if (message && (n.tag < 0 || n.tag > std::numeric_limits<std::uint32_t>::max()))
    return found("comm_tag", n.tag, "a tag from 0 to 2^32 - 1");
  if (message && n.comm_bytes < 0 && n.kind == ChakraKind::send)
    return found("comm_size", n.comm_bytes, "the size of the message");
  return {};
}

/// Members and attributes that are read, by the usual spelling of each.
constexpr std::array<std::string_view, 25> kReadNames{
    "id",       "name",      "type",    "NodeType",  "ctrl_deps", "ctrlDeps",    "data_deps",       "dataDeps",
    "runtime",  "inputs",    "attr",    "comm_size", "comm_dst",  "comm_src",    "comm_tag",        "comm_type",
    "pg_name",  "is_cpu_op", "num_ops", "stream",    "tid",       "duration_ps", "duration_micros", "tensor_size",
    "send_recv"};
/// Those that PyTorch, chakra_trace_link and ASTRA-sim write as well and that say nothing of times here, and names near
/// those above that other tools could mean something by.
constexpr std::array<std::string_view, 35> kOtherNames{
    "outputs",        "start_time_micros", "startTimeMicros", "start_time",
    "rf_id",          "fw_parent",         "fw_tid",          "seq_id",
    "scope",          "op_schema",         "schema",          "kernel_file",
    "kernel_backend", "comm_priority",     "comm_id",         "comm_tags",
    "comm_group",     "pg_desc",           "pg_size",         "pg_id",
    "pg_names",       "group_size",        "involved_dim",    "is_gpu_op",
    "tensor_id",      "tensor_ids",        "tensor_loc",      "tensor_type",
    "tensor_dtype",   "num_ranks",         "num_npus",        "num_nodes",
    "data_type",      "data_types",        "data_dependency"};

/// The name that `name` is a misspelling of: one nearly the same that begins with the same letter. Empty: another name.
std::string misspelt_member(std::string_view name) {
  constexpr std::size_t kFewestLetters = 5;  // of shorter words every other one is near
  const auto is_name = [&](const auto& names) { return std::ranges::find(names, name) != names.end(); };
  if (name.size() < kFewestLetters || is_name(kReadNames) || is_name(kOtherNames)) return "";
  static const std::vector<std::string> known(kReadNames.begin(), kReadNames.end());
  const std::string nearest = nearest_spelling(name, known);
  return !nearest.empty() && lower_case(nearest.substr(0, 1)) == lower_case(name.substr(0, 1)) ? nearest : "";
}

bool alike(const ChakraNode& a, const ChakraNode& b) {
  return a.kind == b.kind && a.comm == b.comm && a.on_cpu == b.on_cpu && a.lane == b.lane &&
         a.operations == b.operations && a.tensor_bytes == b.tensor_bytes && a.comm_bytes == b.comm_bytes &&
         a.peer == b.peer && a.tag == b.tag;
}

}  // namespace

bool same_structure(const ChakraGraph& a, const ChakraGraph& b) {
  if (a.job_ranks != b.job_ranks || a.nodes.size() != b.nodes.size() || a.dep_offsets != b.dep_offsets ||
      a.deps != b.deps || a.groups != b.groups)
    return false;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    if (!alike(a.nodes[i], b.nodes[i]) || a.text_of(a.nodes[i].group) != b.text_of(b.nodes[i].group)) return false;
  }
  return true;
}

void ChakraBuilder::passed_by(std::string_view name) {
  constexpr std::size_t kMostNames = 256, kMostSaid = 8, kMostPrinted = 60;
  if (passed_by_.size() >= kMostNames || passed_by_.contains(name)) return;
  passed_by_.emplace(name);
  const std::string nearest = misspelt_member(name);
  if (!nearest.empty() && graph_.misspelt.size() < kMostSaid)
    graph_.misspelt.push_back(in_quotes(name, kMostPrinted) + " of a node is not read; did you mean '" + nearest +
                              "'?");
}

ChakraText ChakraBuilder::intern(std::string_view text) {
  const auto begin = static_cast<std::uint32_t>(graph_.text.size());
  graph_.text.append(text.substr(0, std::numeric_limits<std::uint32_t>::max() - begin));
  return {begin, static_cast<std::uint32_t>(graph_.text.size()) - begin};
}

Result<void> ChakraBuilder::add_group(const std::string& name, std::vector<std::uint32_t> ranks) {
  const auto [known, is_new] = graph_.groups.try_emplace(name, std::move(ranks));
  if (is_new || known->second == ranks) return {};
  return Error{"process group " + in_quotes(name) + ": found it twice with other ranks, expected it once", "", ""};
}

Result<void> ChakraBuilder::add(const ChakraNode& node) {
  TRY(check_numbers(node));
  if (graph_.nodes.size() == kMostNodes)
    return Error{"found more than " + std::to_string(kMostNodes) + " nodes, expected fewer", "", ""};
  graph_.nodes.push_back(node);
  wanted_offsets_.push_back(static_cast<std::uint32_t>(wanted_.size()));
  return {};
}

std::string ChakraBuilder::describe(std::uint32_t node) const {
  return "node " + std::to_string(graph_.nodes[node].id) + " (" + printable(graph_.text_of(graph_.nodes[node].name)) +
         ")";
}

/// Puts node order[i] in place i, with what it wants.
void ChakraBuilder::permute(const std::vector<std::uint32_t>& order) {
  std::vector<ChakraNode> nodes(order.size());
  std::vector<std::uint32_t> offsets{0};
  std::vector<Wanted> wanted;
  offsets.reserve(order.size() + 1);
  wanted.reserve(wanted_.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    nodes[i] = graph_.nodes[order[i]];
    wanted.insert(wanted.end(), wanted_.begin() + wanted_offsets_[order[i]],
                  wanted_.begin() + wanted_offsets_[order[i] + 1]);
    offsets.push_back(static_cast<std::uint32_t>(wanted.size()));
  }
  graph_.nodes = std::move(nodes);
  wanted_offsets_ = std::move(offsets);
  wanted_ = std::move(wanted);
}

void ChakraBuilder::drop_callers() {
  const auto is_data = [](const Wanted& w) { return !w.control; };
  if (!old_layout_ || std::none_of(wanted_.begin(), wanted_.end(), is_data)) return;
  std::vector<Wanted> kept;
  std::vector<std::uint32_t> offsets{0};
  for (std::size_t n = 0; n + 1 < wanted_offsets_.size(); ++n) {
    std::copy_if(wanted_.begin() + wanted_offsets_[n], wanted_.begin() + wanted_offsets_[n + 1],
                 std::back_inserter(kept), is_data);
    offsets.push_back(static_cast<std::uint32_t>(kept.size()));
  }
  graph_.dropped_deps = wanted_.size() - kept.size();
  wanted_ = std::move(kept);
  wanted_offsets_ = std::move(offsets);
}

Result<void> ChakraBuilder::sort_by_id() {
  const auto by_id = [](const ChakraNode& a, const ChakraNode& b) { return a.id < b.id; };
  if (!std::is_sorted(graph_.nodes.begin(), graph_.nodes.end(), by_id)) {
    std::vector<std::uint32_t> order(graph_.nodes.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return graph_.nodes[a].id < graph_.nodes[b].id; });
    permute(order);
  }
  const auto twice =
      std::adjacent_find(graph_.nodes.begin(), graph_.nodes.end(), [](auto& a, auto& b) { return a.id == b.id; });
  if (twice == graph_.nodes.end()) return {};
  return Error{
      describe(static_cast<std::uint32_t>(twice - graph_.nodes.begin())) + ": found its id twice, expected unique ids",
      "", ""};
}

Result<void> ChakraBuilder::look_up_deps() {
  graph_.deps.reserve(wanted_.size());
  graph_.dep_offsets.reserve(graph_.nodes.size() + 1);
  for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
    for (std::uint32_t i = wanted_offsets_[n]; i < wanted_offsets_[n + 1]; ++i) {
      const std::uint64_t id = wanted_[i].id;
      const auto at = std::lower_bound(graph_.nodes.begin(), graph_.nodes.end(), id,
                                       [](auto& node, std::uint64_t v) { return node.id < v; });
      if (at != graph_.nodes.end() && at->id == id) {
        graph_.deps.push_back(static_cast<std::uint32_t>(at - graph_.nodes.begin()));
      } else if (wanted_[i].control && old_layout_) {
        ++graph_.dropped_deps;
      } else {
        return Error{
            describe(n) + ": found a dependency on node " + std::to_string(id) + ", expected a node of the file", "",
            ""};
      }
    }
    const auto first = graph_.deps.begin() + graph_.dep_offsets.back();
    std::sort(first, graph_.deps.end());
    graph_.deps.erase(std::unique(first, graph_.deps.end()), graph_.deps.end());
    graph_.dep_offsets.push_back(static_cast<std::uint32_t>(graph_.deps.size()));
  }
  return {};
}

/// Of the nodes left over, each waits for another: following these leads into a circle.
Error ChakraBuilder::cycle_error(const std::vector<std::uint32_t>& unmet) const {
  constexpr std::size_t kMostNamed = 12;
  std::uint32_t node = 0;
  while (unmet[node] == 0) ++node;
  std::vector<std::uint32_t> path;
  std::vector<bool> seen(unmet.size());
  while (!seen[node]) {
    seen[node] = true;
    path.push_back(node);
    for (const std::uint32_t dep : graph_.deps_of(node)) {
      if (unmet[dep] > 0) {
        node = dep;
        break;
      }
    }
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), node));
  std::string text = "found a dependency cycle: ";
  for (std::size_t i = 0; i < std::min(path.size(), kMostNamed); ++i) text += describe(path[i]) + " waits for ";
  if (path.size() > kMostNamed) text += "... (" + std::to_string(path.size()) + " nodes) ... ";
  return {text + describe(node), "", ""};
}

/// Kahn's algorithm, smallest id first. Files whose ids already follow their dependencies pass at once.
Result<void> ChakraBuilder::order_by_deps() {
  const auto count = static_cast<std::uint32_t>(graph_.nodes.size());
  bool ordered = true;
  for (std::uint32_t n = 0; n < count && ordered; ++n)
    ordered = graph_.deps_of(n).empty() || graph_.deps_of(n).back() < n;
  if (ordered) return {};
  std::vector<std::uint32_t> unmet(count), offsets(count + 1), waiters(graph_.deps.size());
  for (const std::uint32_t dep : graph_.deps) ++offsets[dep + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  for (std::uint32_t n = 0; n < count; ++n) {
    unmet[n] = static_cast<std::uint32_t>(graph_.deps_of(n).size());
    for (const std::uint32_t dep : graph_.deps_of(n)) waiters[next[dep]++] = n;
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t n = 0; n < count; ++n) {
    if (unmet[n] == 0) ready.push(n);
  }
  std::vector<std::uint32_t> order, place(count);
  while (!ready.empty()) {
    const std::uint32_t n = ready.top();
    ready.pop();
    place[n] = static_cast<std::uint32_t>(order.size());
    order.push_back(n);
    for (std::uint32_t i = offsets[n]; i < offsets[n + 1]; ++i) {
      if (--unmet[waiters[i]] == 0) ready.push(waiters[i]);
    }
  }
  if (order.size() != count) return cycle_error(unmet);
  ChakraGraph sorted = graph_;
  sorted.deps.clear();
  sorted.dep_offsets.assign(1, 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    sorted.nodes[i] = graph_.nodes[order[i]];
    for (const std::uint32_t dep : graph_.deps_of(order[i])) sorted.deps.push_back(place[dep]);
    std::sort(sorted.deps.begin() + sorted.dep_offsets.back(), sorted.deps.end());
    sorted.dep_offsets.push_back(static_cast<std::uint32_t>(sorted.deps.size()));
  }
  graph_ = std::move(sorted);
  return {};
}

Result<ChakraGraph> ChakraBuilder::finish() && {
  drop_callers();
  TRY(sort_by_id());
  TRY(look_up_deps());
  TRY(order_by_deps());
  return std::move(graph_);
}

}  // namespace distsim::traces
