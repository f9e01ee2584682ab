#include <algorithm>
#include <tuple>

#include "base/median.hpp"
#include "base/text/csv.hpp"
#include "base/text/names/spelling.hpp"
#include "sim/report/profile/profile_report.hpp"
#include "sim/report/text/columns.hpp"
#include "sim/report/text/format.hpp"

namespace distsim::report {
namespace {

using Row = std::vector<std::string>;

std::string ms(std::int64_t ns) { return fixed(static_cast<double>(ns) * 1e-6, 6); }
std::string us(std::int64_t ns) { return fixed(static_cast<double>(ns) * 1e-3, 3); }
std::string known_ms(std::int64_t ns) { return ns < 0 ? "" : ms(ns); }
std::string known_us(std::int64_t ns) { return ns < 0 ? "" : us(ns); }
std::string number(std::uint64_t n) { return std::to_string(n); }
std::int64_t mean(std::int64_t total, std::uint64_t n) { return n == 0 ? 0 : total / static_cast<std::int64_t>(n); }
std::string rate(double amount, std::int64_t ns, double unit) {
  return amount > 0 && ns > 0 ? fixed(amount / (static_cast<double>(ns) * 1e-9) / unit, 3) : "";
}

/// A part of a time in percent, at most 100; empty where the time is 0.
std::string share(double part, std::int64_t time) {
  return time > 0 ? fixed(100 * std::min(1.0, part / static_cast<double>(time)), 2) : "";
}

Row step_row(const profile::RankProfile& r, const profile::StepProfile& s, const std::string& name) {
  const profile::TimeSplit& t = s.split;
  const std::string host_gap = profile::knows_waits(r) ? ms(s.gaps.waiting_for_host) : "";
  const std::string launches = profile::knows_launches(r) ? number(s.launches) : "";
  return {number(r.rank),   one_line(name), known_ms(s.measured), ms(t.wall), ms(t.busy),
          ms(t.compute),    ms(t.comm),     ms(t.exposed),        ms(t.idle), number(s.gaps.count),
          ms(s.gaps.total), host_gap,       number(s.kernels),    launches};
}

void steps(const profile::Profile& p, std::string& out) {
  out += csv_line({"rank", "step", "measured_ms", "wall_ms", "busy_ms", "compute_ms", "comm_ms", "exposed_comm_ms",
                   "idle_ms", "gaps", "gap_ms", "host_gap_ms", "kernels", "launches"});
  for (const profile::RankProfile& r : p.ranks) {
    for (const profile::StepProfile& s : r.steps) {
      if (r.steps_marked) out += csv_line(step_row(r, s, s.step.name));
    }
    if (!r.steps.empty()) out += csv_line(step_row(r, r.whole, "whole trace"));
  }
}

std::string_view kind_name(profile::WorkNode::Kind kind) {
  switch (kind) {
    case profile::WorkNode::Kind::root:
      return "all";
    case profile::WorkNode::Kind::annotation:
      return "annotation";
    case profile::WorkNode::Kind::op:
      return "op";
    case profile::WorkNode::Kind::kernel:
      return "kernel";
  }
  return "?";
}

void tree(const profile::Profile& p, std::string& out) {
  out += csv_line({"rank", "depth", "kind", "name", "launched", "device_ms"});
  for (const profile::RankProfile& r : p.ranks) {
    for (const profile::WorkNode& n : r.tree)
      out += csv_line({number(r.rank), number(n.depth), std::string(kind_name(n.kind)), one_line(n.name),
                       number(n.launched), ms(n.device_time)});
  }
}

void ops(const profile::Profile& p, std::string& out) {
  out += csv_line({"rank", "op", "shapes", "calls", "device_ms", "tflops", "gbps"});
  for (const profile::RankProfile& r : p.ranks) {
    for (const profile::OpRate& o : r.ops) {
      out += csv_line({number(r.rank), one_line(o.name), one_line(o.shapes), number(o.calls), ms(o.device_time),
                       rate(o.flops, o.device_time, 1e12), rate(o.bytes, o.device_time, 1e9)});
    }
  }
}

void kernels(const profile::Profile& p, std::string& out) {
  out += csv_line({"rank", "name", "kind", "communication", "calls", "total_ms", "mean_us", "min_us", "max_us", "gbps",
                   "occupancy_percent"});
  for (const profile::RankProfile& r : p.ranks) {
    for (const profile::KernelSummary& k : r.kernels) {
      out += csv_line({number(r.rank), one_line(k.name), std::string(traces::name_of(k.kind)),
                       k.communication ? "yes" : "no", number(k.calls), ms(k.total), us(mean(k.total, k.calls)),
                       us(k.shortest), us(k.longest), rate(static_cast<double>(k.bytes), k.total, 1e9),
                       share(k.occupancy.warp_time, k.occupancy.kernel_time)});
    }
  }
}

void collectives(const profile::Profile& p, std::string& out) {
  out += csv_line({"kind", "group", "group_size", "bytes", "calls", "ranks_seen", "mean_us", "transfer_us",
                   "skew_median_us", "skew_max_us", "busbw_GBps"});
  for (const profile::CollectiveSummary& c : p.collectives) {
    out += csv_line({c.kind, one_line(c.group), c.group_size == 0 ? "" : number(c.group_size),
                     c.bytes < 0 ? "" : std::to_string(c.bytes), number(c.calls), number(c.ranks_seen),
                     c.records == 0 ? "" : us(mean(c.total_duration, static_cast<std::uint64_t>(c.records))),
                     c.transfers == 0 ? "" : us(mean(c.transfer, c.transfers)), known_us(c.skew_median),
                     known_us(c.skew_max), c.busbw > 0 ? fixed(c.busbw * 1e-9, 3) : ""});
  }
}

void ranks(const profile::Profile& p, std::string& out) {
  out += csv_line({"rank", "last_arrivals", "made_others_wait_ms", "waited_ms", "compute_excess_percent", "straggler"});
  for (const profile::RankStanding& s : p.standing) {
    out += csv_line({number(s.rank), number(s.last_arrivals), ms(s.made_others_wait), ms(s.waited),
                     s.compute_excess ? fixed(100 * *s.compute_excess, 2) : "", s.straggler ? "yes" : "no"});
  }
}

void overheads(const profile::Profile& p, std::string& out) {
  out += csv_line({"rank", "overhead", "count", "total_ms", "mean_us", "median_us", "p90_us", "corrected_mean_us",
                   "corrected_median_us"});
  for (const profile::RankProfile& r : p.ranks) {
    const profile::HostOverheads &h = r.overheads, &c = r.corrected;
    const std::tuple<const char*, const profile::OverheadSummary*, const profile::OverheadSummary*> all[] = {
        {"T1", &h.t1, &c.t1}, {"T2", &h.t2, &c.t2}, {"T3", &h.t3, &c.t3}, {"T4", &h.t4, &c.t4}, {"T5", &h.t5, &c.t5}};
    const bool known = r.profiler.per_record > 0;
    for (const auto& [name, s, corrected] : all)
      out += csv_line({number(r.rank), name, number(s->count), ms(s->total), us(mean(s->total, s->count)),
                       us(s->median), us(s->p90), known ? us(mean(corrected->total, corrected->count)) : "",
                       known ? us(corrected->median) : ""});
  }
}

void variants(const profile::Profile& p, std::string& out) {
  out += csv_line({"rank", "layer", "op", "shapes", "kernel", "calls", "device_ms", "mean_us", "occupancy_percent"});
  for (const profile::RankProfile& r : p.ranks) {
    for (const profile::KernelVariant& v : r.variants)
      out += csv_line({number(r.rank), one_line(v.layer), one_line(v.op), one_line(v.shapes), one_line(v.kernel),
                       number(v.calls), ms(v.device_time), us(mean(v.device_time, v.calls)),
                       share(v.occupancy.warp_time, v.occupancy.kernel_time)});
  }
}

void host(const profile::Profile& p, std::string& out) {
  out += csv_line({"function", "self_percent", "total_percent", "self_ms_per_step"});
  const double step = typical_step(p);
  for (const traces::HostFunction& f : p.host.functions)
    out += csv_line({one_line(f.name), fixed(100 * f.self / p.host.sum, 3), fixed(100 * f.total / p.host.sum, 3),
                     step > 0 ? fixed(f.self / p.host.sum * step * 1e-6, 6) : ""});
}

Row gpu_row(const profile::RankProfile& r, const profile::StepProfile& s, const std::string& name) {
  const profile::Occupancy& o = s.occupancy;
  const auto gb = [](std::int64_t bytes) { return bytes < 0 ? "" : fixed(static_cast<double>(bytes) * 1e-9, 6); };
  return {number(r.rank),
          one_line(name),
          share(static_cast<double>(s.split.busy), s.split.wall),
          o.block_time > 0 ? share(o.sm_time, profile::sm_time_within(r, s)) : "",
          share(o.warp_time, o.kernel_time),
          gb(s.memory.begin),
          gb(s.memory.peak),
          gb(s.memory.end),
          ms(s.profiler),
          s.measured < 0 ? "" : ms(s.measured - s.profiler_idle),
          share(static_cast<double>(o.kernel_time), o.all_time)};
}

void gpu(const profile::Profile& p, std::string& out) {
  out +=
      csv_line({"rank", "step", "busy_percent", "sm_efficiency_percent", "occupancy_percent", "memory_begin_gb",
                "memory_peak_gb", "memory_end_gb", "profiler_ms", "without_profiler_ms", "occupancy_covers_percent"});
  for (const profile::RankProfile& r : p.ranks) {
    for (const profile::StepProfile& s : r.steps) {
      if (r.steps_marked) out += csv_line(gpu_row(r, s, s.step.name));
    }
    if (!r.steps.empty()) out += csv_line(gpu_row(r, r.whole, "whole trace"));
  }
}

}  // namespace

double typical_step(const profile::Profile& profile) {
  std::vector<std::int64_t> measured;
  for (const profile::RankProfile& r : profile.ranks) {
    for (const profile::StepProfile& s : r.steps) {
      if (s.measured > 0) measured.push_back(s.measured);
    }
  }
  return measured.empty() ? 0 : static_cast<double>(median(std::move(measured)));
}

std::vector<std::string> profile_table_names() {
  return {"steps", "tree", "ops", "kernels", "collectives", "ranks", "overheads", "variants", "gpu", "host"};
}

Result<ProfileTable> parse_profile_table(const std::string& name) {
  const std::vector<std::string> names = profile_table_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<ProfileTable>(i);
  }
  return Error{"found '" + one_line(name) + "', expected a table", "--table", spelling_hint(name, names)};
}

std::string profile_csv(const traces::TraceJob&, const profile::Profile& p, ProfileTable table) {
  std::string out;
  switch (table) {
    case ProfileTable::steps:
      steps(p, out);
      break;
    case ProfileTable::tree:
      tree(p, out);
      break;
    case ProfileTable::ops:
      ops(p, out);
      break;
    case ProfileTable::kernels:
      kernels(p, out);
      break;
    case ProfileTable::collectives:
      collectives(p, out);
      break;
    case ProfileTable::ranks:
      ranks(p, out);
      break;
    case ProfileTable::overheads:
      overheads(p, out);
      break;
    case ProfileTable::variants:
      variants(p, out);
      break;
    case ProfileTable::host:
      host(p, out);
      break;
    case ProfileTable::gpu:
      gpu(p, out);
      break;
  }
  return out;
}

}  // namespace distsim::report
