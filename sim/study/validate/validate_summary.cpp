// The table that a validation prints: how far off, by family, system, node count and tier. Nothing is left out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/study/validate/validate.hpp"

namespace distsim::study {
namespace {

struct Errors {
  std::vector<double> absolute;
  double signed_sum = 0;
  int inside = 0, failed = 0;

  void add_ratio(double error) {
    absolute.push_back(std::abs(error));
    signed_sum += error;
  }
  void add(const ValidatedCase& v) {
    if (!v.failure.empty()) ++failed;
    if (!v.measured()) return;
    add_ratio(v.error());
    inside += v.low_ms <= *v.source->measured_ms && *v.source->measured_ms <= v.high_ms;
  }
};

/// Quantile of sorted values, linear between neighbours.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::string line(const std::string& name, Errors e, bool ranges = true) {
  if (e.absolute.empty()) return fmt::format("{:<34} {:>5} {:>6}\n", name, 0, e.failed);
  std::sort(e.absolute.begin(), e.absolute.end());
  const double n = static_cast<double>(e.absolute.size());
  double mean = 0;
  for (const double a : e.absolute) mean += a / n;
  return fmt::format("{:<34} {:>5} {:>6} {:>7.1f}% {:>7.1f}% {:>7.1f}% {:>7.1f}% {:>+7.1f}% {:>8}\n", name,
                     e.absolute.size(), e.failed, 100 * quantile(e.absolute, 0.5), 100 * mean,
                     100 * quantile(e.absolute, 0.9), 100 * e.absolute.back(), 100 * e.signed_sum / n,
                     ranges ? fmt::format("{:.0f}%", 100 * e.inside / n) : "");
}

template <class Key>
std::string section(const std::vector<ValidatedCase>& cases, Key key) {
  std::map<std::string, Errors> groups;
  for (const auto& v : cases) groups[key(v)].add(v);
  std::string out;
  for (const auto& [name, errors] : groups) out += line("  " + printable(name), errors);
  return out;
}

/// How far off predicted ratios are: time over that of the fewest GPUs of the series, predicted over measured. Kernel
/// errors cancel in them.
std::string scaling(const std::vector<ValidatedCase>& cases) {
  std::map<std::string, std::vector<const ValidatedCase*>> series;
  for (const auto& v : cases) {
    if (v.measured()) series[v.series].push_back(&v);
  }
  Errors errors;
  for (auto& [key, list] : series) {
    const auto* base = *std::min_element(list.begin(), list.end(), [](auto* a, auto* b) { return a->gpus < b->gpus; });
    for (const auto* v : list) {
      if (v->gpus > base->gpus) errors.add_ratio((1 + v->error()) / (1 + base->error()) - 1);
    }
  }
  return errors.absolute.empty()
             ? ""
             : "scaling within a series\n" + line("  time relative to the fewest GPUs", errors, false);
}

/// Why cases are not compared: those that were predicted, or those that were not.
std::string failures(const std::vector<ValidatedCase>& cases, bool predicted, const std::string& title) {
  std::map<std::string, std::vector<std::string>> reasons;
  for (const auto& v : cases) {
    if (!v.failure.empty() && v.predicted == predicted) reasons[v.failure].push_back(v.source->id);
  }
  std::string out;
  for (const auto& [reason, ids] : reasons)
    out += fmt::format("  {} x {} (first: {})\n", ids.size(), reason, printable(ids.front(), 200));
  return out.empty() ? out : title + ":\n" + out;
}

std::string exceeded(const std::vector<ValidatedCase>& cases) {
  std::vector<std::string> ids;
  for (const auto& v : cases) {
    if (v.failure.empty() && v.memory_exceeded) ids.push_back(v.source->id);
  }
  if (ids.empty()) return "";
  return fmt::format("estimated to need more memory than the GPU has, though measured: {} (first: {})\n",
                     counted(ids.size(), "case"), printable(ids.front(), 200));
}

std::string node_class(const ValidatedCase& v) {
  const std::string nodes = v.source->setting("cluster.nodes");
  if (nodes.empty())
    return v.nodes == 0 ? "(none)" : fmt::format("{:>3} {}", v.nodes, agreeing(v.nodes, "node", "nodes"));
  return fmt::format("{:>3} {}", nodes, nodes == "1" ? "node" : "nodes");
}

}  // namespace

std::string validation_summary(const std::vector<ValidatedCase>& cases) {
  Errors all;
  for (const auto& v : cases) all.add(v);
  std::string out = fmt::format("{:<34} {:>5} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "absolute error", "count",
                                "failed", "median", "mean", "p90", "worst", "bias", "in range");
  out += line("all", all);
  out += "by family\n" + section(cases, [](const auto& v) { return v.source->family; });
  out += "by system\n" + section(cases, [](const auto& v) {
           const std::string asked = v.source->setting("cluster.system");
           return asked.empty() ? v.system : resolved({"cluster.system", asked}, {{"cluster.system", v.system}});
         });
  out += "by nodes\n" + section(cases, node_class);
  out += "by tier\n" +
         section(cases, [](const auto& v) { return v.source->tier.empty() ? std::string("(none)") : v.source->tier; });
  return out + scaling(cases) + exceeded(cases) + failures(cases, false, "not predicted") +
         failures(cases, true, "measured times refused");
}

}  // namespace distsim::study
