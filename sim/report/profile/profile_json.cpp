// The profile as JSON; schema in docs/profile.md.
#include <algorithm>
#include <limits>
#include <span>

#include "base/json/json_text.hpp"
#include "sim/report/profile/profile_report.hpp"
#include "sim/report/text/columns.hpp"
#include "traces/verdict.hpp"

namespace distsim::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kEveryRow = std::numeric_limits<std::size_t>::max();

double ms(std::int64_t ns) { return static_cast<double>(ns) * 1e-6; }
double us(std::int64_t ns) { return static_cast<double>(ns) * 1e-3; }
Json known_ms(std::int64_t ns) { return ns < 0 ? Json(nullptr) : Json(ms(ns)); }
Json known_us(std::int64_t ns) { return ns < 0 ? Json(nullptr) : Json(us(ns)); }
Json rate(double amount, std::int64_t ns, double unit) {
  return amount > 0 && ns > 0 ? Json(amount / (static_cast<double>(ns) * 1e-9) / unit) : Json(nullptr);
}

/// A part of a time, at most 1; null where the time is 0.
Json share(double part, std::int64_t time) {
  return time > 0 ? Json(std::min(1.0, part / static_cast<double>(time))) : Json(nullptr);
}
Json gigabytes(std::int64_t bytes) { return bytes < 0 ? Json(nullptr) : Json(static_cast<double>(bytes) * 1e-9); }

Json notes_json(const traces::TraceNotes& n) {
  Json dropped = Json::array(), assumptions = Json::array();
  for (const std::string& a : n.assumptions) assumptions.push_back(one_line(a));
  for (const traces::TraceNotes::Count& c : n.dropped)
    dropped.push_back({{"what", one_line(c.what)}, {"count", c.count}});
  return {{"assumptions", std::move(assumptions)}, {"left_out", std::move(dropped)}};
}

Json step_json(const profile::RankProfile& r, const profile::StepProfile& s, const std::string& name) {
  const profile::TimeSplit& t = s.split;
  return {{"step", one_line(name)},
          {"start_ms", ms(s.step.start_ns)},
          {"measured_ms", known_ms(s.measured)},
          {"gpu_start_to_start_ms", known_ms(s.gpu_start_to_start)},
          {"wall_ms", ms(t.wall)},
          {"busy_ms", ms(t.busy)},
          {"compute_ms", ms(t.compute)},
          {"comm_ms", ms(t.comm)},
          {"exposed_comm_ms", ms(t.exposed)},
          {"idle_ms", ms(t.idle)},
          {"gaps", s.gaps.count},
          {"gap_ms", ms(s.gaps.total)},
          {"longest_gap_ms", ms(s.gaps.longest)},
          {"host_gap_ms", profile::knows_waits(r) ? Json(ms(s.gaps.waiting_for_host)) : Json(nullptr)},
          {"kernels", s.kernels},
          {"launches", profile::knows_launches(r) ? Json(s.launches) : Json(nullptr)},
          {"sm_efficiency",
           s.occupancy.block_time > 0 ? share(s.occupancy.sm_time, profile::sm_time_within(r, s)) : Json(nullptr)},
          {"occupancy", share(s.occupancy.warp_time, s.occupancy.kernel_time)},
          {"occupancy_covers", share(static_cast<double>(s.occupancy.kernel_time), s.occupancy.all_time)},
          {"memory_begin_gb", gigabytes(s.memory.begin)},
          {"memory_peak_gb", gigabytes(s.memory.peak)},
          {"memory_end_gb", gigabytes(s.memory.end)},
          {"profiler_ms", ms(s.profiler)},
          {"without_profiler_ms", s.measured < 0 ? Json(nullptr) : Json(ms(s.measured - s.profiler_idle))}};
}

Json profiler_json(const profile::ProfilerCost& c) {
  return {{"with_ms", known_ms(c.with)},
          {"without_ms", known_ms(c.without)},
          {"host_records_per_step", c.records_per_step < 0 ? Json(nullptr) : Json(c.records_per_step)},
          {"us_per_host_record", c.per_record > 0 ? Json(c.per_record * 1e-3) : Json(nullptr)}};
}

Json variants_json(std::span<const profile::KernelVariant> variants) {
  Json out = Json::array();
  for (const profile::KernelVariant& v : variants) {
    out.push_back({{"layer", one_line(v.layer)},
                   {"op", one_line(v.op)},
                   {"shapes", one_line(v.shapes)},
                   {"kernel", one_line(v.kernel)},
                   {"calls", v.calls},
                   {"device_ms", ms(v.device_time)},
                   {"occupancy", share(v.occupancy.warp_time, v.occupancy.kernel_time)}});
  }
  return out;
}

Json overhead_json(const profile::OverheadSummary& o, const profile::OverheadSummary& corrected, bool known) {
  return {{"count", o.count},
          {"total_ms", ms(o.total)},
          {"mean_us", o.count == 0 ? 0 : us(o.total) / static_cast<double>(o.count)},
          {"median_us", us(o.median)},
          {"p90_us", us(o.p90)},
          {"corrected_median_us", known ? Json(us(corrected.median)) : Json(nullptr)}};
}

Json tree_json(std::span<const profile::WorkNode> nodes) {
  static constexpr const char* kKinds[] = {"all", "annotation", "op", "kernel"};
  Json out = Json::array();
  for (const profile::WorkNode& n : nodes) {
    out.push_back({{"depth", n.depth},
                   {"kind", kKinds[static_cast<std::size_t>(n.kind)]},
                   {"name", one_line(n.name)},
                   {"launched", n.launched},
                   {"device_ms", ms(n.device_time)}});
  }
  return out;
}

Json kernels_json(std::span<const profile::KernelSummary> kernels) {
  Json out = Json::array();
  for (const profile::KernelSummary& k : kernels) {
    out.push_back({{"name", one_line(k.name)},
                   {"kind", traces::name_of(k.kind)},
                   {"communication", k.communication},
                   {"calls", k.calls},
                   {"total_ms", ms(k.total)},
                   {"min_us", us(k.shortest)},
                   {"max_us", us(k.longest)},
                   {"GBps", rate(static_cast<double>(k.bytes), k.total, 1e9)},
                   {"occupancy", share(k.occupancy.warp_time, k.occupancy.kernel_time)}});
  }
  return out;
}

Json ops_json(std::span<const profile::OpRate> ops) {
  Json out = Json::array();
  for (const profile::OpRate& o : ops) {
    out.push_back({{"op", one_line(o.name)},
                   {"shapes", one_line(o.shapes)},
                   {"calls", o.calls},
                   {"device_ms", ms(o.device_time)},
                   {"tflops", rate(o.flops, o.device_time, 1e12)},
                   {"GBps", rate(o.bytes, o.device_time, 1e9)}});
  }
  return out;
}

template <class T>
std::span<const T> front_of(const std::vector<T>& list, std::size_t most) {
  return {list.data(), std::min(most, list.size())};
}

Json rank_json(const traces::TraceRank& t, const profile::RankProfile& p, std::size_t most) {
  Json devices = Json::array(), steps = Json::array();
  traces::TraceNotes notes = t.notes;
  if (const std::string before = profile::work_before_steps(p); !before.empty()) notes.assume(before);
  for (const traces::TraceDevice& d : t.devices) devices.push_back(one_line(d.name));
  for (const profile::StepProfile& s : front_of(p.steps, most)) {
    if (p.steps_marked) steps.push_back(step_json(p, s, s.step.name));
  }
  Json out{{"rank", p.rank},
           {"file", one_line(t.path)},
           {"format", one_line(t.format)},
           {"devices", std::move(devices)},
           {"host_records", p.records.host},
           {"device_records", p.records.kernels + p.records.copies},
           {"streams", p.records.streams},
           {"collectives", p.records.collectives},
           {"notes", notes_json(notes)},
           {"steps", std::move(steps)}};
  if (!p.steps.empty()) out["whole_trace"] = step_json(p, p.whole, "whole trace");
  const profile::HostOverheads &o = p.overheads, &c = p.corrected;
  const bool known = p.profiler.per_record > 0;
  out["host_overheads"] = {{"T1", overhead_json(o.t1, c.t1, known)},
                           {"T2", overhead_json(o.t2, c.t2, known)},
                           {"T3", overhead_json(o.t3, c.t3, known)},
                           {"T4", overhead_json(o.t4, c.t4, known)},
                           {"T5", overhead_json(o.t5, c.t5, known)}};
  out["profiler"] = profiler_json(p.profiler);
  out["tree"] = tree_json(front_of(p.tree, most));
  out["ops"] = ops_json(front_of(p.ops, most));
  out["kernels"] = kernels_json(front_of(p.kernels, most));
  out["variants"] = variants_json(front_of(p.variants, most));
  if (most != kEveryRow)
    out["rows"] = {{"steps", p.steps_marked ? p.steps.size() : 0},
                   {"tree", p.tree.size()},
                   {"ops", p.ops.size()},
                   {"kernels", p.kernels.size()},
                   {"variants", p.variants.size()}};
  return out;
}

Json host_json(const profile::Profile& p, std::size_t most) {
  if (p.host.functions.empty()) return nullptr;
  Json functions = Json::array();
  const double step = typical_step(p);
  for (const traces::HostFunction& f : front_of(p.host.functions, most)) {
    const double self = f.self / p.host.sum;
    functions.push_back({{"function", one_line(f.name)},
                         {"self", self},
                         {"total", f.total / p.host.sum},
                         {"self_ms_per_step", step > 0 ? Json(self * step * 1e-6) : Json(nullptr)}});
  }
  return {{"format", p.host.format}, {"notes", notes_json(p.host.notes)}, {"functions", std::move(functions)}};
}

Json collectives_json(const profile::Profile& p, std::size_t most) {
  Json out = Json::array();
  for (const profile::CollectiveSummary& c : front_of(p.collectives, most)) {
    Json row{{"kind", c.kind},
             {"group", one_line(c.group)},
             {"group_size", c.group_size == 0 ? Json(nullptr) : Json(c.group_size)},
             {"bytes", c.bytes < 0 ? Json(nullptr) : Json(c.bytes)},
             {"calls", c.calls},
             {"ranks_seen", c.ranks_seen}};
    row["mean_us"] = c.records > 0 ? Json(us(c.total_duration) / static_cast<double>(c.records)) : Json(nullptr);
    row["transfer_us"] = c.transfers == 0 ? Json(nullptr) : Json(us(c.transfer) / static_cast<double>(c.transfers));
    row["skew_median_us"] = known_us(c.skew_median);
    row["skew_max_us"] = known_us(c.skew_max);
    row["busbw_GBps"] = c.busbw > 0 ? Json(c.busbw * 1e-9) : Json(nullptr);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

std::string profile_json(const traces::TraceJob& job, const profile::Profile& profile, const ProfileForm& form) {
  const std::size_t most = form.most_rows;
  Json ranks = Json::array(), standing = Json::array();
  for (std::size_t i = 0; i < profile.ranks.size(); ++i)
    ranks.push_back(rank_json(job.ranks[i], profile.ranks[i], i < form.most_ranks ? most : 0));
  for (const profile::RankStanding& s : profile.standing) {
    standing.push_back({{"rank", s.rank},
                        {"last_arrivals", s.last_arrivals},
                        {"made_others_wait_ms", ms(s.made_others_wait)},
                        {"waited_ms", ms(s.waited)},
                        {"compute_excess_percent", s.compute_excess ? Json(100 * *s.compute_excess) : Json()},
                        {"straggler", s.straggler}});
  }
  traces::TraceNotes notes = job.notes;
  if (!profile.doubt.empty()) notes.assume(profile.doubt);
  Json out{{"schema", "distsim-profile"}, {"schema_version", 1},        {"world_size", job.world_size},
           {"epoch_ns", job.epoch_ns},    {"notes", notes_json(notes)}, {"missing", traces::missing_parts(job)}};
  out["ranks"] = std::move(ranks);
  out["collectives"] = collectives_json(profile, most);
  out["standing"] = std::move(standing);
  out["host"] = host_json(profile, most);
  const std::string text = json_text(out, form.indent);
  return form.indent < 0 ? text : text + "\n";
}

std::string profile_page_json(const traces::TraceJob& job, const profile::Profile& profile, std::size_t most) {
  constexpr std::size_t kMostPageRows = 300, kFewestPageRows = 8, kMostPageRanks = 64;
  ProfileForm form{.indent = -1, .most_rows = kMostPageRows, .most_ranks = kMostPageRanks};
  std::string out = profile_json(job, profile, form);
  while (out.size() > most && form.most_rows > kFewestPageRows) {
    form.most_rows /= 2;
    out = profile_json(job, profile, form);
  }
  while (out.size() > most && form.most_ranks > 1) {
    form.most_ranks /= 2;
    out = profile_json(job, profile, form);
  }
  return out;
}

}  // namespace distsim::report
