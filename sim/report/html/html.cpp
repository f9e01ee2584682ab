#include "sim/report/html/html.hpp"

#include <algorithm>
#include <array>

#include "base/text/counted.hpp"
#include "sim/report/html/parts.hpp"
#include "sim/report/picture/pipeline_picture.hpp"
#include "sim/report/text/format.hpp"

namespace distsim::report {
namespace {

using html::Colour;
using html::escaped;

std::string fact(const std::string& value, const std::string& what) {
  return "<div><b>" + value + "</b><span>" + what + "</span></div>";
}

/// In the unit of the iteration.
std::string with_unit(const Report& r, Duration d) { return html::in_unit(r, d) + " " + time_scale(r.iteration).unit; }

std::string memory_fact(const ReportContext& c) {
  if (c.memory_per_rank.empty()) return fact("&ndash;", "memory per GPU");
  const auto most = static_cast<double>(*std::ranges::max_element(c.memory_per_rank));
  const std::string of = c.memory_capacity > 0 ? " of " + decimal_bytes(static_cast<double>(c.memory_capacity)) : "";
  return fact(decimal_bytes(most), "memory" + of + (c.memory_per_rank.size() > 1 ? ", fullest GPU" : " per GPU"));
}

std::string title_of(const ReportContext& c) {
  if (!c.title.empty()) return c.title;
  return c.model.empty() ? "Training iteration" : c.model + " on " + c.system;
}

std::string header(const Report& r) {
  const ReportContext& c = r.context;
  std::string under = escaped(machine_text(c));
  for (const std::string* part : {&c.system, &c.model, &c.framework}) {
    if (!part->empty()) under += " &middot; " + escaped(*part);
  }
  std::string out = "<header><h1>" + escaped(title_of(c)) + "</h1><p>" + under + "</p></header><div class=\"facts\">";
  out +=
      fact(time_text(r.iteration), "per iteration, range " + html::in_unit(r, r.low) + " to " + with_unit(r, r.high));
  out += fact(c.samples > 0 ? count_text(r.samples_per_second) : "&ndash;", "samples per second");
  out += fact(std::to_string(r.rank_count), std::string(agreeing(r.rank_count, "GPU", "GPUs")));
  out += fact(r.mfu > 0 ? fixed(100 * r.mfu, 1) + " %" : "&ndash;",
              "MFU, " + fixed(r.achieved_flops_per_gpu * 1e-12, 2) + " TFLOP/s per GPU");
  return out + memory_fact(c) + "</div>";
}

/// "limited by network; next compute, 0.31 ms behind".
std::string limit(const Report& r) {
  const Limits& l = r.limits;
  if (!l.limited_by) return "";
  std::string out = "<p>Limited by <b>" + escaped(text_of(*l.limited_by)) + "</b>";
  if (l.runner_up) out += "; next: " + escaped(text_of(*l.runner_up)) + ", " + with_unit(r, l.slack) + " behind";
  return out + ".</p>";
}

struct Part {
  std::string_view name;
  html::Colour colour;
  Duration time;
};

std::string section(const std::string& title, const std::string& body) {
  return body.empty() ? "" : "<section><h2>" + title + "</h2>" + body + "</section>";
}

std::string key(html::Colour colour, const std::string& text) {
  return "<span><i class=\"key " + std::string(html::css_of(colour)) + "\"></i>" + text + "</span>";
}

std::string split(const Report& r) {
  const std::array<Part, 5> parts{{{"compute", Colour::forward, r.compute},
                                   {"exposed communication", Colour::transfer, r.exposed_comm},
                                   {"waiting for other ranks", Colour::waiting, r.waiting},
                                   {"host-bound", Colour::host, r.host_bound},
                                   {"idle", Colour::idle, r.idle}}};
  std::string bar, legend;
  for (const Part& p : parts) {
    const std::string share = percent_text(static_cast<double>(p.time.ps()), static_cast<double>(r.iteration.ps()));
    bar += "<i class=\"" + std::string(html::css_of(p.colour)) + "\" style=\"width:" + share + "%\"></i>";
    legend += key(p.colour, std::string(p.name) + " <b>" + with_unit(r, p.time) + "</b> <em>" + share + " %</em>");
  }
  std::string out = limit(r) + "<div class=\"bar\">" + bar + "</div><div class=\"legend\">" + legend + "</div>";
  if (r.comm.ps() > 0) {
    out +=
        "<p class=\"note\">Communication takes " + with_unit(r, r.comm) + " in total, " +
        html::in_unit(r, r.hidden_comm) +
        " behind compute. Exposed is what the iteration would be shorter by without communication; the other parts are means over ranks.</p>";
  }
  return out;
}

std::string timeline(const Report& r, const Played& played, std::uint32_t max_ranks) {
  return html::timeline_picture(r, played, max_ranks) + "<div class=\"legend\">" + key(Colour::forward, "forward") +
         key(Colour::backward, "backward") + key(Colour::optimizer, "optimizer") +
         key(Colour::other, "input and other") + key(Colour::transfer, "transfer") +
         key(Colour::waiting, "waiting for other ranks") + key(Colour::host, "host") + "</div>";
}

std::string schedule(const Played& played, const graph::PipelineOrder* order) {
  return order == nullptr ? "" : pipeline_picture(played, *order, PictureUse::in_page);
}

std::string ranks(const Report& r) {
  const std::string picture = html::ranks_picture(r);
  if (picture.empty()) return "";
  const Duration slow = r.rank(r.slowest_rank).compute, fast = r.rank(r.fastest_rank).compute;
  return picture + "<p class=\"note\">Compute time is " + with_unit(r, fast) + " on rank " +
         std::to_string(r.fastest_rank) + " (fastest) and " + with_unit(r, slow) + " on rank " +
         std::to_string(r.slowest_rank) + " (slowest); the mean is " + with_unit(r, r.compute) + ".</p>";
}

std::string bases(const Report& r) {
  std::string out;
  for (const BasisShare& b : r.bases)
    out += "<span class=\"tag\">" + std::string(graph::name_of(b.basis)) + " " + escaped(whole_percent(b.share)) +
           " %</span> ";
  if (out.empty()) return "";
  return out +
         "<p class=\"note\">Share of the critical cycle by the basis of its times, most trusted first: measured, interpolated, extrapolated, "
         "scaled, learned, analytic.</p>";
}

std::string assumptions(const Report& r) {
  std::string items;
  for (const graph::Assumption& a : r.context.assumptions) items += "<li>" + escaped(a.text) + "</li>";
  return items.empty() ? "" : "<ul>" + items + "</ul>";
}

/// The sharding plan, which may have a line for each table.
std::string placement(const Report& r) {
  const std::string& plan = r.context.placement;
  if (plan.empty()) return "";
  std::string lines;
  for (std::size_t at = 0; at < plan.size();) {
    const std::size_t end = std::min(plan.find('\n', at), plan.size());
    lines += escaped(plan.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return "<details><summary>" + escaped(plan.substr(0, plan.find('\n'))) + "</summary><pre>" + lines +
         "</pre></details>";
}

}  // namespace

std::string to_html(const Report& r, const Played& played, const HtmlOptions& options) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>" +
      escaped(title_of(r.context)) + "</title><style>" + std::string(html::style()) + "</style></head><body><main>\n";
  out += header(r) + "\n";
  out += section("Where the time goes", split(r)) + "\n";
  out += section("Timeline", timeline(r, played, options.max_ranks)) + "\n";
  out += section("Schedule of the pipeline", schedule(played, options.pipeline));
  out +=
      section(
          r.cycle_closed
              ? "Critical cycle <small>the steps that repeat in each iteration and set its time: a shorter step here means a shorter iteration</small>"
              : "Critical path <small>the steps that lead from the start of the iteration to its end</small>",
          html::path_table(r)) +
      "\n";
  if (!r.ops.empty()) out += section("Compute by op kind <small>mean over ranks</small>", html::op_table(r)) + "\n";
  if (!r.collectives.empty())
    out += section("Collectives <small>mean over ranks</small>", html::collective_table(r)) + "\n";
  out += section("Ranks", ranks(r)) + "\n";
  out += section("Where the numbers come from", bases(r)) + "\n";
  out += section("Placement", placement(r)) + "\n";
  out += section("Assumptions", assumptions(r)) + "\n";
  return out + "<footer>Predicted by distsim.</footer></main></body></html>\n";
}

}  // namespace distsim::report
