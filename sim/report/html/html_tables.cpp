#include <algorithm>
#include <vector>

#include "base/text/markup.hpp"
#include "base/text/printable.hpp"
#include "sim/report/html/html_parts.hpp"
#include "sim/report/text/format.hpp"
#include "sim/report/text/text_collectives.hpp"

namespace distsim::report::html {
namespace {

constexpr std::size_t kPathRows = 12, kPathAll = 400;

std::string cell(const std::string& text, std::string_view css = "") {
  return css.empty() ? "<td>" + text + "</td>" : "<td class=\"" + std::string(css) + "\">" + text + "</td>";
}

/// Header cells; a leading '<' marks a column of text, which stands on the left.
std::string head(std::initializer_list<std::string> names) {
  std::string out = "<thead><tr>";
  for (const std::string& name : names) {
    const bool left = name.starts_with('<');
    out += (left ? "<th class=\"l\">" : "<th>") + name.substr(left ? 1 : 0) + "</th>";
  }
  return out + "</tr></thead>";
}

/// In the unit of the iteration.
std::string in_unit(const Report& r, Duration d) { return time_scale(r.iteration).text(d); }

std::string unit_of(const Report& r) { return time_scale(r.iteration).unit; }

double share_of(const Report& r, Duration d) {
  return r.iteration.ps() > 0 ? 100.0 * static_cast<double>(d.ps()) / static_cast<double>(r.iteration.ps()) : 0;
}

std::string meter(const Report& r, Duration d, std::string_view css) {
  return "<td class=\"share\"><span class=\"meter\"><i class=\"" + std::string(css) +
         "\" style=\"width:" + fixed(std::min(100.0, share_of(r, d)), 2) + "%\"></i></span></td>";
}

std::string tag(std::string_view text) { return "<span class=\"tag\">" + escaped(text) + "</span>"; }

std::string table(const std::string& inside) {
  return "<div class=\"scroll\"><table>" + inside + "</tbody></table></div>";
}

std::string path_row(const Report& r, std::string_view name, const std::string& where, const std::string& rank,
                     std::uint32_t steps, Duration time, std::string_view css) {
  return "<tr>" + cell(escaped(name)) + cell(where, "l soft") + cell(rank) + cell(std::to_string(steps)) +
         cell(in_unit(r, time)) + cell(fixed(share_of(r, time), 1)) + meter(r, time, css) + "</tr>";
}

std::string full_path(const Report& r) {
  std::string rows;
  const std::size_t shown = std::min(r.critical_path.size(), kPathAll);
  for (std::size_t i = 0; i < shown; ++i) {
    const CriticalStep& s = r.critical_path[i];
    rows += path_row(r, s.name, escaped(s.kind) + ", " + std::string(graph::name_of(s.basis)), std::to_string(s.rank),
                     s.steps, s.time, colour_class(s.phase, is_comm(s.stream)));
  }
  std::string out = "<details><summary>All " + std::to_string(r.critical_path.size()) + " steps</summary>" +
                    table(head({"<step", "<kind, basis", "rank", "steps", unit_of(r), "%", ""}) + "<tbody>" + rows);
  if (r.critical_path.size() > shown)
    out += "<p class=\"note\">The first " + std::to_string(shown) + " are listed; the JSON report has all of them.</p>";
  return out + "</details>";
}

}  // namespace

bool is_comm(std::string_view stream) { return stream.starts_with("comm") || stream.starts_with("p2p"); }

std::string escaped(std::string_view text) { return in_markup(one_line(text)); }

std::string_view colour_class(std::string_view phase, bool collective) {
  if (collective) return "transfer";
  if (phase == "host") return "host";
  if (phase == "forward" || phase == "backward" || phase == "optimizer") return phase;
  return "other";
}

std::string op_table(const Report& r) {
  std::string rows;
  for (const OpKindTime& op : r.ops) {
    rows += "<tr>" + cell(escaped(op.kind)) + cell(in_unit(r, op.time)) + cell(fixed(share_of(r, op.time), 1)) +
            cell(std::to_string(op.kernels)) + cell(op.tflops > 0 ? fixed(op.tflops, 2) : "&ndash;") +
            meter(r, op.time, "forward") + "</tr>";
  }
  return table(head({"<op kind", unit_of(r), "% of iteration", "kernels", "TFLOP/s", ""}) + "<tbody>" + rows);
}

std::string collective_table(const Report& r) {
  const std::string unit = unit_of(r);
  std::string rows;
  for (const CollectiveTime& c : r.collectives) {
    rows += "<tr>" + cell(escaped(c.name)) + cell(escaped(c.kind), "l soft") + cell(std::to_string(c.group_size)) +
            cell(size_text(c)) + cell(in_unit(r, c.total)) + cell(in_unit(r, c.exposed)) + cell(in_unit(r, c.waiting)) +
            cell(c.busbw > 0 ? fixed(c.busbw * 1e-9, 1) : "&ndash;") + "<td class=\"l\" title=\"" + escaped(c.source) +
            "\">" + tag(graph::name_of(c.basis)) + "</td></tr>";
  }
  return table(head({"<collective", "<kind", "ranks", "size", "transfer " + unit, "exposed " + unit, "waiting " + unit,
                     "bus GB/s", "<basis"}) +
               "<tbody>" + rows);
}

std::string path_table(const Report& r) {
  const PathTable path = report::path_table(r.critical_path, kPathRows);
  std::string rows;
  for (const PathRun& run : path.rows) {
    const std::string where = run.phase == "host" ? "host" : escaped(run.stream) + ", " + phase_text(run.phase);
    rows += path_row(r, run.name, where, path.rank_text(run), run.steps, run.time,
                     colour_class(run.phase, is_comm(run.stream)));
  }
  if (path.left_out > 0) {
    const Duration rest = r.iteration - path.shown;
    rows += "<tr><td class=\"soft\">" + path.left_out_text() + "</td><td></td><td></td><td></td>" +
            cell(in_unit(r, rest)) + cell(fixed(share_of(r, rest), 1)) + meter(r, rest, "idle") + "</tr>";
  }
  const std::string note = host_note(r);
  return table(head({path.by_cause ? "<cause" : "<step", "<stream, phase", "rank", "steps", unit_of(r), "%", ""}) +
               "<tbody>" + rows) +
         (note.empty() ? "" : "<p class=\"note\">" + escaped(note) + "</p>") + full_path(r);
}

}  // namespace distsim::report::html
