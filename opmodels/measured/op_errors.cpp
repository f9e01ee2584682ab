#include "opmodels/measured/op_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "base/text/counted.hpp"
#include "base/text/csv.hpp"

namespace distsim::opmodels {
namespace {

/// Equal for equal points, so that a shape is never in the table that prices it.
std::size_t part_of(const OpPoint& point) {
  std::uint64_t hash = point.group;
  for (const float x : point.at) hash = (hash ^ std::bit_cast<std::uint32_t>(x)) * 0x9E3779B97F4A7C15ULL;
  return static_cast<std::size_t>((hash >> 33) % kParts);
}

OpErrors summary_of(std::vector<double> errors) {
  if (errors.empty()) return {};
  for (double& e : errors) e = std::fabs(e);
  std::ranges::sort(errors);
  const std::size_t n = errors.size();
  return {(errors[(n - 1) / 2] + errors[n / 2]) / 2, errors[std::min(n - 1, n * 9 / 10)], errors.back()};
}

void summarise(OpKindErrors& kind) {
  std::vector<double> before, after;
  for (const PricedOp& p : kind.ops) {
    before.push_back(p.before());
    after.push_back(p.after());
  }
  kind.before = summary_of(std::move(before));
  kind.after = summary_of(std::move(after));
  std::ranges::stable_sort(
      kind.ops, [](const PricedOp& a, const PricedOp& b) { return std::fabs(a.after()) > std::fabs(b.after()); });
}

/// The table of all parts but one.
MeasuredTable table_without(const std::vector<MeasuredOp>& rows, std::size_t part) {
  struct Sum {
    double log_measured = 0, models_us = 0;
    std::size_t count = 0;
  };
  std::map<std::pair<std::uint64_t, std::array<float, OpPoint::kDims>>, Sum> sums;
  for (const MeasuredOp& r : rows) {
    if (part_of(r.point) == part) continue;
    Sum& s = sums[{r.point.group, r.point.at}];
    s.log_measured += std::log(r.measured_us);
    s.models_us = r.models_us;
    ++s.count;
  }
  std::vector<MeasuredPoint> points;
  for (const auto& [key, s] : sums)
    points.push_back({{key.first, key.second}, std::exp(s.log_measured / static_cast<double>(s.count)), s.models_us});
  return {"", "", std::move(points)};
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string errors_text(const OpErrors& e) {
  return fmt::format("{:>10}{:>10}{:>11}", percent(e.median), percent(e.p90), percent(e.worst));
}

}  // namespace

double PricedOp::before() const { return op->models_us / op->measured_us - 1; }
double PricedOp::after() const { return after_us / op->measured_us - 1; }

Result<std::vector<OpKindErrors>> op_errors(const std::vector<MeasuredOp>& rows, const WithTable& with_table) {
  std::map<std::string, OpKindErrors> kinds;
  OpKindErrors all{"all", {}, {}, {}};
  for (std::size_t part = 0; part < kParts; ++part) {
    TRY_ASSIGN(const OpModels models, with_table(table_without(rows, part)));
    for (const MeasuredOp& r : rows) {
      if (part_of(r.point) != part) continue;
      TRY_ASSIGN(const graph::Cost cost, models.price(r.op, r.warm));
      const PricedOp priced{&r, cost.mean.us()};
      kinds[r.kind].ops.push_back(priced);
      all.ops.push_back(priced);
    }
  }
  std::vector<OpKindErrors> out;
  for (auto& [name, kind] : kinds) {
    kind.kind = name;
    out.push_back(std::move(kind));
  }
  out.push_back(std::move(all));
  for (OpKindErrors& kind : out) summarise(kind);
  return out;
}

std::string op_errors_text(const std::string& device, const std::vector<OpKindErrors>& kinds, std::size_t worst) {
  std::string out = fmt::format("error of predicted kernel times on {}, before and after calibration\n\n", device);
  out += fmt::format("{:<34}{:>8}{:>31}{:>31}\n", "", "", "before", "after");
  out += fmt::format("{:<34}{:>8}{:>10}{:>10}{:>11}{:>10}{:>10}{:>11}\n", "op", "rows", "median", "p90", "worst",
                     "median", "p90", "worst");
  for (const OpKindErrors& kind : kinds) {
    out +=
        fmt::format("{:<34}{:>8}{}{}\n", kind.kind, kind.ops.size(), errors_text(kind.before), errors_text(kind.after));
    for (std::size_t i = 0; kind.kind != "all" && i < std::min(worst, kind.ops.size()); ++i) {
      const PricedOp& p = kind.ops[i];
      out +=
          fmt::format("    {:<38} {:>9.1f} us measured, {:>9.1f} before ({:+.1f} %), {:>9.1f} after ({:+.1f} %)\n",
                      p.op->shape, p.op->measured_us, p.op->models_us, 100 * p.before(), p.after_us, 100 * p.after());
    }
  }
  return out + fmt::format(
                   "\nafter: every shape is priced with a table that lacks it ({} parts by turns); at its own shapes a "
                   "table is exact\n",
                   kParts);
}

std::string op_errors_csv(const std::vector<OpKindErrors>& kinds) {
  std::string out = csv_line(
      {"kind", "shape", "measured_us", "before_us", "after_us", "before_error_percent", "after_error_percent"});
  for (const OpKindErrors& kind : kinds) {
    if (kind.kind == "all") continue;
    for (const PricedOp& p : kind.ops)
      out += csv_line({kind.kind, p.op->shape, fmt::format("{:.4f}", p.op->measured_us),
                       fmt::format("{:.4f}", p.op->models_us), fmt::format("{:.4f}", p.after_us),
                       fmt::format("{:.3f}", 100 * p.before()), fmt::format("{:.3f}", 100 * p.after())});
  }
  return out;
}

}  // namespace distsim::opmodels
