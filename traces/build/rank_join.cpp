// Joins the sorted records of a rank: callers, launches, synchronisations, memory, collectives.
#include <algorithm>

#include "base/text/counted.hpp"
#include "traces/build/rank_builder.hpp"

namespace distsim::traces {
namespace {

/// ns: whole microseconds, cut off, may let a child end after its parent by as much.
constexpr std::int64_t kJitter = 1000;

}  // namespace

void note_unlaunched(TraceNotes& notes, std::uint64_t without, std::uint64_t all) {
  if (without == 0) return;
  notes.assume(std::to_string(without) + " of " + counted(all, "device record") + " " +
               std::string(agreeing(without, "has", "have")) +
               " no launch record (launched before the window, or the launch is not recorded); kept in stream order");
}

/// Parents by a stack for each thread. A record that only partly overlaps the one around it (clock jitter) belongs to
/// the next one out.
void RankBuilder::nest(TraceRank& rank) {
  std::vector<std::uint32_t> open;
  for (const TraceThread& thread : rank.threads) {
    open.clear();
    for (std::uint32_t i = thread.begin; i < thread.end; ++i) {
      HostRecord& r = rank.host_records[i];
      while (!open.empty() && rank.host_records[open.back()].end_ns() <= r.start_ns) open.pop_back();
      std::size_t around = open.size();
      while (around > 0 && rank.host_records[open[around - 1]].end_ns() + kJitter < r.end_ns()) --around;
      r.parent = around > 0 ? open[around - 1] : kNone;
      if (around < open.size()) open.resize(around);
      open.push_back(i);
    }
  }
}

RankBuilder::HostIndex RankBuilder::index_hosts(TraceRank& rank, const std::vector<Key>& host_keys) {
  HostIndex index;
  std::uint64_t twice = 0;
  for (std::uint32_t i = 0; i < rank.host_records.size(); ++i) {
    const HostRecord& r = rank.host_records[i];
    const Key& key = host_keys[i];
    if (r.kind != HostKind::runtime) {
      if (key.external != 0) index.ops.emplace(key.external, i);
      continue;
    }
    if (key.correlation == 0) continue;
    const auto [at, fresh] = index.calls.emplace(key.correlation, i);
    // A driver call inside a runtime call may repeat its id: the outer one was sorted first and stays.
    const HostRecord& first = rank.host_records[at->second];
    if (!fresh && (first.end_ns() < r.end_ns() || first.thread != r.thread)) ++twice;
  }
  if (twice > 0)
    rank.notes.assume(counted(twice, "runtime call repeats", "runtime calls repeat") +
                      " a correlation id; the first one counts");
  return index;
}

void RankBuilder::join(TraceRank& rank, const HostIndex& index, const std::vector<std::uint32_t>& device_order) {
  std::uint64_t without = 0;
  for (std::uint32_t i = 0; i < rank.device_records.size(); ++i) {
    DeviceRecord& r = rank.device_records[i];
    const Key& key = device_keys_[device_order[i]];
    r.launch = index.call(key.correlation);
    if (r.launch != kNone) {
      r.from_graph = rank.host_records[r.launch].call == RuntimeCall::launch_graph;
      r.op = rank.host_records[r.launch].parent;
      while (r.op != kNone && rank.host_records[r.op].kind == HostKind::runtime) r.op = rank.host_records[r.op].parent;
    } else {
      ++without;
    }
    if (r.op == kNone && key.external != key.correlation) r.op = index.op(key.external);
  }
  note_unlaunched(rank.notes, without, rank.device_records.size());
  rank.twice_elsewhere = count_twice_elsewhere(rank, device_order);
}

/// A call launches one kernel or copy, unless it launches a graph. Of a format without calls only the ids are known, and a
/// graph's kernels have one; but none of the same name, start and duration as another.
std::uint64_t RankBuilder::count_twice_elsewhere(const TraceRank& rank,
                                                 const std::vector<std::uint32_t>& device_order) const {
  std::unordered_map<std::uint64_t, std::uint32_t> of_id;
  std::vector<std::uint32_t> of_call(rank.host_records.size(), kNone);
  std::uint64_t twice = 0;
  for (std::uint32_t i = 0; i < rank.device_records.size(); ++i) {
    const DeviceRecord& r = rank.device_records[i];
    const std::uint64_t id = device_keys_[device_order[i]].correlation;
    if (r.from_graph || (r.launch == kNone && id == 0)) continue;
    std::uint32_t& first = r.launch != kNone ? of_call[r.launch] : of_id.emplace(id, kNone).first->second;
    if (first == kNone) {
      first = i;
      continue;
    }
    const DeviceRecord& other = rank.device_records[first];
    twice += other.stream != r.stream && other.start_ns == r.start_ns && other.duration_ns == r.duration_ns &&
                     other.name == r.name && other.kind == r.kind
                 ? 1
                 : 0;
  }
  return twice;
}

void RankBuilder::join_syncs(TraceRank& rank, const HostIndex& index) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> streams;
  for (std::uint32_t i = 0; i < rank.streams.size(); ++i) streams[{rank.streams[i].device, rank.streams[i].id}] = i;
  const auto stream = [&](std::uint32_t device, std::int64_t id) {
    const auto at = id >= 0 ? streams.find({device, static_cast<std::uint64_t>(id)}) : streams.end();
    return at != streams.end() ? at->second : kNone;
  };
  for (const SyncInput& s : syncs_) {
    SyncRecord r = s.record;
    r.stream = stream(s.device, s.stream);
    r.wait_on_stream = stream(s.device, s.wait_on_stream);
    r.call = index.call(s.correlation);
    r.record_call = index.call(s.record_correlation);
    rank.syncs.push_back(r);
  }
  std::ranges::stable_sort(rank.syncs, {}, &SyncRecord::start_ns);
}

/// By start. Where totals were not recorded they are added up, from the least that keeps all of them at 0 or more. Where they were,
/// each is the one before and its own change; else an event between the two is not in the trace.
void RankBuilder::place_memory(TraceRank& rank) {
  if (memory_.empty()) return;
  std::ranges::stable_sort(memory_, {}, [](const MemoryInput& m) { return m.record.start_ns; });
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> threads;
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) threads[{rank.threads[t].process, rank.threads[t].id}] = t;
  std::map<std::uint32_t, std::int64_t> total, least;  // by device
  std::uint64_t jumps = 0;
  bool added_up = false;
  for (MemoryInput& m : memory_) {
    const auto [at, first] = total.emplace(m.record.device, 0);
    std::int64_t& sum = at->second;
    const bool stated = m.total >= 0;
    added_up = added_up || !stated;
    const std::int64_t change = std::clamp(m.change, -kMostBytesAtOnce, kMostBytesAtOnce), added = sum + change,
                       known = std::clamp(m.total, -kMostBytesAtOnce, kMostBytesAtOnce);
    jumps += stated && !first && !added_up && m.total != added ? 1 : 0;
    m.record.before = stated ? std::clamp<std::int64_t>(known - change, 0, kMostBytesAtOnce) : sum;
    sum = stated ? known : std::clamp(added, -kMostBytesAtOnce, kMostBytesAtOnce);
    if (!stated) least[m.record.device] = std::min(least[m.record.device], sum);
    m.record.allocated = sum;
    const auto thread = threads.find({m.process, m.thread});
    if (thread != threads.end()) m.record.thread = thread->second;
    rank.memory.push_back(m.record);
  }
  for (MemoryRecord& m : rank.memory) {
    const std::int64_t below = std::min<std::int64_t>(0, least[m.device]);
    m.allocated -= below, m.before -= below;
  }
  if (added_up) rank.notes.assume("memory: only changes were recorded; what was allocated before is unknown");
  if (jumps > 0)
    rank.notes.miss("the events of memory before " + counted(jumps, "total") + " that " +
                    std::string(agreeing(jumps, "is", "are")) + " not the last one and its change");
  memory_ = {};
}

/// Collectives by start: first come the device records that carry one, then host records whose collective no kernel
/// took.
void RankBuilder::place_collectives(TraceRank& rank, const std::vector<std::uint32_t>& device_order) {
  struct Placed {
    std::int64_t start;
    std::uint32_t from, device, host;
  };
  std::vector<Placed> placed;
  for (std::uint32_t i = 0; i < rank.device_records.size(); ++i) {
    const std::int32_t c = device_collectives_[device_order[i]];
    if (c >= 0) placed.push_back({rank.device_records[i].start_ns, static_cast<std::uint32_t>(c), i, kNone});
  }
  for (std::uint32_t i = 0; i < rank.host_records.size(); ++i) {
    const std::uint32_t c = rank.host_records[i].collective;
    if (c != kNone) placed.push_back({rank.host_records[i].start_ns, c, kNone, i});
  }
  std::ranges::stable_sort(placed, {}, &Placed::start);
  for (const Placed& p : placed) {
    const auto index = static_cast<std::uint32_t>(rank.collectives.size());
    rank.collectives.push_back(collectives_[p.from]);
    rank.collectives.back().device_record = p.device;
    rank.collectives.back().host_record = p.host;
    if (p.device != kNone) rank.device_records[p.device].collective = index;
    if (p.host != kNone) rank.host_records[p.host].collective = index;
  }
}

}  // namespace distsim::traces
