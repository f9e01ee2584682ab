// The report as text for a terminal.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text/counted.hpp"
#include "sim/report/report.hpp"
#include "sim/report/text/collective_table.hpp"
#include "sim/report/text/columns.hpp"
#include "sim/report/text/format.hpp"
#include "sim/report/text/path_table.hpp"
#include "sim/report/text/split_model.hpp"

namespace distsim::report {
namespace {

constexpr std::size_t kOpRows = 7, kCollectiveRows = 6, kPathRows = 9, kAssumptionLines = 4;

struct Column {
  std::size_t width;
  bool left = false;
};

class Writer {
 public:
  Writer(const Report& report, int width, bool colour)
      : r_(report),
        scale_(time_scale(report.iteration)),
        width_(static_cast<std::size_t>(std::clamp(width, 60, 400))),
        colour_(colour) {}

  std::string write() {
    headline();
    bar();
    ops();
    collectives();
    path();
    footer();
    return std::move(out_);
  }

 private:
  void line(std::string text) {
    text = shortened(text, width_);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out_ += text + "\n";
  }

  /// Cells right-aligned but for those marked left.
  void row(const std::vector<std::string>& cells, const std::vector<Column>& columns) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) text += "  ";
      text += columns[i].left ? padded(cells[i], columns[i].width) : padded_left(cells[i], columns[i].width);
    }
    line(text);
  }

  /// What a table's first column may take where the others take `others` columns of text.
  std::size_t left_of(std::size_t others) const {
    return std::max<std::size_t>(12, width_ > others ? width_ - others : 0);
  }

  /// In the unit of the iteration.
  std::string in_unit(Duration d) const { return scale_.text(d); }
  std::string share(Duration d) const {
    return percent_text(static_cast<double>(d.ps()), static_cast<double>(r_.iteration.ps()));
  }

  void headline() {
    const ReportContext& c = r_.context;
    const std::string time =
        time_text(r_.iteration) + " per iteration (" + in_unit(r_.low) + " .. " + in_unit(r_.high) + ")";
    limits(time);
    line((c.samples > 0 ? count_text(r_.samples_per_second) + " samples/s on " : "") + machine_text(c));
    std::string what;
    for (const std::string* part : {&c.title, &c.model, &c.system, &c.framework}) {
      if (!part->empty()) what += (what.empty() ? "" : ", ") + one_line(*part);
    }
    if (!what.empty()) line(what);
    if (r_.achieved_flops_per_gpu > 0) {
      line("achieved " + fixed(r_.achieved_flops_per_gpu * 1e-12, 2) + " TFLOP/s per GPU" +
           (c.peak_flops > 0
                ? ", MFU " + fixed(100 * r_.mfu, 1) + " % of " + fixed(c.peak_flops * 1e-12, 0) + " TFLOP/s"
                : ""));
    }
    if (c.repeated_flops > 0) {
      line("with recomputation " + fixed(r_.hardware_flops_per_gpu * 1e-12, 2) + " TFLOP/s per GPU" +
           (c.peak_flops > 0 ? ", HFU " + fixed(100 * r_.hfu, 1) + " %" : ""));
    }
    for (const std::string& text : split_model_lines(r_)) line(text);
    line("");
  }

  /// "..., limited by: network; next: compute, 0.31 ms behind", what comes next on a line of its own where there is no
  /// room for it.
  void limits(std::string text) {
    const Limits& l = r_.limits;
    if (l.limited_by) text += ", limited by: " + text_of(*l.limited_by);
    const std::string next =
        l.runner_up ? "next: " + text_of(*l.runner_up) + ", " + in_unit(l.slack) + " " + scale_.unit + " behind" : "";
    const bool fits = text.size() + 2 + next.size() <= width_;
    if (fits && !next.empty()) text += "; " + next;
    for (std::string& part : wrapped(text, width_)) line(std::move(part));
    if (!fits && !next.empty()) line("  " + next);
  }

  struct Part {
    const char* name;
    Duration time;
    char mark;
    const char* colour;
  };
  std::array<Part, 5> parts() const {
    return {{{"compute", r_.compute, '#', "\033[32m"},
             {"exposed comm", r_.exposed_comm, '=', "\033[33m"},
             {"waiting", r_.waiting, '-', "\033[36m"},
             {"host", r_.host_bound, '~', "\033[35m"},
             {"idle", r_.idle, '.', "\033[90m"}}};
  }

  void bar() {
    std::string sum = "iteration " + time_text(r_.iteration) + " = ", cells;
    const std::size_t width = width_ - 2;
    Duration done;
    for (const Part& p : parts()) {
      if (p.mark != '#') sum += " + ";
      sum += std::string(p.name) + " " + in_unit(p.time);
      const std::size_t from = cell_of(done, width);
      done += p.time;
      const std::string mark(cell_of(done, width) - from, p.mark);
      cells += colour_ && !mark.empty() ? p.colour + mark + "\033[0m" : mark;
    }
    for (std::string& part : wrapped(sum, width_)) line(std::move(part));
    if (r_.iteration.ps() > 0) out_ += "[" + cells + "]\n";
    line("  # compute   = exposed communication   - waiting for other ranks   ~ host   . idle");
    if (r_.comm.ps() > 0) {
      line("communication " + in_unit(r_.comm) + " " + scale_.unit + " in total, " + in_unit(r_.hidden_comm) +
           " behind compute; without it the iteration would take " + in_unit(r_.iteration - r_.exposed_comm));
    }
    line("");
  }

  std::size_t cell_of(Duration d, std::size_t width) const {
    if (r_.iteration.ps() <= 0) return 0;
    return static_cast<std::size_t>(
        static_cast<double>(d.ps()) / static_cast<double>(r_.iteration.ps()) * static_cast<double>(width) + 0.5);
  }

  void ops() {
    if (r_.ops.empty()) return;
    const std::vector<Column> columns{{30, true}, {9}, {6}, {8}, {9}};
    row({"compute by op kind", scale_.unit, "%", "kernels", "TFLOP/s"}, columns);
    Duration rest;
    std::uint32_t kernels = 0;
    for (std::size_t i = 0; i < r_.ops.size(); ++i) {
      const OpKindTime& op = r_.ops[i];
      if (i >= kOpRows && r_.ops.size() > kOpRows + 1) {
        rest += op.time;
        kernels += op.kernels;
        continue;
      }
      row({"  " + op.kind, in_unit(op.time), share(op.time), std::to_string(op.kernels),
           op.tflops > 0 ? fixed(op.tflops, 2) : "-"},
          columns);
    }
    if (rest.ps() > 0)
      row({"  " + counted(r_.ops.size() - kOpRows, "more kind"), in_unit(rest), share(rest), std::to_string(kernels),
           "-"},
          columns);
    line("");
  }

  void collectives() {
    if (r_.collectives.empty()) return;
    for (std::string& text : collective_lines(r_, width_, kCollectiveRows)) line(std::move(text));
    line("");
  }

  void path() {
    const PathTable table = path_table(r_.critical_path, kPathRows);
    if (table.rows.empty()) return;
    const std::vector<Column> columns{{left_of(43), true}, {7, true}, {7}, {5}, {9}, {5}};
    const std::string name = r_.cycle_closed ? "critical cycle" : "critical path";
    row({name + (table.by_cause ? ", by cause" : ""), "stream", "rank", "steps", scale_.unit, "%"}, columns);
    for (const PathRun& run : table.rows) {
      const std::string run_name = "  " + (run.phase ? phase_text(run.phase) + ": " : "") + one_line(run.name);
      row({shortened_inside(run_name, columns.front().width), std::string(graph::name_of(run.stream)),
           table.rank_text(run), std::to_string(run.steps), in_unit(run.time), share(run.time)},
          columns);
    }
    if (table.left_out > 0) {
      const Duration rest = r_.iteration - table.shown;
      row({"  " + table.left_out_text(), "", "", "", in_unit(rest), share(rest)}, columns);
    }
    for (const std::string& part : wrapped(host_note(r_), width_ - 2)) line("  " + part);
    line("");
  }

  void trials() {
    const TrialTimes& t = r_.trials;
    if (t.trials == 0) return;
    line("trials   P10 " + in_unit(t.p10) + ", P50 " + in_unit(t.p50) + ", P90 " + in_unit(t.p90) + ", P99 " +
         in_unit(t.p99) + " " + scale_.unit + " over " + counted(t.trials, "run") + " with randomized speeds (seed " +
         std::to_string(t.seed) + ")");
  }

  void footer() {
    trials();
    ranks();
    memory();
    std::string mix;
    for (const BasisShare& b : r_.bases)
      mix += (mix.empty() ? "" : ", ") + std::string(graph::name_of(b.basis)) + " " + whole_percent(b.share) + " %";
    if (!mix.empty()) line("basis    " + mix + " of the critical cycle");
    placement();
    assumptions();
  }

  /// The first line of the sharding plan; all of it is in the JSON and the page.
  void placement() {
    const std::string& plan = r_.context.placement;
    if (plan.empty()) return;
    const std::size_t lines =
        static_cast<std::size_t>(std::count(plan.begin(), plan.end(), '\n')) + (plan.back() != '\n' ? 1 : 0);
    line("layout   " + one_line(plan.substr(0, plan.find('\n'))) +
         (lines > 1 ? " (+" + counted(lines - 1, "line") + ", see --json)" : ""));
  }

  void ranks() {
    if (r_.ranks.size() <= 1) {
      if (r_.rank_count > 1) line("ranks    all " + counted(r_.rank_count, "rank") + " have identical times");
      return;
    }
    const Duration slow = r_.rank(r_.slowest_rank).compute, fast = r_.rank(r_.fastest_rank).compute;
    line("ranks    compute " + in_unit(fast) + " .. " + in_unit(slow) + " " + scale_.unit + ", mean " +
         in_unit(r_.compute) + "; slowest rank " + std::to_string(r_.slowest_rank) + " (+" +
         percent_text(static_cast<double>((slow - r_.compute).ps()), static_cast<double>(r_.compute.ps())) +
         " %), fastest rank " + std::to_string(r_.fastest_rank));
  }

  void memory() {
    const auto& memory = r_.context.memory_per_rank;
    if (memory.empty()) return;
    const auto most = std::ranges::max_element(memory);
    std::string text = "memory   " + decimal_bytes(static_cast<double>(*most));
    if (r_.context.memory_capacity > 0) {
      text += " of " + decimal_bytes(static_cast<double>(r_.context.memory_capacity)) + " (" +
              percent_text(static_cast<double>(*most), static_cast<double>(r_.context.memory_capacity)) + " %)";
    }
    line(text +
         (memory.size() > 1 ? " on the fullest GPU, rank " + std::to_string(most - memory.begin()) : " on every GPU"));
  }

  void assumptions() {
    std::vector<std::string> lines;
    for (const graph::Assumption& a : r_.context.assumptions) {
      for (std::string& part : wrapped("- " + one_line(a.text), width_ - 9)) lines.push_back(std::move(part));
    }
    const std::size_t shown = std::min(lines.size(), kAssumptionLines);
    for (std::size_t i = 0; i < shown; ++i) line((i == 0 ? "assumes  " : "         ") + lines[i]);
    if (lines.size() > shown) line("         (" + counted(lines.size() - shown, "more line") + ", see --json)");
  }

  const Report& r_;
  const TimeScale scale_;
  const std::size_t width_;
  const bool colour_;
  std::string out_;
};

}  // namespace

std::string to_text(const Report& report, int width, bool colour) { return Writer(report, width, colour).write(); }

}  // namespace distsim::report
