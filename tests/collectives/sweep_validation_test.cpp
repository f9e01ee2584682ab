// How far predictions are from published measurements, by class; prints the tables. Bounds are loose: they catch a broken model, not a small change.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "sweeps.hpp"

namespace distsim::test {
namespace {

using namespace collectives;

double ape(double predicted, double measured) { return 100 * std::abs(predicted / measured - 1); }

/// Medians and means of the sweeps of one class, each sweep one vote.
struct Column {
  Errors medians, means;
  void add(const Errors& e) {
    if (e.values.empty()) return;
    medians.values.push_back(e.median());
    means.values.push_back(e.mean());
  }
};

class Table {
 public:
  explicit Table(std::vector<std::string> columns) : columns_(std::move(columns)) {}
  void add(const std::string& row, std::size_t column, const Errors& e) {
    for (const std::string& r : {row, std::string("all")}) {
      auto& cells = rows_[r];
      cells.resize(columns_.size());
      cells[column].add(e);
    }
  }
  void print(const char* title) const {
    std::printf("\n%s: median / mean APE %% (median over sweeps)\n%-28s", title, "");
    for (const auto& c : columns_) std::printf(" %20s", c.c_str());
    std::printf("\n");
    for (const auto& [name, cells] : rows_) {
      std::printf("%-28s", name.c_str());
      for (const Column& c : cells) std::printf("  %7.1f /%6.1f (%2zu)", c.medians.median(), c.means.median(), c.medians.values.size());
      std::printf("\n");
    }
  }
  double median(std::size_t column) const { return rows_.at("all")[column].medians.median(); }
  double mean(std::size_t column) const { return rows_.at("all")[column].means.median(); }

 private:
  std::vector<std::string> columns_;
  std::map<std::string, std::vector<Column>> rows_;
};

std::string class_of(const Sweep& s) { return std::string(name_of(s.curve.curve.kind)) + " " + s.group; }

#define NEED_SWEEPS(sweeps)                                                                        \
  const std::vector<Sweep> sweeps = load_sweeps();                                                 \
  if (sweeps.empty()) GTEST_SKIP() << "../shared/data/collectives is not here: nothing to compare with"

TEST(SweepValidation, HardwareFactsAlone) {
  NEED_SWEEPS(sweeps);
  Table table({"all sizes", "16 MB and up", "64 MB and up"});
  for (const Sweep& s : sweeps) {
    if (!s.usable || s.system.empty()) continue;
    const AnalyticModel model(s.curve.curve.kind, s.curve.facts, s.mode);
    Errors all, mid, large;
    for (const CurvePoint& p : s.curve.curve.points) {
      const double e = ape(model.time_us(p.bytes), p.time_us);
      all.values.push_back(e);
      if (p.bytes >= 16e6) mid.values.push_back(e);
      if (p.bytes >= 64e6) large.values.push_back(e);
    }
    table.add(class_of(s), 0, all);
    table.add(class_of(s), 1, mid);
    table.add(class_of(s), 2, large);
    if (std::getenv("DISTSIM_SWEEPS")) {
      std::printf("%-45s all %5.1f/%5.1f  64MB %5.1f\n", s.name.c_str(), all.median(), all.mean(), large.median());
      for (const CurvePoint& p : s.curve.curve.points) {
        const Candidate& c = *model.choice(p.bytes).candidate;
        std::printf("   %12.0f meas %10.2f pred %10.2f ratio %6.3f %s %s\n", p.bytes, p.time_us, model.time_us(p.bytes), model.time_us(p.bytes) / p.time_us,
                    std::string(name_of(c.algorithm)).c_str(), std::string(name_of(c.protocol)).c_str());
      }
    }
  }
  table.print("hardware facts alone");
  EXPECT_LT(table.median(0), 30);
  EXPECT_LT(table.median(2), 15);
}

TEST(SweepValidation, EverySecondSizePredictsTheOthers) {
  NEED_SWEEPS(sweeps);
  Table table({"interpolated"});
  for (const Sweep& s : sweeps) {
    if (s.curve.curve.points.size() < 6 || s.name.find("samegpu") != std::string::npos) continue;
    Errors errors;
    for (std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
      std::vector<LibraryCurve> half{s.curve};
      std::vector<CurvePoint> given, asked;
      for (std::size_t i = 0; i < s.curve.curve.points.size(); ++i) (i % 2 == offset ? given : asked).push_back(s.curve.curve.points[i]);
      half[0].curve.points = given;
      const Pricer pricer(s.curve.curve.kind, s.curve.facts, s.mode, half);
      for (const CurvePoint& p : asked) {
        if (p.bytes < given.front().bytes || p.bytes > given.back().bytes) continue;
        errors.values.push_back(ape(pricer.price(p.bytes)->mean.us(), p.time_us));
      }
    }
    table.add(class_of(s), 0, errors);
  }
  table.print("every second size given");
  EXPECT_LT(table.median(0), 3.0);
  EXPECT_LT(table.mean(0), 5.0);
}

TEST(SweepValidation, TwoNodesPredictMore) {
  NEED_SWEEPS(sweeps);
  Table table({"from 2 nodes"});
  for (const Sweep& target : sweeps) {
    if (!target.usable || target.curve.curve.nodes <= 2 || target.system.empty()) continue;
    for (const Sweep& known : sweeps) {
      if (known.system != target.system || known.curve.curve.nodes != 2 || known.curve.curve.kind != target.curve.curve.kind || !known.usable) continue;
      const Pricer pricer(target.curve.curve.kind, target.curve.facts, target.mode, {known.curve});
      Errors errors;
      for (const CurvePoint& p : target.curve.curve.points) errors.values.push_back(ape(pricer.price(p.bytes)->mean.us(), p.time_us));
      table.add(target.name, 0, errors);
    }
  }
  table.print("calibrated on 2 nodes");
  EXPECT_LT(table.median(0), 20);
}

}  // namespace
}  // namespace distsim::test
