#include "traces/build/collective_join.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "traces/build/collective_text.hpp"
#include "traces/sizes/collective_size.hpp"

namespace distsim::traces {
namespace {

constexpr int kMostParents = 16;

/// "1 of 8 kernels has": the verb agrees with the first number.
std::string of_all(std::uint64_t n, std::uint64_t all, std::string_view noun, std::string_view one,
                   std::string_view many) {
  return std::to_string(n) + " of " + counted(all, noun) + " " + std::string(agreeing(n, one, many));
}

/// `from` fills what `to` leaves open.
void fill_open(TraceCollective& to, const TraceCollective& from) {
  if (!to.kind_known && from.kind_known) {
    to.kind = from.kind;
    to.kind_known = true;
  }
  if (!to.dtype_known && from.dtype_known) {
    to.dtype = from.dtype;
    to.dtype_known = true;
  }
  if (to.in_elements < 0) to.in_elements = from.in_elements;
  if (to.out_elements < 0) to.out_elements = from.out_elements;
  if (to.group == kNone) to.group = from.group;
  if (to.sequence < 0) to.sequence = from.sequence;
  if (to.from < 0) to.from = from.from;
  if (to.to < 0) to.to = from.to;
  if (to.in_split.empty()) to.in_split = from.in_split;
  if (to.out_split.empty()) to.out_split = from.out_split;
}

/// True for ranges that PyTorch opens around a collective.
bool collective_range(std::string_view name) {
  return name.starts_with("nccl:") || name.starts_with("rccl:") || name.starts_with("c10d::") ||
         name == "record_param_comms" || name.starts_with("ncclAll") || name.starts_with("ncclReduce") ||
         name.starts_with("ncclBroadcast") || name.starts_with("ncclSend") || name.starts_with("ncclRecv");
}

/// Elements in or out that both state and that differ: those of the call; -1: none.
std::int64_t other_elements(const TraceCollective& kernel, const TraceCollective& call) {
  for (std::int64_t TraceCollective::*n : {&TraceCollective::in_elements, &TraceCollective::out_elements}) {
    if (kernel.*n >= 0 && call.*n >= 0 && kernel.*n != call.*n) return call.*n;
  }
  return -1;
}

/// What `stated` says of the type of the elements, where that makes them another size.
void compare_dtype(TraceCollective& c, std::optional<graph::DType> stated) {
  if (c.dtype_known && stated && !c.other_dtype && graph::size_of(*stated) != graph::size_of(c.dtype))
    c.other_dtype = stated;
}

/// What the ops around the launch say, innermost first; each host record's own collective is marked as taken.
void fill_from_parents(TraceJob& job, TraceRank& rank, std::uint32_t op, TraceCollective& c, std::vector<bool>& taken) {
  bool is_inside = false;  // of a call that describes a collective
  int steps = 0;
  for (std::uint32_t i = op; i != kNone && steps < kMostParents; i = rank.host_records[i].parent, ++steps) {
    const HostRecord& h = rank.host_records[i];
    const std::string_view name = job.name(h.name);
    if (!collective_range(name)) continue;
    c.host_record = c.host_record == kNone ? i : c.host_record;
    if (h.collective != kNone) {
      taken[h.collective] = true;
      const TraceCollective& call = rank.collectives[h.collective];
      if (!is_inside) c.call_elements = other_elements(c, call);
      if (!is_inside && call.dtype_known) compare_dtype(c, call.dtype);
      is_inside = true;
      fill_open(c, call);
    }
    TraceCollective from;
    if (const auto kind = collective_of_call(name); kind && name != "record_param_comms") {
      from.kind = *kind;
      from.kind_known = true;
    }
    if (h.inputs != kNone && name.find(':') != std::string_view::npos) fill_elements(name, job.inputs[h.inputs], from);
    fill_open(c, from);
  }
}

/// What the name of a range says of where its collective runs.
enum class RunsOn : std::uint8_t { unknown, host, device };
RunsOn runs_on(std::string_view name) {
  for (const std::string_view library : {"gloo:", "mpi:"}) {
    if (name.starts_with(library)) return RunsOn::host;
  }
  for (const std::string_view library : {"nccl:", "rccl:", "hccl:", "xccl:"}) {
    if (name.starts_with(library)) return RunsOn::device;
  }
  return RunsOn::unknown;
}

class Completion {
 public:
  Completion(TraceJob& job, TraceRank& rank) : job_(job), rank_(rank), taken_(rank.collectives.size(), false) {}

  void run() {
    for (std::uint32_t i = 0; i < rank_.device_records.size(); ++i) {
      if (rank_.device_records[i].communication) take_kernel(i);
    }
    const std::uint64_t named = found_.size();
    take_launched_kernels();
    take_calls(named > 0);
    rank_.collectives = std::move(found_);
    std::ranges::stable_sort(rank_.collectives, [&](const TraceCollective& a, const TraceCollective& b) {
      return start_of(rank_, a) < start_of(rank_, b);
    });
    for (std::uint32_t i = 0; i < rank_.collectives.size(); ++i) {
      const TraceCollective& c = rank_.collectives[i];
      if (c.device_record != kNone)
        rank_.device_records[c.device_record].collective = i;
      else
        rank_.host_records[c.host_record].collective = i;
    }
    note_unknown_collectives(rank_.notes, kernels_, no_kind_, no_size_);
    if (of_all_ranks_ > 0)
      rank_.notes.assume(counted(of_all_ranks_, "collective") +
                         " of which a rank's part and not the group is known: sized for all " +
                         counted(job_.world_size, "rank"));
  }

 private:
  void take_kernel(std::uint32_t i) {
    const DeviceRecord& d = rank_.device_records[i];
    ++kernels_;
    TraceCollective c;
    if (d.collective != kNone) {
      c = rank_.collectives[d.collective];
      taken_[d.collective] = true;
    }
    c.device_record = i;
    c.host_record = kNone;
    fill_from_parents(job_, rank_, d.op, c, taken_);
    if (const auto kind = collective_of_kernel(job_.name(d.name)); kind && !c.kind_known) {
      c.kind = *kind;
      c.kind_known = true;
    }
    if (c.kind != graph::CollectiveKind::barrier) compare_dtype(c, dtype_of_kernel(job_.name(d.name)));
    set_bytes(c);
    if (!c.kind_known) ++no_kind_;
    if (c.bytes < 0) ++no_size_;
    found_.push_back(std::move(c));
  }

  void set_bytes(TraceCollective& c) {
    if (c.call_elements >= 0 || c.other_dtype) return;
    set_collective_bytes(job_, c);
    if (c.group == kNone && states_a_part(c) && c.bytes >= 0) ++of_all_ranks_;
  }

  /// The outermost call around a kernel whose collective no kernel has taken.
  std::uint32_t call_around(const DeviceRecord& d) const {
    std::uint32_t found = kNone;
    int steps = 0;
    for (std::uint32_t i = d.op; i != kNone && steps < kMostParents; i = rank_.host_records[i].parent, ++steps) {
      const HostRecord& h = rank_.host_records[i];
      if (h.collective != kNone && !taken_[h.collective] && runs_on(job_.name(h.name)) != RunsOn::host) found = i;
    }
    return found;
  }

  /// Libraries whose kernels do not say that they communicate: the longest kernel that the call launched is the collective.
  void take_launched_kernels() {
    std::map<std::uint32_t, std::uint32_t> longest;  // by call
    for (std::uint32_t i = 0; i < rank_.device_records.size(); ++i) {
      const DeviceRecord& d = rank_.device_records[i];
      if (d.communication || d.kind != DeviceRecordKind::kernel) continue;
      const std::uint32_t call = call_around(d);
      if (call == kNone) continue;
      const auto [at, is_new] = longest.emplace(call, i);
      if (!is_new && d.duration_ns > rank_.device_records[at->second].duration_ns) at->second = i;
    }
    if (longest.empty()) return;
    const std::string first{job_.name(rank_.device_records[longest.begin()->second].name)};
    for (const auto& [call, kernel] : longest) {
      rank_.device_records[kernel].communication = true;
      take_kernel(kernel);
    }
    rank_.notes.assume(counted(longest.size(), "collective") + " of the kernel that the call launched, whose name (" +
                       in_quotes(first, 60) + ") does not say that it communicates");
  }

  RunsOn runs_on_around(std::uint32_t call) const {
    int steps = 0;
    for (std::uint32_t i = call; i != kNone && steps < kMostParents; i = rank_.host_records[i].parent, ++steps) {
      const RunsOn where = runs_on(job_.name(rank_.host_records[i].name));
      if (where != RunsOn::unknown) return where;
    }
    return RunsOn::unknown;
  }

  /// Collectives that run on the host (gloo), where no kernel took them; with kernels around they are the enqueueing side of
  /// one that was not recorded, as is a call that names a library of devices, or one of a host that has a device.
  void take_calls(bool kernels_are_named) {
    std::uint64_t untimed = 0;
    for (std::uint32_t i = 0; i < rank_.host_records.size(); ++i) {
      HostRecord& h = rank_.host_records[i];
      if (h.collective == kNone) continue;
      if (!taken_[h.collective] && !kernels_are_named) {
        TraceCollective c = rank_.collectives[h.collective];
        c.host_record = i;
        const RunsOn where = runs_on_around(i);
        c.timed =
            !rank_.has_times || where == RunsOn::host || (where == RunsOn::unknown && rank_.device_records.empty());
        untimed += c.timed ? 0 : 1;
        set_bytes(c);
        found_.push_back(std::move(c));
      }
      h.collective = kNone;
    }
    if (untimed > 0)
      rank_.notes.assume(counted(untimed, "collective") +
                         " without a kernel: " + std::string(agreeing(untimed, "its time is", "their times are")) +
                         " not known (the call only hands it to the device)");
  }

  TraceJob& job_;
  TraceRank& rank_;
  std::vector<bool> taken_;  ///< by collective of a host record
  std::vector<TraceCollective> found_;
  std::uint64_t kernels_ = 0, no_kind_ = 0, no_size_ = 0, of_all_ranks_ = 0;
};

}  // namespace

std::int64_t start_of(const TraceRank& rank, const TraceCollective& c) {
  return c.device_record != kNone ? rank.device_records[c.device_record].start_ns
                                  : rank.host_records[c.host_record].start_ns;
}

std::int64_t end_of(const TraceRank& rank, const TraceCollective& c) {
  return c.device_record != kNone ? rank.device_records[c.device_record].end_ns()
                                  : rank.host_records[c.host_record].end_ns();
}

void complete_collectives(TraceJob& job, TraceRank& rank) { Completion(job, rank).run(); }

void note_unknown_collectives(TraceNotes& notes, std::uint64_t kernels, std::uint64_t no_kind, std::uint64_t no_size) {
  if (no_kind > 0)
    notes.assume(of_all(no_kind, kernels, "communication kernel", "does not name its", "do not name their") +
                 " collective");
  if (no_size > 0) notes.assume(of_all(no_size, kernels, "communication kernel", "has", "have") + " no known size");
}

}  // namespace distsim::traces
