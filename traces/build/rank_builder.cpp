#include "traces/build/rank_builder.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace distsim::traces {

std::uint32_t RankBuilder::thread_index(std::uint64_t process, std::uint64_t thread) {
  if (last_thread_ == std::pair(process, thread)) return last_thread_index_;
  last_thread_ = {process, thread};
  const auto [at, fresh] = thread_ids_.emplace(last_thread_, static_cast<std::uint32_t>(threads_.size()));
  if (fresh) threads_.push_back({process, thread, "", 0, 0});
  return last_thread_index_ = at->second;
}

std::uint32_t RankBuilder::stream_index(std::uint32_t device, std::uint64_t stream, std::uint64_t context) {
  const auto [at, fresh] = stream_ids_.emplace(std::pair(device, stream), static_cast<std::uint32_t>(streams_.size()));
  if (fresh) streams_.push_back({device, stream, context, 0, 0});
  return at->second;
}

void RankBuilder::host(const HostInput& input) {
  hosts_.push_back(input.record);
  hosts_.back().thread = thread_index(input.process, input.thread);
  host_keys_.push_back({input.correlation, input.external});
}

void RankBuilder::device(const DeviceInput& input) {
  if (stream_ids_.size() >= kMostStreams && !stream_ids_.contains({input.device, input.stream})) {
    ++beyond_streams_;
    return;
  }
  devices_.push_back(input.record);
  devices_.back().stream = stream_index(input.device, input.stream, input.context);
  device_keys_.push_back({input.correlation, input.external});
  device_collectives_.push_back(input.collective);
}

std::uint32_t RankBuilder::collective(TraceCollective collective) {
  collectives_.push_back(std::move(collective));
  return static_cast<std::uint32_t>(collectives_.size() - 1);
}

void RankBuilder::thread_name(std::uint64_t process, std::uint64_t thread, std::string name) {
  thread_names_[{process, thread}] = std::move(name);
}

namespace {

constexpr std::int64_t kJitter =
    1000;  // ns: whole microseconds, cut off, may let a child end after its parent by as much

/// Old positions in the order of `less`; equal ones keep their order.
template <class Less>
std::vector<std::uint32_t> sorted_order(std::size_t n, Less less) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), less);
  return order;
}

template <class T>
std::vector<T> in_order(const std::vector<T>& items, const std::vector<std::uint32_t>& order) {
  std::vector<T> out;
  out.reserve(items.size());
  for (const std::uint32_t i : order) out.push_back(items[i]);
  return out;
}

/// Renumbers lanes (threads or streams) by `less` and returns old -> new.
template <class Lane, class Less>
std::vector<std::uint32_t> sort_lanes(std::vector<Lane>& lanes, Less less) {
  const auto order =
      sorted_order(lanes.size(), [&](std::uint32_t a, std::uint32_t b) { return less(lanes[a], lanes[b]); });
  std::vector<std::uint32_t> to_new(lanes.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) to_new[order[i]] = i;
  lanes = in_order(lanes, order);
  return to_new;
}

template <class Lane, class Records, class LaneOf>
void set_ranges(std::vector<Lane>& lanes, const Records& records, LaneOf lane_of) {
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i < lanes.size(); ++i) {
    lanes[i].begin = at;
    while (at < records.size() && lane_of(records[at]) == i) ++at;
    lanes[i].end = at;
  }
}

constexpr std::int64_t kLongestTrace = 1'000'000'000'000'000;    // ns, 11.6 days: as long as a Duration may be
constexpr std::int64_t kLargestSum = 4'000'000'000'000'000'000;  // ns, of all durations
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;       // of one copy
constexpr std::size_t kSamples = 4096;

/// Start of the middle one of some records, spread evenly over `starts(0..n)`.
template <class Start>
std::int64_t typical_start(std::size_t n, Start start) {
  std::vector<std::int64_t> samples;
  for (std::size_t i = 0; i < n; i += std::max<std::size_t>(1, n / kSamples)) samples.push_back(start(i));
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  return *middle;
}

/// Keeps those of parallel lists for which `keep(i)`; returns how many went.
template <class Keep, class First, class... Rest>
std::uint64_t keep_in_all(Keep keep, First& first, Rest&... rest) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!keep(i)) continue;
    if (kept != i) {
      first[kept] = std::move(first[i]);
      ((rest[kept] = std::move(rest[i])), ...);
    }
    ++kept;
  }
  const std::uint64_t gone = first.size() - kept;
  first.resize(kept);
  (rest.resize(kept), ...);
  return gone;
}

}  // namespace

void RankBuilder::leave_out_absurd(TraceRank& rank) {
  const std::size_t n = hosts_.size() + devices_.size();
  if (n == 0) return;
  const std::int64_t typical = typical_start(n, [this](std::size_t i) {
    return i < hosts_.size() ? hosts_[i].start_ns : devices_[i - hosts_.size()].start_ns;
  });
  std::int64_t sum = 0;
  const auto sane = [&](std::int64_t start, std::int64_t duration) {
    const auto near = [typical](std::int64_t t) { return t > typical - kLongestTrace && t < typical + kLongestTrace; };
    if (!near(start) || duration > kLongestTrace || duration > kLargestSum - sum) return false;
    sum += duration;
    return true;
  };
  std::uint64_t gone =
      keep_in_all([&](std::size_t i) { return sane(hosts_[i].start_ns, hosts_[i].duration_ns); }, hosts_, host_keys_);
  gone += keep_in_all([&](std::size_t i) { return sane(devices_[i].start_ns, devices_[i].duration_ns); }, devices_,
                      device_keys_, device_collectives_);
  std::erase_if(memory_, [&](const MemoryInput& m) { return !sane(m.record.start_ns, 0); });
  std::erase_if(syncs_, [&](const SyncInput& s) { return !sane(s.record.start_ns, s.record.duration_ns); });
  for (DeviceRecord& d : devices_) d.bytes = d.bytes > kMostBytes ? -1 : std::max<std::int64_t>(-1, d.bytes);
  rank.notes.drop("records on more than " + std::to_string(kMostStreams) + " streams", beyond_streams_);
  rank.notes.drop("records more than 11 days from the others", gone);
}

std::vector<RankBuilder::Key> RankBuilder::sort_hosts(TraceRank& rank) {
  for (TraceThread& t : threads_) {
    const auto named = thread_names_.find({t.process, t.id});
    if (named != thread_names_.end()) t.name = named->second;
  }
  const auto to_new = sort_lanes(threads_, [](const TraceThread& a, const TraceThread& b) {
    return std::tie(a.process, a.id) < std::tie(b.process, b.id);
  });
  for (HostRecord& r : hosts_) r.thread = to_new[r.thread];
  const auto order = sorted_order(hosts_.size(), [&](std::uint32_t a, std::uint32_t b) {
    const HostRecord &x = hosts_[a], &y = hosts_[b];
    // A runtime call is the innermost of records with the same interval.
    return std::tuple(x.thread, x.start_ns, -x.duration_ns, x.kind == HostKind::runtime) <
           std::tuple(y.thread, y.start_ns, -y.duration_ns, y.kind == HostKind::runtime);
  });
  rank.host_records = in_order(hosts_, order);
  std::vector<Key> keys = in_order(host_keys_, order);
  hosts_ = {};
  host_keys_ = {};
  rank.threads = std::move(threads_);
  set_ranges(rank.threads, rank.host_records, [](const HostRecord& r) { return r.thread; });
  return keys;
}

std::vector<std::uint32_t> RankBuilder::sort_devices(TraceRank& rank) {
  const auto to_new = sort_lanes(streams_, [](const TraceStream& a, const TraceStream& b) {
    return std::tie(a.device, a.id) < std::tie(b.device, b.id);
  });
  for (DeviceRecord& r : devices_) r.stream = to_new[r.stream];
  auto order = sorted_order(devices_.size(), [&](std::uint32_t a, std::uint32_t b) {
    const DeviceRecord &x = devices_[a], &y = devices_[b];
    return std::tie(x.stream, x.start_ns, x.duration_ns) < std::tie(y.stream, y.start_ns, y.duration_ns);
  });
  rank.device_records = in_order(devices_, order);
  rank.streams = std::move(streams_);
  set_ranges(rank.streams, rank.device_records, [](const DeviceRecord& r) { return r.stream; });
  return order;
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

void RankBuilder::join(TraceRank& rank, const std::vector<Key>& host_keys,
                       const std::vector<std::uint32_t>& device_order) {
  std::unordered_map<std::uint64_t, std::uint32_t> calls, ops;
  std::uint64_t twice = 0;
  for (std::uint32_t i = 0; i < rank.host_records.size(); ++i) {
    const HostRecord& r = rank.host_records[i];
    const Key& key = host_keys[i];
    if (r.kind == HostKind::runtime && key.correlation != 0) {
      const auto [at, fresh] = calls.emplace(key.correlation, i);
      if (!fresh) {
        // A driver call inside a runtime call may repeat its id: the outer one was sorted first and stays.
        if (rank.host_records[at->second].end_ns() < r.end_ns() || rank.host_records[at->second].thread != r.thread)
          ++twice;
      }
    } else if (r.kind != HostKind::runtime && key.external != 0) {
      ops.emplace(key.external, i);
    }
  }
  std::vector<std::uint8_t> uses(rank.host_records.size(), 0);
  std::uint64_t without = 0;
  for (std::uint32_t i = 0; i < rank.device_records.size(); ++i) {
    DeviceRecord& r = rank.device_records[i];
    const Key& key = device_keys_[device_order[i]];
    const auto call = key.correlation != 0 ? calls.find(key.correlation) : calls.end();
    if (call != calls.end()) {
      r.launch = call->second;
      uses[r.launch] = static_cast<std::uint8_t>(std::min(2, uses[r.launch] + 1));
      r.op = rank.host_records[r.launch].parent;
      while (r.op != kNone && rank.host_records[r.op].kind == HostKind::runtime) r.op = rank.host_records[r.op].parent;
    } else {
      ++without;
    }
    const auto op =
        r.op == kNone && key.external != 0 && key.external != key.correlation ? ops.find(key.external) : ops.end();
    if (op != ops.end()) r.op = op->second;
  }
  for (DeviceRecord& r : rank.device_records) {
    r.from_graph = r.launch != kNone && rank.host_records[r.launch].call == RuntimeCall::launch_graph;
  }
  if (twice > 0)
    rank.notes.assume(std::to_string(twice) + " runtime calls repeat a correlation id; the first one counts");
  if (without > 0) {
    rank.notes.assume(
        std::to_string(without) + " of " + std::to_string(rank.device_records.size()) +
        " device records have no launch record (launched before the window, or host not recorded); kept in stream order");
  }
}

void RankBuilder::join_syncs(TraceRank& rank, const std::vector<Key>& host_keys) {
  std::unordered_map<std::uint64_t, std::uint32_t> calls;
  if (!syncs_.empty()) {
    for (std::uint32_t i = 0; i < rank.host_records.size(); ++i) {
      if (rank.host_records[i].kind == HostKind::runtime && host_keys[i].correlation != 0)
        calls.emplace(host_keys[i].correlation, i);
    }
  }
  const auto call = [&](std::uint64_t correlation) {
    const auto at = calls.find(correlation);
    return correlation != 0 && at != calls.end() ? at->second : kNone;
  };
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
    r.call = call(s.correlation);
    r.record_call = call(s.record_correlation);
    rank.syncs.push_back(r);
  }
  std::ranges::stable_sort(rank.syncs, {}, &SyncRecord::start_ns);
}

/// By start. Where totals were not recorded they are added up, from the least that keeps all of them at 0 or more.
void RankBuilder::place_memory(TraceRank& rank) {
  if (memory_.empty()) return;
  std::ranges::stable_sort(memory_, {}, [](const MemoryInput& m) { return m.record.start_ns; });
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> threads;
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) threads[{rank.threads[t].process, rank.threads[t].id}] = t;
  std::map<std::uint32_t, std::int64_t> total, least;  // by device
  bool added_up = false;
  for (MemoryInput& m : memory_) {
    std::int64_t& sum = total[m.record.device];
    const bool stated = m.total >= 0;
    added_up = added_up || !stated;
    sum = std::clamp(stated ? m.total : sum + std::clamp(m.change, -kMostBytes, kMostBytes), -kMostBytes, kMostBytes);
    if (!stated) least[m.record.device] = std::min(least[m.record.device], sum);
    m.record.allocated = sum;
    const auto thread = threads.find({m.process, m.thread});
    if (thread != threads.end()) m.record.thread = thread->second;
    rank.memory.push_back(m.record);
  }
  for (MemoryRecord& m : rank.memory) m.allocated -= std::min<std::int64_t>(0, least[m.device]);
  if (added_up) rank.notes.assume("memory: changes alone were recorded, what was allocated before is not known");
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

void RankBuilder::finish(TraceRank& rank) {
  leave_out_absurd(rank);
  const std::vector<Key> host_keys = sort_hosts(rank);
  const std::vector<std::uint32_t> device_order = sort_devices(rank);
  nest(rank);
  join(rank, host_keys, device_order);
  join_syncs(rank, host_keys);
  place_memory(rank);
  place_collectives(rank, device_order);
}

}  // namespace distsim::traces
