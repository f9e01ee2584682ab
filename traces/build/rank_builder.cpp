#include "traces/build/rank_builder.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/text/counted.hpp"

namespace distsim::traces {

void note_work_without_gpu(TraceNotes& notes, std::uint64_t records) {
  if (records == 0) return;
  notes.drop("kernels and copies whose GPU is not recorded", records);
  notes.miss(counted(records, "kernel or copy", "kernels and copies") + " whose GPU is not recorded");
}

void note_work_without_stream(TraceNotes& notes, std::uint64_t records) {
  if (records > 0) notes.miss("the streams of " + counted(records, "kernel or copy", "kernels and copies"));
}

Error no_gpu_in(const std::string& path, std::uint64_t records) {
  return Error{"found no GPU of " + counted(records, "kernel or copy", "kernels and copies") +
                   ", expected the index of one for each",
               path, ""};
}

std::uint32_t RankBuilder::thread_index(std::uint64_t process, std::uint64_t thread) {
  if (last_thread_index_ != kNone && last_thread_ == std::pair(process, thread)) return last_thread_index_;
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
  if (!job_.budget.take()) return;
  hosts_.push_back(input.record);
  hosts_.back().thread = thread_index(input.process, input.thread);
  host_keys_.push_back({input.correlation, input.external});
}

void RankBuilder::device(const DeviceInput& input) {
  if (!job_.budget.take()) return;
  if (stream_ids_.size() >= kMostStreams && !stream_ids_.contains({input.device, input.stream})) {
    ++beyond_streams_;
    return;
  }
  devices_.push_back(input.record);
  devices_.back().stream = stream_index(input.device, input.stream, input.context);
  if (input.graph_node) {
    const auto [at, fresh] =
        graph_node_ids_.emplace(*input.graph_node, static_cast<std::uint32_t>(graph_nodes_.size()));
    if (fresh) graph_nodes_.push_back(*input.graph_node);
    devices_.back().graph_node = at->second;
  }
  device_keys_.push_back({input.correlation, input.external});
  device_collectives_.push_back(input.collective);
}

std::uint32_t RankBuilder::collective(TraceCollective collective) {
  if (!job_.budget.take(1 + collective.in_split.size() / 8) && !collectives_.empty()) return 0;
  collectives_.push_back(std::move(collective));
  return static_cast<std::uint32_t>(collectives_.size() - 1);
}

void RankBuilder::thread_name(std::uint64_t process, std::uint64_t thread, std::string name) {
  thread_names_[{process, thread}] = std::move(name);
}

namespace {

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

/// Of records with the same interval, which is around which: a frame of Python calls what annotates ops, and an op calls the
/// runtime.
int depth_of(HostKind kind) {
  switch (kind) {
    case HostKind::python:
      return 0;
    case HostKind::annotation:
      return 1;
    case HostKind::op:
      return 2;
    case HostKind::runtime:
      return 3;
  }
  return 3;
}

constexpr std::int64_t kLongestTrace = 1'000'000'000'000'000;    // ns, 11.6 days: as long as a Duration may be
constexpr std::int64_t kLargestSum = 4'000'000'000'000'000'000;  // ns, of all durations
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

/// Keeps those of parallel lists for which `keep(i)`; returns how many were dropped.
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
  const std::uint64_t dropped = first.size() - kept;
  first.resize(kept);
  (rest.resize(kept), ...);
  return dropped;
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
  std::uint64_t dropped =
      keep_in_all([&](std::size_t i) { return sane(hosts_[i].start_ns, hosts_[i].duration_ns); }, hosts_, host_keys_);
  dropped += keep_in_all([&](std::size_t i) { return sane(devices_[i].start_ns, devices_[i].duration_ns); }, devices_,
                         device_keys_, device_collectives_);
  rank.far_records = dropped;
  dropped += std::erase_if(memory_, [&](const MemoryInput& m) { return !sane(m.record.start_ns, 0); });
  dropped += std::erase_if(profiler_work_, [&](const ProfilerWork& w) { return !sane(w.start_ns, w.duration_ns); });
  dropped += std::erase_if(syncs_, [&](const SyncInput& s) { return !sane(s.record.start_ns, s.record.duration_ns); });
  std::uint64_t no_sizes = 0;
  for (DeviceRecord& d : devices_) {
    if (d.bytes >= -1 && d.bytes <= kMostBytesAtOnce) continue;
    d.bytes = -1;
    ++no_sizes;
  }
  if (no_sizes > 0)
    rank.notes.assume(counted(no_sizes, "size") + " of copies below 0 or above 2^50 bytes taken for unknown");
  rank.notes.lose("records on more than " + std::to_string(kMostStreams) + " streams", beyond_streams_);
  rank.notes.lose("records more than 11 days from the others", dropped);
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
    const auto interval = [](const HostRecord& r) { return std::tuple(r.thread, r.start_ns, -r.duration_ns); };
    if (interval(x) != interval(y)) return interval(x) < interval(y);
    // Of the same interval, whatever the order in the file: profilers count up ids, so that what began first is around the
    // others; without ids the name decides.
    const auto ids = [this](std::uint32_t i) {
      return std::tuple(depth_of(hosts_[i].kind), hosts_[i].op_id, host_keys_[i].external, host_keys_[i].correlation);
    };
    return ids(a) != ids(b) ? ids(a) < ids(b) : job_.names.text(x.name) < job_.names.text(y.name);
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
    return std::tie(x.stream, x.start_ns, x.duration_ns, device_keys_[a].correlation) <
           std::tie(y.stream, y.start_ns, y.duration_ns, device_keys_[b].correlation);
  });
  rank.device_records = in_order(devices_, order);
  rank.streams = std::move(streams_);
  set_ranges(rank.streams, rank.device_records, [](const DeviceRecord& r) { return r.stream; });
  return order;
}

void RankBuilder::finish(TraceRank& rank) {
  leave_out_absurd(rank);
  const std::vector<Key> host_keys = sort_hosts(rank);
  const std::vector<std::uint32_t> device_order = sort_devices(rank);
  nest(rank);
  const HostIndex index = index_hosts(rank, host_keys);
  join(rank, index, device_order);
  join_syncs(rank, index);
  place_memory(rank);
  rank.profiler_work = std::move(profiler_work_);
  rank.graph_nodes = std::move(graph_nodes_);
  place_collectives(rank, device_order);
}

}  // namespace distsim::traces
