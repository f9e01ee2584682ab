// Sensitivities as CSV, text, JSON and HTML.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/json/json_text.hpp"
#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "sim/report/html/page.hpp"
#include "sim/report/text/format.hpp"
#include "sim/study/sensitivity/sensitivity.hpp"

namespace distsim::study {
namespace {

std::string factor_text(double factor) { return std::isinf(factor) ? "inf" : fmt::format("{:g}", factor); }

/// Changes below this read as 0.0 %.
constexpr double kSeen = 0.0005;

/// The experiment's title, or model and machine.
std::string subject_of(const report::ReportContext& c) {
  return printable(c.title.empty() ? c.model + " on " + report::machine_text(c) : c.title, 200);
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
  return line + fmt::format("{:>11}\n", r.elasticity ? fmt::format("{:.2f}", *r.elasticity) : "-");
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
  if (out.empty())
    out.emplace_back(s.some_only
                         ? "None of the resources asked for makes the iteration shorter where it is twice as good."
                         : "No resource that is twice as good makes the iteration shorter.");
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
  return {
      {"resource", r.resource->name}, {"level", name_of(r.resource->level)},
      {"keys", r.resource->keys},     {"elasticity", r.elasticity ? nlohmann::json(*r.elasticity) : nlohmann::json()},
      {"points", std::move(points)},  {"note", r.note}};
}

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
                       r.elasticity ? fmt::format("{:.4f}", *r.elasticity) : "", p.limited_by, p.error});
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
  return json_text(nlohmann::json{{"schema_version", 1},
                                  {"title", s.base.context.title},
                                  {"iteration_ms", s.base.iteration.ms()},
                                  {"resources", std::move(resources)},
                                  {"pairs", std::move(pairs)}},
                   2) +
         "\n";
}

std::string sensitivity_html(const Sensitivity& s) {
  const std::string title = subject_of(s.base.context) + ": what would help most";
  const nlohmann::json head{{"kind", "sensitivity"}, {"title", title}, {"sentences", sentences(s)}};
  std::string data = json_text(head);
  data.back() = ',';
  return report::page_html({title, data + "\"result\":" + sensitivity_json(s) + "}", sensitivity_text(s)});
}

}  // namespace distsim::study
