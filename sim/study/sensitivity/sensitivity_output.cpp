// Sensitivities as CSV, text, JSON and HTML.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/json/json.hpp"
#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "sim/report/html/parts.hpp"
#include "sim/report/text/format.hpp"
#include "sim/study/sensitivity/sensitivity.hpp"

namespace distsim::study {
namespace {

std::string factor_text(double factor) { return std::isinf(factor) ? "inf" : fmt::format("{:g}", factor); }

/// Changes below this read as 0.0 %.
constexpr double kSeen = 0.0005;

/// The experiment's title, or model and machine.
std::string subject_of(const report::ReportContext& c) {
  return c.title.empty() ? c.model + " on " + report::machine_text(c) : printable(c.title, 200);
}

std::string signed_percent(double change) {
  return std::abs(change) < kSeen ? "0.0 %" : fmt::format("{:+.1f} %", 100 * change);
}

std::string limiter_text(const std::optional<report::Limiter>& limiter) {
  return limiter ? ", limited by " + report::text_of(*limiter) : "";
}

/// "-31.0 % (3.00 -> 2.07 ms)"
std::string change_text(const Sensitivity& s, Duration iteration) {
  const report::TimeScale scale = report::time_scale(s.base.iteration);
  return fmt::format("{} ({} -> {} {})", signed_percent(s.change(iteration)), scale.text(s.base.iteration),
                     scale.text(iteration), scale.unit);
}

/// The points that were asked for.
std::vector<ResourcePoint> points_shown(const Sensitivity& s, const ResourceSensitivity& r) {
  std::vector<ResourcePoint> out;
  for (const double factor : s.factors) out.push_back(r.at(factor));
  return out;
}

/// Heading of a factor's column.
std::string heading_of(double factor) { return std::isinf(factor) ? "no limit" : fmt::format("x{:g}", factor); }

/// Whether a resource changes anything that is seen in the text.
bool matters(const Sensitivity& s, const ResourceSensitivity& r) {
  return std::ranges::any_of(
      r.points, [&](const ResourcePoint& p) { return !p.error.empty() || std::abs(s.change(p.iteration)) >= kSeen; });
}

std::string resource_line(const Sensitivity& s, const ResourceSensitivity& r) {
  std::string line = fmt::format("  {:<24}", r.resource->words);
  for (const ResourcePoint& p : points_shown(s, r))
    line += fmt::format("{:>10}", p.error.empty() ? signed_percent(s.change(p.iteration)) : "-");
  return line + fmt::format("{:>11.2f}\n", r.elasticity);
}

std::string sentence(const Sensitivity& s, const ResourceSensitivity& r) {
  const ResourcePoint& twice = r.at(2);
  std::string out = fmt::format("2x {}: {}", r.resource->words, change_text(s, twice.iteration));
  if (!r.note.empty()) out += ", with " + r.note;
  if (!twice.limited_by.empty()) out += "; then limited by " + twice.limited_by;
  return out;
}

std::vector<std::string> sentences(const Sensitivity& s) {
  std::vector<std::string> out;
  for (const ResourceSensitivity& r : s.resources) {
    const ResourcePoint& twice = r.at(2);
    if (twice.error.empty() && s.change(twice.iteration) <= -kSeen) out.push_back(sentence(s, r));
  }
  for (const ResourcePair& p : s.pairs) {
    out.push_back(fmt::format("2x {} and 2x {} together: {}; one by one {} and {}", p.first->words, p.second->words,
                              change_text(s, p.both), signed_percent(s.change(p.first_only)),
                              signed_percent(s.change(p.second_only))));
  }
  if (out.empty()) out.emplace_back("No resource that is twice as good makes the iteration shorter.");
  return out;
}

std::string errors(const Sensitivity& s) {
  std::string out;
  for (const ResourceSensitivity& r : s.resources) {
    for (const ResourcePoint& p : points_shown(s, r)) {
      if (!p.error.empty()) out += fmt::format("  {}x {}: {}\n", factor_text(p.factor), r.resource->words, p.error);
    }
  }
  return out;
}

nlohmann::json json_of(const Sensitivity& s, const ResourceSensitivity& r) {
  nlohmann::json points = nlohmann::json::array();
  for (const ResourcePoint& p : points_shown(s, r)) {
    nlohmann::json point{{"factor", std::isinf(p.factor) ? nlohmann::json("inf") : nlohmann::json(p.factor)}};
    if (p.error.empty()) {
      point["iteration_ms"] = p.iteration.ms();
      point["delta_percent"] = 100 * s.change(p.iteration);
      point["limited_by"] = p.limited_by;
    } else {
      point["error"] = p.error;
    }
    points.push_back(std::move(point));
  }
  return {{"resource", r.resource->name}, {"level", name_of(r.resource->level)}, {"keys", r.resource->keys},
          {"elasticity", r.elasticity},   {"points", std::move(points)},         {"note", r.note}};
}

/// A bar from x0.5 to without limit around the iteration as it is.
std::string bar_of(const Sensitivity& s, const ResourceSensitivity& r, double widest) {
  const auto width = [&](double factor) {
    const ResourcePoint& p = r.at(factor);
    return p.error.empty() ? std::clamp(std::abs(s.change(p.iteration)) / widest, 0.0, 1.0) * 50 : 0;
  };
  const double worse = width(0.5), twice = width(2), best = width(kFactors.back());
  return fmt::format(
      "<div class=\"tornado\"><i class=\"idle\" style=\"left:{:.2f}%;width:{:.2f}%\"></i>"
      "<i class=\"forward\" style=\"left:{:.2f}%;width:{:.2f}%\"></i><i class=\"waiting\" style=\"left:50%;width:{:.2f}%\"></i></div>",
      50 - best, std::max(0.0, best - twice), 50 - twice, twice, worse);
}

double widest_change(const Sensitivity& s) {
  double widest = 1e-9;
  for (const ResourceSensitivity& r : s.resources) {
    for (const double factor : {0.5, 2.0, kFactors.back()}) {
      if (r.at(factor).error.empty()) widest = std::max(widest, std::abs(s.change(r.at(factor).iteration)));
    }
  }
  return widest;
}

std::string html_row(const Sensitivity& s, const ResourceSensitivity& r, double widest) {
  std::string row = "<tr><td>" + report::html::escaped(r.resource->words) + "</td>";
  for (const ResourcePoint& p : points_shown(s, r))
    row += "<td class=\"n\">" + (p.error.empty() ? signed_percent(s.change(p.iteration)) : std::string("&ndash;")) +
           "</td>";
  return row + fmt::format("<td class=\"n\">{:.2f}</td><td class=\"wide\">{}</td><td>{}</td></tr>\n", r.elasticity,
                           bar_of(s, r, widest), report::html::escaped(r.at(2).limited_by));
}

constexpr const char* kTornadoStyle =
    ".tornado{position:relative;height:1em;min-width:16em}.tornado i{position:absolute;top:.1em;bottom:.1em}"
    "td.n,td:first-child{white-space:nowrap}td.wide{width:40%}";

}  // namespace

std::string sensitivity_csv(const Sensitivity& s) {
  std::string out =
      csv_line({"resource", "level", "factor", "iteration_ms", "delta_percent", "elasticity", "limited_by", "error"});
  for (const ResourceSensitivity& r : s.resources) {
    for (const ResourcePoint& p : points_shown(s, r)) {
      const bool ok = p.error.empty();
      out += csv_line({std::string(r.resource->name), std::string(name_of(r.resource->level)), factor_text(p.factor),
                       ok ? fmt::format("{:.6f}", p.iteration.ms()) : "",
                       ok ? fmt::format("{:.3f}", 100 * s.change(p.iteration)) : "",
                       fmt::format("{:.4f}", r.elasticity), p.limited_by, p.error});
    }
  }
  return out;
}

std::string sensitivity_text(const Sensitivity& s) {
  std::string out = fmt::format("{}: {} per iteration{}\n\n", subject_of(s.base.context),
                                report::time_text(s.base.iteration), limiter_text(s.base.limits.limited_by));
  out += "What would help most\n";
  for (const std::string& line : sentences(s)) out += "  " + line + "\n";
  out += fmt::format("\nChange of the iteration\n  {:<24}", "resource");
  for (const double factor : s.factors) out += fmt::format("{:>10}", heading_of(factor));
  out += fmt::format("{:>11}\n", "elasticity");
  std::string without;
  for (const ResourceSensitivity& r : s.resources) {
    if (matters(s, r))
      out += resource_line(s, r);
    else
      without += (without.empty() ? "" : ", ") + std::string(r.resource->words);
  }
  if (!without.empty()) out += "\nNo effect at any of these factors: " + without + "\n";
  const std::string failed = errors(s);
  return failed.empty() ? out : out + "\nNot predicted\n" + failed;
}

std::string sensitivity_json(const Sensitivity& s) {
  nlohmann::json resources = nlohmann::json::array(), pairs = nlohmann::json::array();
  for (const ResourceSensitivity& r : s.resources) resources.push_back(json_of(s, r));
  for (const ResourcePair& p : s.pairs) {
    pairs.push_back({{"resources", {p.first->name, p.second->name}},
                     {"factor", 2},
                     {"iteration_ms", p.both.ms()},
                     {"alone_ms", {p.first_only.ms(), p.second_only.ms()}}});
  }
  return nlohmann::json{{"schema_version", 1},
                        {"title", s.base.context.title},
                        {"iteration_ms", s.base.iteration.ms()},
                        {"resources", std::move(resources)},
                        {"pairs", std::move(pairs)}}
             .dump(2) +
         "\n";
}

std::string sensitivity_html(const Sensitivity& s) {
  const std::string title = report::html::escaped(subject_of(s.base.context));
  std::string rows, list, headings;
  for (const double factor : s.factors) headings += "<th>" + heading_of(factor) + "</th>";
  const double widest = widest_change(s);
  for (const ResourceSensitivity& r : s.resources) rows += html_row(s, r, widest);
  for (const std::string& line : sentences(s)) list += "<li>" + report::html::escaped(line) + "</li>";
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>" +
         title + ": what would help most</title><style>" + std::string(report::html::style()) + kTornadoStyle +
         "</style></head><body><main>\n<h1>" + title + ": what would help most</h1>\n<p>" +
         report::html::escaped(report::time_text(s.base.iteration)) + " per iteration.</p>\n<section><ul>" + list +
         "</ul></section>\n<section><h2>Change of the iteration</h2><table><tr><th>resource</th>" + headings +
         "<th>elasticity</th><th>no limit and x2 (left), x0.5 (right)</th><th>at x2 limited by</th></tr>\n" + rows +
         "</table></section><footer>Predicted by distsim.</footer></main></body></html>\n";
}

}  // namespace distsim::study
