// The tables of the HTML page.
#include <algorithm>
#include <vector>

#include "base/text/counted.hpp"
#include "sim/report/html/parts.hpp"
#include "sim/report/text/collective_table.hpp"
#include "sim/report/text/format.hpp"
#include "sim/report/text/path_table.hpp"

namespace distsim::report::html {
namespace {

constexpr std::size_t kPathRows = 12, kPathAll = 400;

std::string cell(const std::string& text, std::string_view css = "") {
  return css.empty() ? "<td>" + text + "</td>" : "<td class=\"" + std::string(css) + "\">" + text + "</td>";
}

/// Header cells; a leading '<' marks a column of text, which is aligned to the left.
std::string head(std::initializer_list<std::string> names) {
  std::string out = "<thead><tr>";
  for (const std::string& name : names) {
    const bool left = name.starts_with('<');
    out += (left ? "<th class=\"l\">" : "<th>") + name.substr(left ? 1 : 0) + "</th>";
  }
  return out + "</tr></thead>";
}

/// In the unit of the iteration.
std::string unit_of(const Report& r) { return time_scale(r.iteration).unit; }

std::string meter(const Report& r, Duration d, Colour colour) {
  return "<td class=\"share\"><span class=\"meter\"><i class=\"" + std::string(css_of(colour)) +
         "\" style=\"width:" + fixed(std::min(100.0, share_of(r, d)), 2) + "%\"></i></span></td>";
}

std::string tag(std::string_view text) { return "<span class=\"tag\">" + escaped(text) + "</span>"; }

std::string table(const std::string& inside) {
  return "<div class=\"scroll\"><table>" + inside + "</tbody></table></div>";
}

std::string path_row(const Report& r, std::string_view name, const std::string& where, const std::string& rank,
                     std::uint32_t steps, Duration time, Colour colour) {
  return "<tr>" + cell(escaped(name)) + cell(where, "l soft") + cell(rank) + cell(std::to_string(steps)) +
         cell(in_unit(r, time)) + cell(fixed(share_of(r, time), 1)) + meter(r, time, colour) + "</tr>";
}

std::string full_path(const Report& r) {
  std::string rows;
  const std::size_t shown = std::min(r.critical_path.size(), kPathAll);
  for (std::size_t i = 0; i < shown; ++i) {
    const CriticalStep& s = r.critical_path[i];
    rows += path_row(r, s.name, escaped(s.kind) + ", " + std::string(graph::name_of(s.basis)), std::to_string(s.rank),
                     s.steps, s.time, colour_of(s.phase, is_comm(s.stream)));
  }
  const std::string all =
      r.critical_path.size() == 1 ? "The only step" : "All " + counted(r.critical_path.size(), "step");
  std::string out = "<details><summary>" + all + "</summary>" +
                    table(head({"<step", "<kind, basis", "rank", "steps", unit_of(r), "%", ""}) + "<tbody>" + rows);
  if (r.critical_path.size() > shown)
    out += "<p class=\"note\">The first " + std::to_string(shown) + " are listed; the JSON report has all of them.</p>";
  return out + "</details>";
}

}  // namespace

std::string op_table(const Report& r) {
  std::string rows;
  for (const OpKindTime& op : r.ops) {
    rows += "<tr>" + cell(escaped(op.kind)) + cell(in_unit(r, op.time)) + cell(fixed(share_of(r, op.time), 1)) +
            cell(std::to_string(op.kernels)) + cell(op.tflops > 0 ? fixed(op.tflops, 2) : "&ndash;") +
            meter(r, op.time, Colour::forward) + "</tr>";
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
    const std::string where =
        run.phase ? std::string(graph::name_of(run.stream)) + ", " + phase_text(run.phase) : "host";
    rows += path_row(r, run.name, where, path.rank_text(run), run.steps, run.time,
                     colour_of(run.phase, is_comm(run.stream)));
  }
  if (path.left_out > 0) {
    const Duration rest = r.iteration - path.shown;
    rows += "<tr><td class=\"soft\">" + path.left_out_text() + "</td><td></td><td></td><td></td>" +
            cell(in_unit(r, rest)) + cell(fixed(share_of(r, rest), 1)) + meter(r, rest, Colour::idle) + "</tr>";
  }
  const std::string note = host_note(r);
  return table(head({path.by_cause ? "<cause" : "<step", "<stream, phase", "rank", "steps", unit_of(r), "%", ""}) +
               "<tbody>" + rows) +
         (note.empty() ? "" : "<p class=\"note\">" + escaped(note) + "</p>") + full_path(r);
}

}  // namespace distsim::report::html
