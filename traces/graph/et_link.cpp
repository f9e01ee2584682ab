#include "traces/graph/et_link.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "traces/build/collective_text.hpp"

namespace distsim::traces {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // timed, node

/// Of the calls with sizes in both, those whose sizes differ: joined by name and order, two that began at once may be taken for
/// each other. Chosen; the Megatron traces of ranks 0, 3 and 7 have none of 4371, with those of half the batch 2793.
constexpr double kOtherSizes = 0.01;

/// Of the ops of the trace that has fewer, those that the other has too. Chosen; of pairs of one run it is 0.86 and more (of our
/// samples, which are cut, 0.58), of pairs of two runs 0.24 and less, even of one model on other GPUs.
constexpr double kLeastMatched = 1.0 / 3;

/// Ids that belong to one op each; 0 marks those that do not.
std::unordered_map<std::uint64_t, std::uint32_t> unique_ids(const TraceRank& rank) {
  std::unordered_map<std::uint64_t, std::uint32_t> ids;
  for (std::uint32_t i = 0; i < rank.host_records.size(); ++i) {
    const HostRecord& r = rank.host_records[i];
    if (r.op_id == 0 || r.kind == HostKind::runtime) continue;
    const auto [at, fresh] = ids.emplace(r.op_id, i);
    if (!fresh) at->second = kNone;
  }
  return ids;
}

Pairs by_id(const TraceRank& timed, const TraceRank& nodes) {
  const auto left = unique_ids(timed), right = unique_ids(nodes);
  Pairs out;
  for (const auto& [id, i] : left) {
    const auto at = right.find(id);
    if (i == kNone || at == right.end() || at->second == kNone) continue;
    if (timed.host_records[i].name == nodes.host_records[at->second].name) out.emplace_back(i, at->second);
  }
  std::ranges::sort(out);
  return out;
}

/// Ops of each name in the order of their start, over all threads. An execution trace and Kineto number threads in ways
/// of their own.
std::map<NameId, std::vector<std::uint32_t>> by_name(const TraceRank& rank) {
  std::map<NameId, std::vector<std::uint32_t>> out;
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < rank.host_records.size(); ++i) {
    const HostKind kind = rank.host_records[i].kind;
    if (kind == HostKind::op || kind == HostKind::annotation) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return rank.host_records[i].start_ns; });
  for (const std::uint32_t i : order) out[rank.host_records[i].name].push_back(i);
  return out;
}

Pairs by_order(const TraceRank& timed, const TraceRank& nodes) {
  Pairs out;
  const auto left = by_name(timed), right = by_name(nodes);
  for (const auto& [name, ops] : left) {
    const auto at = right.find(name);
    if (at == right.end() || at->second.size() != ops.size()) continue;
    for (std::size_t k = 0; k < ops.size(); ++k) out.emplace_back(ops[k], at->second[k]);
  }
  return out;
}

/// Tensors by the argument that they are of. Of a list of tensors, some profilers record the members and some nothing.
using ByArgument = std::map<std::uint32_t, std::vector<const TensorShape*>>;

ByArgument by_argument(const std::vector<TensorShape>& tensors) {
  ByArgument out;
  for (const TensorShape& t : tensors) {
    if (!t.dims.empty()) out[t.argument].push_back(&t);
  }
  return out;
}

/// What both state of a call.
struct Stated {
  bool both = false;            ///< the sizes of an argument
  std::string found, expected;  ///< of the first argument of another size or type; empty: none
};

Stated compare(const OpInputs& timed, const OpInputs& node) {
  Stated out;
  const ByArgument left = by_argument(timed.tensors), right = by_argument(node.tensors);
  const auto text = [](const TensorShape& t) {
    std::string dims;
    for (const std::int64_t d : t.dims) dims += (dims.empty() ? "" : "x") + std::to_string(d);
    return dims + (t.type.empty() ? "" : " (" + printable(t.type, 40) + ")");
  };
  for (const auto& [argument, tensors] : left) {
    const auto other = right.find(argument);
    if (other == right.end() || other->second.size() != tensors.size()) continue;
    out.both = true;
    for (std::size_t i = 0; i < tensors.size() && out.found.empty(); ++i) {
      const TensorShape &a = *tensors[i], &b = *other->second[i];
      const auto type_a = dtype_of_text(a.type), type_b = dtype_of_text(b.type);
      if (a.dims == b.dims && (!type_a || !type_b || *type_a == *type_b)) continue;
      out.found = text(b);
      out.expected = text(a);
    }
  }
  return out;
}

/// Takes out the pairs in which the two state other sizes or types of a call. Error: so many that they are not of one run.
Result<void> leave_out_unlike(const TraceJob& job, TraceRank& timed, const TraceRank& nodes, Pairs& pairs,
                              bool by_order) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Stated> known;
  std::size_t both = 0, unlike = 0;
  std::string found, expected;
  std::erase_if(pairs, [&](const auto& pair) {
    const HostRecord& call = timed.host_records[pair.first];
    const std::uint32_t right = nodes.host_records[pair.second].inputs;
    if (call.inputs == kNone || right == kNone) return false;
    const auto [at, fresh] = known.emplace(std::pair(call.inputs, right), Stated{});
    if (fresh) at->second = compare(job.inputs[call.inputs], job.inputs[right]);
    both += at->second.both ? 1 : 0;
    if (at->second.found.empty()) return false;
    if (unlike++ == 0) {
      found = in_quotes(job.name(call.name), 60) + " of " + at->second.found;
      expected = at->second.expected;
    }
    return true;
  });
  if (unlike == 0) return {};
  const std::string share = std::to_string(unlike) + " of " + counted(both, "call") + " with sizes in both";
  if (static_cast<double>(unlike) > kOtherSizes * static_cast<double>(both))
    return Error{"found " + found + ", expected " + expected + " as in " + in_quotes(timed.path, 200) + ", and so of " +
                     share + ": the execution trace is of another run" + (by_order ? ", or of other iterations" : ""),
                 nodes.path, "give each rank the execution trace of the same run"};
  timed.notes.assume(share + " " + std::string(agreeing(unlike, "has", "have")) +
                     " others in the execution trace, the first " + found + " for " + expected +
                     "; those beside the times are taken");
  return {};
}

std::size_t count_of(const TraceRank& rank, HostKind kind) {
  return static_cast<std::size_t>(std::ranges::count(rank.host_records, kind, &HostRecord::kind));
}

/// Ops of the two that could be paired by their names, whatever their order.
std::size_t of_same_name(const TraceRank& a, const TraceRank& b) {
  std::map<NameId, std::size_t> left;
  for (const HostRecord& r : a.host_records) left[r.name] += r.kind == HostKind::op ? 1 : 0;
  std::size_t out = 0;
  for (const HostRecord& r : b.host_records) {
    const auto found = r.kind == HostKind::op ? left.find(r.name) : left.end();
    if (found == left.end() || found->second == 0) continue;
    --found->second;
    ++out;
  }
  return out;
}

/// As many as two traces of one run have in common at least.
double least_matched(const TraceRank& timed, const TraceRank& nodes) {
  return kLeastMatched * static_cast<double>(std::min(count_of(timed, HostKind::op), count_of(nodes, HostKind::op)));
}

/// Error: hardly any op is in both. A Kineto trace without ops has annotations all the same, which say nothing of a run.
Result<void> check_matched(const TraceRank& timed, const TraceRank& nodes, std::size_t matched) {
  if (static_cast<double>(matched) >= least_matched(timed, nodes)) return {};
  return Error{"found " + counted(count_of(nodes, HostKind::op), "op") + ", " + std::to_string(matched) +
                   " of them among the " + counted(count_of(timed, HostKind::op), "op") + " of " +
                   in_quotes(timed.path, 200) +
                   ", expected most: the execution trace is of another run, or of other iterations",
               nodes.path, "give each rank the execution trace of the same run"};
}

}  // namespace

Result<void> link_execution_trace(TraceJob& job, TraceRank& timed, const TraceRank& nodes) {
  Pairs pairs = by_id(timed, nodes);
  constexpr std::string_view kById = "record function id";
  std::string how(kById);
  if (pairs.size() * 2 < std::min(timed.host_records.size(), nodes.host_records.size()) / 2) {
    const Pairs ordered = by_order(timed, nodes);
    if (ordered.size() > pairs.size()) {
      pairs = ordered;
      how = "name and order";
    }
  }
  // Ops that pair by their names alone, each as often as the other trace has it, say nothing where most are there more often.
  const double least = least_matched(timed, nodes);
  const bool of_other_iterations = (pairs.empty() || how != kById) && static_cast<double>(pairs.size()) < least &&
                                   static_cast<double>(of_same_name(timed, nodes)) >= least;
  if (of_other_iterations) pairs.clear();
  const std::size_t matched = pairs.size();
  TRY(leave_out_unlike(job, timed, nodes, pairs, how != kById));
  if (!of_other_iterations) TRY(check_matched(timed, nodes, matched));
  for (const auto& [i, n] : pairs) {
    HostRecord& r = timed.host_records[i];
    const HostRecord& node = nodes.host_records[n];
    if (node.inputs != kNone) r.inputs = node.inputs;
    if (r.collective == kNone && node.collective != kNone) {
      r.collective = static_cast<std::uint32_t>(timed.collectives.size());
      timed.collectives.push_back(nodes.collectives[node.collective]);
      timed.collectives.back().host_record = i;
    }
  }
  timed.format += " + " + nodes.format;
  const std::size_t ops = count_of(timed, HostKind::op) + count_of(timed, HostKind::annotation);
  if (of_other_iterations)
    timed.notes.assume(
        "the execution trace has the same ops in other numbers, as of other iterations: nothing is taken from it");
  timed.notes.assume(std::to_string(matched) + " of " + std::to_string(ops) + " ops matched to the execution trace (" +
                     counted(nodes.host_records.size(), "node") + ") by " + how);
  for (const TraceNotes::Count& c : nodes.notes.dropped) timed.notes.drop(c.what, c.count);
  for (const std::string& part : nodes.notes.missing) timed.notes.miss(part + " (execution trace)");
  for (const std::string& text : nodes.notes.assumptions) timed.notes.assume("execution trace: " + text);
  return {};
}

}  // namespace distsim::traces
