#include "sim/profile/op_rates.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "sim/profile/op_flops.hpp"

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

/// The op that a device record is counted for: the innermost with known work; failing that the innermost.
std::uint32_t counted_op(const traces::TraceRank& rank, std::uint32_t innermost, WorkCache& work) {
  std::uint32_t first = traces::kNone;
  for (std::uint32_t i = innermost; i != traces::kNone; i = rank.host_records[i].parent) {
    const traces::HostRecord& h = rank.host_records[i];
    if (h.kind != traces::HostKind::op) continue;
    if (first == traces::kNone) first = i;
    if (h.inputs != traces::kNone && work(h).flops > 0) return i;
  }
  return first;
}

}  // namespace

std::vector<OpRate> op_rates(const traces::TraceJob& job, const traces::TraceRank& rank, std::int64_t begin,
                             std::int64_t end) {
  WorkCache work(job);
  std::unordered_map<std::uint32_t, std::int64_t> time_of;  // op record -> device time
  for (const traces::DeviceRecord& d : rank.device_records) {
    if (d.start_ns < begin || d.start_ns >= end || d.communication) continue;
    const std::uint32_t op = counted_op(rank, d.op, work);
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
  }
  std::vector<OpRate> out;
  for (auto& [key, rate] : table) out.push_back(std::move(rate));
  std::ranges::stable_sort(out, [](const OpRate& a, const OpRate& b) { return a.device_time > b.device_time; });
  return out;
}

}  // namespace distsim::profile
