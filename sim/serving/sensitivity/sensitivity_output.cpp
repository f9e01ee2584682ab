// Sensitivities of serving as CSV, text, JSON and HTML.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/json/json_text.hpp"
#include "base/text/columns.hpp"
#include "base/text/csv.hpp"
#include "base/text/markup.hpp"
#include "base/text/printable.hpp"
#include "sim/serving/sensitivity/sensitivity.hpp"

namespace distsim::serving {
namespace {

constexpr double kSeenChange = 0.0005;  ///< smaller changes read as 0.0 %

std::string factor_word(double factor) { return std::isinf(factor) ? "inf" : fmt::format("{:g}", factor); }
std::string factor_heading(double factor) { return std::isinf(factor) ? "no limit" : fmt::format("x{:g}", factor); }
std::string percent(double change) {
  return std::abs(change) < kSeenChange ? "0.0 %" : fmt::format("{:+.1f} %", 100 * change);
}

/// "-31.0 +- 1.2 % (3.00 -> 2.07 ms)", or, of a figure that was 0, the values alone.
std::string change_words(const Change& c, double before, const char* unit) {
  const std::string half = c.half_width < kSeenChange ? "" : fmt::format(" +- {:.1f}", 100 * c.half_width);
  const std::string values = fmt::format("{:.4g} -> {:.4g} {}", before, c.value, unit);
  return c.known ? fmt::format("{:+.1f}{} % ({})", 100 * c.change, half, values) : values;
}

/// A figure of the experiment and of its points, and which way it becomes better.
struct Figure {
  Change SensitivityPoint::*of;
  double before;
  double sign;
  const char* unit;

  /// The change in the wanted direction: relative, or, of what shall rise and was 0 with some seed of the experiment and so for
  /// all points, the difference.
  double gain(const SensitivityPoint& p) const {
    const Change& c = p.*of;
    if (!p.error.empty()) return 0;
    return c.known ? sign * c.change : sign > 0 ? c.difference : 0;
  }
  /// By more than its interval.
  bool is_better(const SensitivityPoint& p) const {
    const Change& c = p.*of;
    return gain(p) > (c.known ? std::max(kSeenChange, c.half_width) : c.difference_half_width);
  }
};

struct Gain {
  std::string words;
  const SensitivityPoint* point = nullptr;
};

/// The factor of the bars: 2, or the one above 1 that is nearest to it. None: none is above 1.
std::optional<double> better_factor(const Sensitivity& s) {
  std::optional<double> best;
  for (const double factor : s.factors) {
    if (factor > 1 && (!best || std::abs(std::log(factor / 2)) < std::abs(std::log(*best / 2)))) best = factor;
  }
  return best;
}

/// How far a factor is from twice or half as good.
double from_twice(double factor) { return std::abs(std::abs(std::log(factor)) - std::log(2)); }

/// Of the points at which a figure is better, the one whose factor is nearest to twice or half: levers are compared there.
/// Null: it is better at none that was tried. Less of a lever may be better, too: requests that come more often.
const SensitivityPoint* compared_point(const LeverSensitivity& l, const Figure& figure) {
  const SensitivityPoint* best = nullptr;
  for (const SensitivityPoint& p : l.points) {
    if (!figure.is_better(p)) continue;
    const double nearer = best == nullptr ? 1 : from_twice(best->factor) - from_twice(p.factor);
    if (nearer > 0 || (nearer == 0 && figure.gain(p) > figure.gain(*best))) best = &p;
  }
  return best;
}

/// "2x GPU speed", "host bandwidth without limit"
std::string better_words(const std::string& lever, double factor) {
  return std::isinf(factor) ? lever + " without limit" : fmt::format("{:g}x {}", factor, lever);
}

/// What changes a figure in the wanted direction by more than its interval: levers and policies. Most first.
std::vector<Gain> gains(const Sensitivity& s, const Figure& figure) {
  std::vector<Gain> out;
  for (const LeverSensitivity& l : s.levers) {
    const SensitivityPoint* p = compared_point(l, figure);
    if (p != nullptr) out.push_back({better_words(l.words, p->factor), p});
  }
  for (const SensitivityPoint& p : s.policies) {
    if (figure.is_better(p)) out.push_back({"policy " + p.policy, &p});
  }
  std::ranges::stable_sort(out, {}, [&](const Gain& g) { return -figure.gain(*g.point); });
  return out;
}

std::string gain_lines(const Sensitivity& s) {
  std::string out;
  const auto add = [&](const char* title, const Figure& figure) {
    out += title;
    const std::vector<Gain> found = gains(s, figure);
    if (found.empty()) out += "  nothing that was tried, by more than its interval\n";
    for (const Gain& gain : found)
      out += fmt::format("  {}: {}{}\n", gain.words, change_words(gain.point->*figure.of, figure.before, figure.unit),
                         gain.point->unstable ? ", unstable" : "");
  };
  add("What would shorten the 99th percentile most\n", {&SensitivityPoint::p99_ms, s.p99_ms, -1, "ms"});
  add("\nWhat would raise the goodput most\n", {&SensitivityPoint::goodput_per_s, s.goodput_per_s, 1, "requests/s"});
  return out;
}

/// A dash where nothing was or could be tried, or where there was nothing to change.
std::string change_cell(const SensitivityPoint& p, Change SensitivityPoint::*figure) {
  return p.error.empty() && (p.*figure).known ? percent((p.*figure).change) : "-";
}

/// "a, b: changes nothing: a whole number stays what it is"
std::string reasons(const Sensitivity& s) {
  std::map<std::string, std::string> by_reason;
  for (const LeverSensitivity& l : s.levers) {
    for (const SensitivityPoint& p : l.points) {
      if (p.error.empty()) continue;
      std::string& names = by_reason[p.error];
      names += (names.empty() ? "" : ", ") + l.words + " " + factor_heading(p.factor);
    }
  }
  std::string out;
  for (const auto& [reason, names] : by_reason) out += "  " + names + ": " + one_line(reason) + "\n";
  return out.empty() ? out : "\nNot tried\n" + out;
}

/// Of the column of names.
std::size_t name_width(const Sensitivity& s) {
  std::size_t width = 28;
  for (const LeverSensitivity& l : s.levers) width = std::max(width, l.words.size());
  for (const SensitivityPoint& p : s.policies) width = std::max(width, p.policy.size());
  return width;
}

std::string table(const Sensitivity& s, const char* title, Change SensitivityPoint::*figure, bool elasticity) {
  std::string out = fmt::format("\n{}\n  {:<{}}", title, "resource", name_width(s));
  for (const double factor : s.factors) out += fmt::format("{:>10}", factor_heading(factor));
  out += elasticity ? fmt::format("{:>11}\n", "elasticity") : "\n";
  for (const LeverSensitivity& l : s.levers) {
    out += fmt::format("  {:<{}}", l.words, name_width(s));
    for (const SensitivityPoint& p : l.points) out += fmt::format("{:>10}", change_cell(p, figure));
    out += elasticity ? fmt::format("{:>11}\n", l.elasticity ? fmt::format("{:.2f}", *l.elasticity) : "-") : "\n";
  }
  return out;
}

std::vector<std::string> row_of(const std::string& resource, const std::string& level, const SensitivityPoint& p,
                                const std::string& elasticity) {
  const bool ok = p.error.empty();
  const auto cell = [&](const char* form, double value, bool known = true) {
    return ok && known ? fmt::format(fmt::runtime(form), value) : "";
  };
  return {resource,
          level,
          p.policy.empty() ? factor_word(p.factor) : p.policy,
          cell("{:.6f}", p.p99_ms.value),
          cell("{:.3f}", 100 * p.p99_ms.change, p.p99_ms.known),
          elasticity,
          cell("{:.3f}", 100 * p.p99_ms.half_width, p.p99_ms.known),
          cell("{:.6g}", p.goodput_per_s.value),
          cell("{:.3f}", 100 * p.goodput_per_s.change, p.goodput_per_s.known),
          cell("{:.3f}", 100 * p.goodput_per_s.half_width, p.goodput_per_s.known),
          ok ? (p.unstable ? "1" : "0") : "",
          p.error};
}

nlohmann::ordered_json point_of(const SensitivityPoint& p) {
  nlohmann::ordered_json out;
  if (p.policy.empty())
    out["factor"] = std::isinf(p.factor) ? nlohmann::ordered_json("inf") : nlohmann::ordered_json(p.factor);
  else
    out["policy"] = p.policy;
  if (!p.error.empty()) {
    out["error"] = p.error;
    return out;
  }
  out["p99_ms"] = p.p99_ms.value;
  if (p.p99_ms.known) {
    out["delta_percent"] = 100 * p.p99_ms.change;
    out["delta_half_width"] = 100 * p.p99_ms.half_width;
  }
  out["goodput_per_s"] = p.goodput_per_s.value;
  if (p.goodput_per_s.known) {
    out["goodput_delta_percent"] = 100 * p.goodput_per_s.change;
    out["goodput_delta_half_width"] = 100 * p.goodput_per_s.half_width;
  }
  out["unstable"] = p.unstable;
  return out;
}

}  // namespace

std::string sensitivity_csv(const Sensitivity& s) {
  std::string out =
      csv_line({"resource", "level", "factor", "p99_ms", "delta_percent", "elasticity", "delta_half_width",
                "goodput_per_s", "goodput_delta_percent", "goodput_delta_half_width", "unstable", "error"});
  for (const LeverSensitivity& l : s.levers) {
    for (const SensitivityPoint& p : l.points)
      out += csv_line(row_of(l.name, l.level, p, l.elasticity ? fmt::format("{:.4f}", *l.elasticity) : ""));
  }
  for (const SensitivityPoint& p : s.policies) out += csv_line(row_of("policy", "policy", p, ""));
  return out;
}

std::string sensitivity_text(const Sensitivity& s) {
  const std::string offered = s.rate_per_s > 0 ? fmt::format(" at {:.4g} requests/s", s.rate_per_s) : "";
  std::string out =
      fmt::format("{}: {}{}, P99 {:.4g} ms, goodput {:.4g} requests/s{}\n\n", printable(s.title, 200), s.policy,
                  offered, s.p99_ms, s.goodput_per_s, s.unstable ? ", unstable: load above capacity" : "");
  out += gain_lines(s);
  if (!s.levers.empty()) {
    out += table(s, "Change of the 99th percentile", &SensitivityPoint::p99_ms, true);
    out += table(s, "Change of the goodput", &SensitivityPoint::goodput_per_s, false) + reasons(s);
  }
  if (!s.policies.empty())
    out += fmt::format("\n{:<{}}{:>10}{:>10}\n", "Other policies", name_width(s) + 2, "P99", "goodput");
  for (const SensitivityPoint& p : s.policies)
    out += p.error.empty()
               ? fmt::format("  {:<{}}{:>10}{:>10}{}\n", p.policy, name_width(s),
                             change_cell(p, &SensitivityPoint::p99_ms),
                             change_cell(p, &SensitivityPoint::goodput_per_s), p.unstable ? "  unstable" : "")
               : fmt::format("  {:<{}}{}\n", p.policy, name_width(s), one_line(p.error));
  return out;
}

std::string sensitivity_json(const Sensitivity& s) {
  nlohmann::ordered_json out{{"schema_version", 1},        {"title", s.title},   {"policy", s.policy},
                             {"seeds", kSensitivitySeeds}, {"p99_ms", s.p99_ms}, {"goodput_per_s", s.goodput_per_s},
                             {"unstable", s.unstable}};
  out["resources"] = nlohmann::ordered_json::array();
  for (const LeverSensitivity& l : s.levers) {
    nlohmann::ordered_json points = nlohmann::ordered_json::array();
    for (const SensitivityPoint& p : l.points) points.push_back(point_of(p));
    out["resources"].push_back(
        {{"resource", l.name},
         {"level", l.level},
         {"elasticity", l.elasticity ? nlohmann::ordered_json(*l.elasticity) : nlohmann::ordered_json()},
         {"points", std::move(points)}});
  }
  out["policies"] = nlohmann::ordered_json::array();
  for (const SensitivityPoint& p : s.policies) out["policies"].push_back(point_of(p));
  return json_text(out, 2) + "\n";
}

/// The table with a bar for each lever at twice as good.
std::string sensitivity_html(const Sensitivity& s) {
  const std::string title = in_markup(s.title + ": what would help most");
  const std::optional<double> factor = better_factor(s);
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + title +
      "</title>\n<style>body{font:14px system-ui,sans-serif;margin:2em;max-width:70em}table{border-collapse:collapse}"
      "td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
      ".bar{display:inline-block;height:.8em;background:#0072b2}.worse{background:#d55e00}</style></head><body>\n<h1>" +
      title + "</h1>\n<pre>" + in_markup(sensitivity_text(s)) + "</pre>\n<table><tr><th>" +
      (factor ? factor_heading(*factor) : "") + "</th><th>P99</th><th></th></tr>\n";
  for (const LeverSensitivity& l : s.levers) {
    const SensitivityPoint* twice = factor ? l.at(*factor) : nullptr;
    if (twice == nullptr || !twice->error.empty() || !twice->p99_ms.known) continue;
    const double change = twice->p99_ms.change;
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td style=\"text-align:left\"><span class=\"bar{}\" style=\"width:{:.1f}em\"></span></td></tr>\n",
        in_markup(l.words), percent(change), change > 0 ? " worse" : "", 20 * std::min(1.0, std::abs(change)));
  }
  return out + "</table></body></html>\n";
}

}  // namespace distsim::serving
