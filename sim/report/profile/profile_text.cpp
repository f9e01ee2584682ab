#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text/counted.hpp"

#include "sim/report/profile/profile_report.hpp"
#include "sim/report/text/columns.hpp"
#include "sim/report/text/format.hpp"
#include "traces/verdict.hpp"

namespace distsim::report {
namespace {

constexpr std::size_t kStepRows = 24;
constexpr std::size_t kNoteLines = 12;
constexpr std::size_t kNarrowestLabel = 20;
constexpr double kAllButRounding = 99.5;  // %
constexpr double kTreeShare = 0.01;       // branches below this share of the device time are summed up

double in_ms(std::int64_t ns) { return static_cast<double>(ns) * 1e-6; }

/// 1234, 123.4, 12.34, 1.234: four digits that count.
std::string ms(std::int64_t ns) {
  const double v = in_ms(ns);
  return fixed(v, v >= 1000 ? 0 : v >= 100 ? 1 : v >= 10 ? 2 : 3);
}
std::string us(std::int64_t ns) { return fixed(static_cast<double>(ns) * 1e-3, 1); }
std::string rate(double amount, std::int64_t ns, double unit, int digits) {
  return amount > 0 && ns > 0 ? fixed(amount / (static_cast<double>(ns) * 1e-9) / unit, digits) : "-";
}

class Writer {
 public:
  Writer(const traces::TraceJob& job, const profile::Profile& p, const ProfileTextOptions& o)
      : job_(job), p_(p), o_(o), width_(static_cast<std::size_t>(std::clamp(o.width, 100, 400))) {}

  std::string write() {
    header();
    steps();
    gpu_use();
    if (o_.rank < p_.ranks.size()) {
      overheads(p_.ranks[o_.rank]);
      tree(p_.ranks[o_.rank]);
      ops(p_.ranks[o_.rank]);
      variants(p_.ranks[o_.rank]);
      kernels(p_.ranks[o_.rank]);
    }
    host();
    collectives();
    standing();
    notes();
    return std::move(out_);
  }

 private:
  void line(const std::string& text) {
    out_ += text;
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    out_ += '\n';
  }

  /// A remark below a table.
  void remark(const std::string& text) {
    for (const std::string& part : wrapped(text, width_ - 2)) line("  " + part);
  }

  /// The first cell takes what the others, right-aligned, leave.
  void row(const std::string& first, const std::vector<std::pair<std::string, std::size_t>>& cells) {
    std::size_t used = 0;
    for (const auto& [text, w] : cells) used += w;
    const std::size_t label = std::max(kNarrowestLabel, width_ - std::min(width_, used));
    std::string text = padded(shortened_inside(one_line(first), label), label);
    for (const auto& [cell, w] : cells) text += padded_left(cell, w);
    line(text);
  }

  std::string device_list(const std::map<std::string, std::size_t>& devices) const {
    constexpr std::size_t kLongestName = 60;
    std::string names;
    for (const auto& [name, count] : devices) {
      names += (names.empty() ? "" : ", ") + std::to_string(count) + " x " + shortened_inside(name, kLongestName);
      if (columns_of(names) > width_) break;
    }
    return names.empty() ? "none recorded" : shortened(names, width_ - 9);
  }

  void header() {
    const std::size_t n = job_.ranks.size();
    std::string title = std::to_string(n) + (n == 1 ? " rank" : " ranks");
    if (job_.world_size > 0) title += " of " + std::to_string(job_.world_size);
    line("trace    " + shortened(title + ", " + one_line(job_.ranks.front().format), width_ - 9));
    std::map<std::string, std::size_t> devices;
    std::uint64_t kernels = 0, copies = 0, streams = 0, host = 0, collectives = 0, unlaunched = 0;
    for (const traces::TraceRank& r : job_.ranks) {
      for (const traces::TraceDevice& d : r.devices) ++devices[d.name.empty() ? "unnamed device" : one_line(d.name)];
    }
    for (const profile::RankProfile& r : p_.ranks) {
      kernels += r.records.kernels;
      copies += r.records.copies;
      unlaunched += r.records.unlaunched;
      streams += r.records.streams;
      host += r.records.host;
      collectives += r.records.collectives;
    }
    line("devices  " + device_list(devices));
    line("records  " + counted(kernels, "kernel") + ", " + counted(copies, "copy or memset", "copies and memsets") +
         " on " + counted(streams, "stream") + "; " + std::to_string(host) + " on the host; " +
         counted(collectives, "collective") + " in " + counted(job_.groups.size(), "group") + "; " +
         std::to_string(unlaunched) + " without a launch");
    line("");
  }

  void step_line(const std::string& label, const profile::RankProfile& r, const profile::StepProfile& s) {
    const profile::TimeSplit& t = s.split;
    row(label, {{s.measured < 0 ? "-" : ms(s.measured), 10},
                {ms(t.wall), 9},
                {ms(t.busy), 9},
                {ms(t.compute), 9},
                {ms(t.comm), 9},
                {ms(t.exposed), 9},
                {ms(t.idle), 9},
                {profile::knows_waits(r) ? ms(s.gaps.waiting_for_host) : "-", 9},
                {std::to_string(s.kernels), 9},
                {profile::knows_launches(r) ? std::to_string(s.launches) : "-", 9}});
  }

  void steps() {
    row("step (ms)", {{"measured", 10},
                      {"span", 9},
                      {"busy", 9},
                      {"compute", 9},
                      {"comm", 9},
                      {"exposed", 9},
                      {"idle", 9},
                      {"host gap", 9},
                      {"kernels", 9},
                      {"launches", 9}});
    std::size_t shown = 0, all = 0;
    const bool several = p_.ranks.size() > 1;
    for (const profile::RankProfile& r : p_.ranks) {
      const std::string prefix = several ? "  rank " + std::to_string(r.rank) + "  " : "  ";
      for (const profile::StepProfile& s : r.steps) {
        if (!r.steps_marked) continue;
        if (++all <= kStepRows) {
          step_line(prefix + s.step.name, r, s);
          ++shown;
        }
      }
      if (!r.steps.empty() && (!r.steps_marked || !several)) step_line(prefix + "whole trace", r, r.whole);
    }
    if (all > shown) line("  " + counted(all - shown, "more step") + " in --csv");
    remark(
        "measured: GPU start to start, otherwise the step's span. host gap: idle time until a kernel that was launched within the gap");
    const bool marked = std::ranges::any_of(p_.ranks, [](const auto& r) { return r.steps_marked; });
    if (!marked)
      remark("no iteration is marked: call the profiler's step() in each, or name the range that is one with --steps");
    line("");
  }

  /// Only where something of it was recorded.
  void gpu_use() {
    const auto recorded = [](const profile::StepProfile& s) {
      return s.occupancy.block_time > 0 || s.occupancy.kernel_time > 0 || s.memory.peak >= 0 || s.profiler > 0;
    };
    if (std::ranges::none_of(p_.ranks, [&](const auto& r) { return recorded(r.whole); })) return;
    row("GPU use", {{"busy %", 8},
                    {"SMs %", 8},
                    {"occupancy %", 13},
                    {"memory begin", 14},
                    {"peak", 10},
                    {"end", 10},
                    {"profiler ms", 13},
                    {"without ms", 12}});
    std::size_t all = 0;
    for (const profile::RankProfile& r : p_.ranks) {
      const std::string prefix = p_.ranks.size() > 1 ? "  rank " + std::to_string(r.rank) + "  " : "  ";
      for (const profile::StepProfile& s : r.steps) {
        if (r.steps_marked && ++all <= kStepRows) use_line(prefix + s.step.name, r, s);
      }
      if (!r.steps_marked) use_line(prefix + "whole trace", r, r.whole);
    }
    if (all > kStepRows) line("  " + counted(all - kStepRows, "more step") + " in --table gpu");
    remark(
        "SMs: share that had a block, over the step, of all GPUs of a rank; occupancy: resident warps while kernels ran, both as estimated by the profiler. "
        "without: measured less the profiler's own work while the GPU was idle");
    if (const std::string covered = covered_by_estimates(); !covered.empty()) remark(covered);
    line("");
  }

  /// What part of the kernels' time the two figures are of, where it is not all.
  std::string covered_by_estimates() const {
    profile::Occupancy all;
    for (const profile::RankProfile& r : p_.ranks) all.add(r.whole.occupancy);
    const auto part = [&all](std::int64_t time) {
      return 100 * static_cast<double>(time) / static_cast<double>(std::max<std::int64_t>(1, all.all_time));
    };
    std::string out;
    for (const auto& [what, time] :
         {std::pair("SMs are those of ", all.block_time), {"occupancy is that of ", all.kernel_time}}) {
      if (time > 0 && part(time) < kAllButRounding)
        out += (out.empty() ? "" : "; ") + std::string(what) + fixed(part(time), 1) + " % of the kernels' time";
    }
    return out.empty() ? out : out + ", as the profiler has no estimate for the rest";
  }

  void use_line(const std::string& label, const profile::RankProfile& r, const profile::StepProfile& s) {
    const auto share = [](double part, std::int64_t time) {
      return time > 0 ? fixed(100 * std::min(1.0, part / static_cast<double>(time)), 1) : std::string("-");
    };
    const auto gb = [](std::int64_t bytes) { return bytes < 0 ? "-" : decimal_bytes(static_cast<double>(bytes)); };
    const profile::Occupancy& o = s.occupancy;
    row(label, {{share(static_cast<double>(s.split.busy), s.split.wall), 8},
                {share(o.sm_time, o.block_time > 0 ? profile::sm_time_within(r, s) : 0), 8},
                {share(o.warp_time, o.kernel_time), 13},
                {gb(s.memory.begin), 14},
                {gb(s.memory.peak), 10},
                {gb(s.memory.end), 10},
                {s.profiler > 0 ? ms(s.profiler) : "-", 13},
                {s.profiler > 0 && s.measured >= 0 ? ms(s.measured - s.profiler_idle) : "-", 12}});
  }

  void overheads(const profile::RankProfile& r) {
    const profile::HostOverheads& h = r.overheads;
    if (!profile::has_overheads(r)) return;
    const bool known = r.profiler.per_record > 0;
    std::vector<std::pair<std::string, std::size_t>> titles{
        {"count", 9}, {"total ms", 11}, {"mean us", 10}, {"median us", 11}, {"p90 us", 10}};
    if (known) titles.insert(titles.end(), {{"corrected mean", 16}, {"median", 9}});
    row("host overheads, rank " + std::to_string(r.rank), titles);
    const auto mean = [](const profile::OverheadSummary& s) {
      return s.count == 0 ? 0 : s.total / static_cast<std::int64_t>(s.count);
    };
    const auto one = [&](const char* name, const profile::OverheadSummary& s, const profile::OverheadSummary& c) {
      std::vector<std::pair<std::string, std::size_t>> cells{
          {std::to_string(s.count), 9}, {ms(s.total), 11}, {us(mean(s)), 10}, {us(s.median), 11}, {us(s.p90), 10}};
      if (known) cells.insert(cells.end(), {{us(mean(c)), 16}, {us(c.median), 9}});
      row(name, cells);
    };
    one("  T1 between ops", h.t1, r.corrected.t1);
    one("  T2 op start to first launch", h.t2, r.corrected.t2);
    one("  T3 last launch to op end", h.t3, r.corrected.t3);
    one("  T4 launching call", h.t4, r.corrected.t4);
    one("  T5 between launches", h.t5, r.corrected.t5);
    const profile::ProfilerCost& c = r.profiler;
    if (c.without >= 0)
      remark("iteration " + ms(c.with) + " ms with the profiler, " + ms(c.without) + " ms without (" +
             (c.with >= c.without ? "+" : "") +
             fixed(100 * static_cast<double>(c.with - c.without) / static_cast<double>(c.without), 1) + " %)" +
             (known                    ? ""
              : c.records_per_step > 0 ? ": nothing to correct, recording costs less than iterations differ"
                                       : ": nothing to correct, the trace has no host records"));
    if (known)
      remark("corrected: less " + fixed(c.per_record * 1e-3, 2) +
             " us for each host record inside, of which an iteration has " + fixed(c.records_per_step, 0));
    line("");
  }

  void tree(const profile::RankProfile& r) {
    if (r.tree.empty() || r.tree.front().device_time == 0) return;
    const double total = static_cast<double>(r.tree.front().device_time);
    row("annotation > op > kernel, rank " + std::to_string(r.rank), {{"launched", 10}, {"device ms", 11}, {"%", 7}});
    std::size_t rows = 0;
    for (const profile::WorkNode& n : r.tree) {
      if (n.kind == profile::WorkNode::Kind::root || static_cast<double>(n.device_time) < kTreeShare * total ||
          rows >= 4 * o_.top)
        continue;
      ++rows;
      row(std::string(2 * n.depth, ' ') + n.name, {{std::to_string(n.launched), 10},
                                                   {ms(n.device_time), 11},
                                                   {percent_text(static_cast<double>(n.device_time), total), 7}});
    }
    line("  (branches below 1 % and more rows: --csv FILE --table tree)");
    line("");
  }

  void ops(const profile::RankProfile& r) {
    if (r.ops.empty()) return;
    row("ops by shape, rank " + std::to_string(r.rank), {{"calls", 8}, {"device ms", 11}, {"TFLOP/s", 9}, {"GB/s", 9}});
    for (std::size_t i = 0; i < std::min(o_.top, r.ops.size()); ++i) {
      const profile::OpRate& o = r.ops[i];
      row("  " + o.name + (o.shapes.empty() ? "" : " " + o.shapes), {{std::to_string(o.calls), 8},
                                                                     {ms(o.device_time), 11},
                                                                     {rate(o.flops, o.device_time, 1e12, 2), 9},
                                                                     {rate(o.bytes, o.device_time, 1e9, 1), 9}});
    }
    if (r.ops.size() > o_.top) line("  " + std::to_string(r.ops.size() - o_.top) + " more in --table ops");
    line("");
  }

  /// Ops that use several kernels: those of each set of shapes, over all layers.
  void variants(const profile::RankProfile& r) {
    std::map<std::string, std::set<std::string>> kernels_of;
    for (const profile::KernelVariant& v : r.variants) kernels_of[v.op].insert(v.kernel);
    using Kernels = std::map<std::string, profile::KernelVariant>;
    std::map<std::string, Kernels> groups;
    for (const profile::KernelVariant& v : r.variants) {
      if (v.op.empty() || v.shapes.empty() || kernels_of[v.op].size() < 2) continue;
      profile::KernelVariant& k = groups[v.op + " " + v.shapes][v.kernel];
      k.calls += v.calls;
      k.device_time += v.device_time;
      k.occupancy.add(v.occupancy);
    }
    if (groups.empty()) return;
    std::vector<std::pair<std::int64_t, std::string>> order;
    for (const auto& [name, kernels] : groups) {
      std::int64_t time = 0;
      for (const auto& [kernel, k] : kernels) time += k.device_time;
      order.emplace_back(-time, name);
    }
    std::ranges::sort(order);
    row("kernels by shape, rank " + std::to_string(r.rank),
        {{"calls", 8}, {"device ms", 11}, {"mean us", 10}, {"occupancy %", 13}});
    for (std::size_t i = 0; i < std::min(o_.top, order.size()); ++i) {
      line("  " + shortened_inside(one_line(order[i].second), width_ - 2));
      for (const auto& [kernel, k] : groups[order[i].second]) variant_line("    " + kernel, k);
    }
    line("  (ops with several kernels; by layer, and all ops: --csv FILE --table variants)");
    line("");
  }

  void variant_line(const std::string& label, const profile::KernelVariant& k) {
    const profile::Occupancy& o = k.occupancy;
    row(label, {{std::to_string(k.calls), 8},
                {ms(k.device_time), 11},
                {us(k.device_time / static_cast<std::int64_t>(k.calls)), 10},
                {o.kernel_time > 0 ? fixed(100 * o.warp_time / static_cast<double>(o.kernel_time), 1) : "-", 13}});
  }

  void kernels(const profile::RankProfile& r) {
    if (r.kernels.empty()) return;
    std::int64_t total = 0;
    for (const profile::KernelSummary& k : r.kernels) total += k.total;
    row("kernels and copies, rank " + std::to_string(r.rank),
        {{"calls", 8}, {"total ms", 11}, {"%", 7}, {"mean us", 10}, {"max us", 11}, {"GB/s", 9}});
    for (std::size_t i = 0; i < std::min(o_.top, r.kernels.size()); ++i) {
      const profile::KernelSummary& k = r.kernels[i];
      row("  " + k.name, {{std::to_string(k.calls), 8},
                          {ms(k.total), 11},
                          {percent_text(static_cast<double>(k.total), static_cast<double>(total)), 7},
                          {us(k.total / static_cast<std::int64_t>(k.calls)), 10},
                          {us(k.longest), 11},
                          {rate(static_cast<double>(k.bytes), k.total, 1e9, 1), 9}});
    }
    if (r.kernels.size() > o_.top) line("  " + std::to_string(r.kernels.size() - o_.top) + " more in --table kernels");
    line("");
  }

  void host() {
    const traces::HostStacks& h = p_.host;
    if (h.functions.empty()) return;
    const double step = typical_step(p_);
    row("host functions, " + h.format, {{"self %", 9}, {"total %", 9}, {"ms a step", 11}});
    for (std::size_t i = 0; i < std::min(o_.top, h.functions.size()); ++i) {
      const traces::HostFunction& f = h.functions[i];
      row("  " + f.name, {{percent_text(f.self, h.sum), 9},
                          {percent_text(f.total, h.sum), 9},
                          {step > 0 ? ms(std::llround(f.self / h.sum * step)) : "-", 11}});
    }
    if (h.functions.size() > o_.top) line("  " + std::to_string(h.functions.size() - o_.top) + " more in --table host");
    const bool whole = h.seconds || h.sum == std::floor(h.sum);  // some programs weigh their samples
    std::string about = fixed(h.sum * (h.seconds ? 1000 : 1), whole ? 0 : 1) + (h.seconds ? " ms" : " samples");
    for (const std::string& a : h.notes.assumptions) about += "; " + a;
    for (const traces::TraceNotes::Count& c : h.notes.dropped)
      about += "; left out: " + c.what + ": " + std::to_string(c.count);
    remark(about + ". ms a step: the share of self times the median step, taking the recording for iterations only");
    line("");
  }

  void collectives() {
    if (p_.collectives.empty()) return;
    row("collectives", {{"ranks", 7},
                        {"calls", 7},
                        {"mean us", 10},
                        {"transfer", 10},
                        {"skew med", 10},
                        {"skew max", 11},
                        {"busbw GB/s", 11}});
    for (std::size_t i = 0; i < std::min(o_.top, p_.collectives.size()); ++i) {
      const profile::CollectiveSummary& c = p_.collectives[i];
      const std::string size = c.bytes < 0 ? "size unknown" : binary_bytes(static_cast<double>(c.bytes));
      const std::string ranks =
          std::to_string(c.ranks_seen) + (c.group_size > 0 ? "/" + std::to_string(c.group_size) : "");
      row("  " + c.kind + " " + size + (c.group.empty() ? "" : ", group " + c.group),
          {{ranks, 7},
           {std::to_string(c.calls), 7},
           {c.records > 0 ? us(c.total_duration / c.records) : "-", 10},
           {c.transfers > 0 ? us(c.transfer / static_cast<std::int64_t>(c.transfers)) : "-", 10},
           {c.skew_median >= 0 ? us(c.skew_median) : "-", 10},
           {c.skew_max >= 0 ? us(c.skew_max) : "-", 11},
           {c.busbw > 0 ? fixed(c.busbw * 1e-9, 1) : "-", 11}});
    }
    if (p_.collectives.size() > o_.top)
      line("  " + std::to_string(p_.collectives.size() - o_.top) + " more in --table collectives");
    remark("transfer: shortest time over the ranks read, so without waiting; busbw is computed from it" +
           std::string(job_.ranks.size() == 1 ? " (only one rank here: its full duration, including waiting)" : ""));
    line("");
  }

  static std::string compute_excess(const profile::RankStanding& s) {
    if (!s.compute_excess) return "-";
    return (*s.compute_excess >= 0 ? "+" : "") + fixed(100 * *s.compute_excess, 1) + " %";
  }

  void standing() {
    if (p_.standing.empty()) return;
    row("ranks",
        {{"last to arrive", 16}, {"others waited ms", 18}, {"waited ms", 11}, {"compute vs mean", 17}, {"", 12}});
    for (const profile::RankStanding& s : p_.standing) {
      row("  rank " + std::to_string(s.rank), {{std::to_string(s.last_arrivals), 16},
                                               {ms(s.made_others_wait), 18},
                                               {ms(s.waited), 11},
                                               {compute_excess(s), 17},
                                               {s.straggler ? "straggler" : "", 12}});
    }
    line("");
  }

  void notes() {
    std::vector<std::string> lines;
    std::map<std::string, std::vector<std::uint32_t>> by_text;
    std::map<std::string, std::uint64_t> dropped;
    for (const traces::TraceRank& r : job_.ranks) {
      for (const std::string& a : r.notes.assumptions) by_text[a].push_back(r.rank);
      for (const traces::TraceNotes::Count& c : r.notes.dropped) dropped[c.what] += c.count;
    }
    for (const profile::RankProfile& r : p_.ranks) {
      if (const std::string before = profile::work_before_steps(r); !before.empty()) by_text[before].push_back(r.rank);
    }
    if (const std::string verdict = traces::verdict_of(job_); verdict != "complete") lines.push_back("- " + verdict);
    for (const std::string& a : job_.notes.assumptions) lines.push_back("- " + one_line(a));
    if (!p_.doubt.empty()) lines.push_back("- " + one_line(p_.doubt));
    for (const auto& [text, ranks] : by_text) {
      const std::string who = job_.ranks.size() == 1 || ranks.size() == job_.ranks.size() ? ""
                              : ranks.size() == 1 ? "rank " + std::to_string(ranks[0]) + ": "
                                                  : counted(ranks.size(), "rank") + ": ";
      lines.push_back("- " + who + one_line(text));
    }
    std::string left;
    for (const auto& [what, n] : dropped)
      left += (left.empty() ? "" : ", ") + one_line(what) + ": " + std::to_string(n);
    if (!left.empty()) lines.push_back("- left out: " + left);
    std::size_t shown = 0;
    for (const std::string& l : lines) {
      if (shown == kNoteLines) {
        line("         (" + counted(lines.size() - shown, "more note") + " in --json)");
        break;
      }
      bool first = true;
      for (const std::string& part : wrapped(l, width_ - 9)) {
        line((shown == 0 && first ? "notes    " : "         ") + part);
        first = false;
      }
      ++shown;
    }
  }

  const traces::TraceJob& job_;
  const profile::Profile& p_;
  const ProfileTextOptions o_;
  const std::size_t width_;
  std::string out_;
};

}  // namespace

std::string profile_text(const traces::TraceJob& job, const profile::Profile& profile,
                         const ProfileTextOptions& options) {
  return Writer(job, profile, options).write();
}

}  // namespace distsim::report
