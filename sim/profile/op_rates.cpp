#include "sim/profile/op_rates.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "sim/profile/ops/op_flops.hpp"

namespace distsim::profile {
namespace {

/// What an op with given inputs does; computed once for each pair.
class WorkCache {
 public:
  explicit WorkCache(const traces::TraceJob& job) : job_(job) {}
  const OpWork& operator()(const traces::HostRecord& op) {
    const auto [at, fresh] = known_.emplace(std::pair(op.name, op.inputs), OpWork{});
    if (fresh && op.inputs != traces::kNone) at->second = op_work(job_.name(op.name), job_.inputs[op.inputs]);
    return at->second;
  }

 private:
  const traces::TraceJob& job_;
  std::map<std::pair<NameId, std::uint32_t>, OpWork> known_;
};

/// The op that a device record is counted for: the innermost with known work, unless ops inside it do that work (a bias added
/// inside a convolution is no convolution); failing that the innermost.
class CountedOp {
 public:
  CountedOp(const traces::TraceRank& rank, WorkCache& work)
      : rank_(rank), does_(rank.host_records.size()), inside_(rank.host_records.size()) {
    for (std::size_t i = 0; i < does_.size(); ++i) {
      const traces::HostRecord& h = rank.host_records[i];
      does_[i] = h.kind == traces::HostKind::op && h.inputs != traces::kNone && work(h).flops > 0;
      if (!does_[i]) continue;
      for (std::uint32_t up = h.parent; up != traces::kNone && !inside_[up]; up = rank.host_records[up].parent)
        inside_[up] = true;
    }
  }

  std::uint32_t operator()(std::uint32_t innermost) const {
    std::uint32_t first = traces::kNone;
    for (std::uint32_t i = innermost; i != traces::kNone; i = rank_.host_records[i].parent) {
      if (rank_.host_records[i].kind != traces::HostKind::op) continue;
      if (first == traces::kNone) first = i;
      if (does_[i] && !inside_[i]) return i;
    }
    return first;
  }

 private:
  const traces::TraceRank& rank_;
  std::vector<bool> does_, inside_;  ///< of host records: known work; some in an op inside
};

/// The innermost annotation around a record that marks no step.
std::string_view layer_of(const traces::TraceJob& job, const traces::TraceRank& rank, std::uint32_t innermost,
                          const std::set<std::string, std::less<>>& marks) {
  for (std::uint32_t i = innermost; i != traces::kNone; i = rank.host_records[i].parent) {
    const traces::HostRecord& h = rank.host_records[i];
    if (h.kind == traces::HostKind::annotation && !marks.contains(job.name(h.name))) return job.name(h.name);
  }
  return {};
}

/// Rows by layer, op and shapes in order of their first appearance; within those the longest first.
void sort_variants(std::vector<KernelVariant>& rows) {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<Key, std::size_t> place;
  std::vector<std::pair<std::size_t, std::size_t>> order;
  for (std::size_t i = 0; i < rows.size(); ++i)
    order.emplace_back(place.emplace(Key(rows[i].layer, rows[i].op, rows[i].shapes), place.size()).first->second, i);
  std::ranges::stable_sort(order, [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : rows[a.second].device_time > rows[b.second].device_time;
  });
  std::vector<KernelVariant> out;
  for (const auto& [group, i] : order) out.push_back(rows[i]);
  rows = std::move(out);
}

}  // namespace

std::vector<KernelVariant> kernel_variants(const traces::TraceJob& job, const traces::TraceRank& rank,
                                           std::int64_t begin, std::int64_t end) {
  std::set<std::string, std::less<>> marks;
  for (const traces::TraceStep& s : rank.steps) marks.insert(s.name);
  WorkCache work(job);
  const CountedOp counted_op(rank, work);
  std::vector<const traces::DeviceRecord*> kernels;
  for (const traces::DeviceRecord& d : rank.device_records) {
    if (d.start_ns >= begin && d.start_ns < end && d.kind == traces::DeviceRecordKind::kernel) kernels.push_back(&d);
  }
  std::ranges::stable_sort(kernels, {}, &traces::DeviceRecord::start_ns);
  std::map<std::tuple<std::string_view, NameId, std::uint32_t, NameId>, std::size_t> place;
  std::vector<KernelVariant> out;
  for (const traces::DeviceRecord* d : kernels) {
    const std::uint32_t op = counted_op(d->op);
    const traces::HostRecord* host = op == traces::kNone ? nullptr : &rank.host_records[op];
    const std::string_view layer = layer_of(job, rank, d->op, marks);
    const std::uint32_t inputs = host == nullptr ? traces::kNone : host->inputs;
    const NameId name = host == nullptr ? NameId() : host->name;
    const auto [at, fresh] = place.emplace(std::tuple(layer, name, inputs, d->name), out.size());
    if (fresh) {
      out.push_back({std::string(layer),
                     host == nullptr ? "" : std::string(job.name(host->name)),
                     inputs == traces::kNone ? "" : shapes_text(job.inputs[inputs]),
                     std::string(job.name(d->name)),
                     0,
                     0,
                     {}});
    }
    KernelVariant& v = out[at->second];
    ++v.calls;
    v.device_time += d->duration_ns;
    if (d->geometry != traces::kNone) v.occupancy.add(d->duration_ns, job.geometries[d->geometry]);
  }
  return merge_variants({}, out);
}

/// Inputs that differ only in what shapes_text leaves out become one row.
std::vector<KernelVariant> merge_variants(std::vector<KernelVariant> a, const std::vector<KernelVariant>& b) {
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, std::size_t> place;
  for (std::size_t i = 0; i < a.size(); ++i) place.emplace(Key(a[i].layer, a[i].op, a[i].shapes, a[i].kernel), i);
  for (const KernelVariant& v : b) {
    const auto [at, fresh] = place.emplace(Key(v.layer, v.op, v.shapes, v.kernel), a.size());
    if (fresh) {
      a.push_back(v);
      continue;
    }
    KernelVariant& to = a[at->second];
    to.calls += v.calls;
    to.device_time += v.device_time;
    to.occupancy.add(v.occupancy);
  }
  sort_variants(a);
  return a;
}

std::vector<OpRate> op_rates(const traces::TraceJob& job, const traces::TraceRank& rank, std::int64_t begin,
                             std::int64_t end) {
  WorkCache work(job);
  const CountedOp counted_op(rank, work);
  std::unordered_map<std::uint32_t, std::int64_t> time_of;  // op record -> device time
  for (const traces::DeviceRecord& d : rank.device_records) {
    if (d.start_ns < begin || d.start_ns >= end || d.communication) continue;
    const std::uint32_t op = counted_op(d.op);
    if (op != traces::kNone) time_of[op] += d.duration_ns;
  }
  std::vector<std::pair<std::uint32_t, std::int64_t>> ops(time_of.begin(), time_of.end());
  std::ranges::sort(ops);
  std::map<std::pair<NameId, std::string>, OpRate> table;
  for (const auto& [i, time] : ops) {
    const traces::HostRecord& h = rank.host_records[i];
    std::string shapes = h.inputs != traces::kNone ? shapes_text(job.inputs[h.inputs]) : "";
    OpRate& rate = table[{h.name, shapes}];
    if (rate.calls == 0) {
      rate.name = job.name(h.name);
      rate.shapes = std::move(shapes);
    }
    ++rate.calls;
    rate.device_time += time;
    rate.flops += work(h).flops;
    rate.bytes += work(h).bytes;
    rate.least_bytes += work(h).least_bytes;
  }
  std::vector<OpRate> out;
  for (auto& [key, rate] : table) out.push_back(std::move(rate));
  std::ranges::stable_sort(out, [](const OpRate& a, const OpRate& b) {
    return a.device_time != b.device_time ? a.device_time > b.device_time
                                          : std::tie(a.name, a.shapes) < std::tie(b.name, b.shapes);
  });
  return out;
}

}  // namespace distsim::profile
