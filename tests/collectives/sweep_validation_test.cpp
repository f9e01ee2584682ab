// How far predictions are from published measurements. Prints the rows of the goal table, with the shipped constants
// and with constants found without the system in question, and each row by class. Bounds are the goals where they are
// met, else loose: they catch a broken model, not a small change.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "constant_fit.hpp"
#include "sweeps.hpp"
#include "test_data.hpp"

namespace distsim::collectives {
namespace {

double ape(double predicted, double measured) { return 100 * std::abs(predicted / measured - 1); }

std::string class_of(const Sweep& s) { return std::string(graph::name_of(s.curve.curve.kind)) + " " + s.group; }

/// One row of the goal table: each sweep has one vote in the median of medians and in the median of means.
class Row {
 public:
  explicit Row(std::string title) : title_(std::move(title)) {}
  void add(const std::string& group, const Errors& e) {
    if (e.values.empty()) return;
    for (const std::string& name : {std::string("all"), group}) {
      Cell& cell = cells_[name];
      cell.medians.values.push_back(e.median());
      cell.means.values.push_back(e.mean());
      cell.points.values.insert(cell.points.values.end(), e.values.begin(), e.values.end());
    }
  }
  void print(bool classes) const {
    std::printf("\n%s\n%-30s %6s  %15s  %15s  %12s\n", title_.c_str(), "", "sweeps", "median of them", "p90 and worst",
                "points: p90");
    for (const auto& [name, c] : cells_) {
      if (!classes && name != "all") continue;
      std::printf("%-30s %6zu  %6.1f / %6.1f  %6.1f / %6.1f  %12.1f\n", name.c_str(), c.medians.values.size(),
                  c.medians.median(), c.means.median(), c.medians.quantile(0.9), c.medians.worst(),
                  c.points.quantile(0.9));
    }
  }
  double median() const { return cells_.at("all").medians.median(); }
  double mean() const { return cells_.at("all").means.median(); }

 private:
  struct Cell {
    Errors medians, means, points;
  };
  std::string title_;
  std::map<std::string, Cell> cells_;
};

/// Constants by the system that a prediction is for.
class Constants {
 public:
  explicit Constants(const std::vector<Sweep>* cross_validated) : sweeps_(cross_validated) {}
  const ModelConstants& of(const std::string& system) {
    if (sweeps_ == nullptr) return shipped_constants();
    const auto it = fitted_.find(system);
    return it != fitted_.end() ? it->second : fitted_.emplace(system, fit_constants(*sweeps_, system)).first->second;
  }

  bool are_shipped() const { return sweeps_ == nullptr; }

 private:
  const std::vector<Sweep>* sweeps_;
  std::map<std::string, ModelConstants> fitted_;
};

/// Both ways of choosing constants, one after the other; the cross-validated fits are done once for all tests.
template <class F>
void with_both(const std::vector<Sweep>& sweeps, const F& f) {
  static Constants left_out(&sweeps);
  Constants shipped(nullptr);
  f("shipped constants", shipped);
  f("constants found without the system", left_out);
}

const std::vector<Sweep>& all_sweeps() {
  static const std::vector<Sweep> sweeps = load_sweeps();
  return sweeps;
}

Errors errors_of(const Sweep& s, double least, const std::function<double(double)>& predicted) {
  Errors out;
  for (const CurvePoint& p : s.curve.curve.points) {
    if (p.bytes >= least) out.values.push_back(ape(predicted(p.bytes), p.time_us));
  }
  return out;
}

void print_points(const Sweep& s, const AnalyticModel& model) {
  std::printf("%s\n", s.name.c_str());
  for (const CurvePoint& p : s.curve.curve.points) {
    const Candidate& c = *model.choice(p.bytes).candidate;
    std::printf("   %12.0f measured %10.2f predicted/measured %6.3f %s %s\n", p.bytes, p.time_us,
                model.time_us(p.bytes) / p.time_us, std::string(c.algorithm->name).c_str(),
                std::string(name_of(c.protocol)).c_str());
  }
}

TEST(SweepValidation, HardwareFactsAlone) {
  const std::vector<Sweep>& sweeps = all_sweeps();
  with_both(sweeps, [&](const char* how, Constants& constants) {
    Row all(std::string("analytic model only, all sizes, launch mode known (goal 20): ") + how),
        large(std::string("analytic model only, 64 MB and up (goal 8): ") + how);
    Row exchange(std::string("all_to_all from the analytic model, 16 MB and up (goal 8): ") + how);
    for (const Sweep& s : sweeps) {
      if (!s.usable) continue;
      const AnalyticModel model(s.curve.curve.kind, s.curve.facts, s.mode, constants.of(s.system));
      const auto predict = [&](double bytes) { return model.time_us(bytes); };
      if (s.known_launch) all.add(class_of(s), errors_of(s, 0, predict));
      large.add(class_of(s), errors_of(s, 64e6, predict));
      if (s.curve.curve.kind == graph::CollectiveKind::all_to_all) exchange.add(s.name, errors_of(s, 16e6, predict));
      if (std::getenv("DISTSIM_SWEEPS")) print_points(s, model);
    }
    for (const Row* row : {&all, &large, &exchange}) row->print(true);
    // 7.8, 4.8 and 2.9 % with the shipped constants when these bounds were set, else 12.9, 5.1 and 5.1; less of the
    // samples.
    const bool shipped = constants.are_shipped();
    EXPECT_LT(all.median(), shipped ? 9 : 14.5);
    EXPECT_LT(large.median(), 6);
    EXPECT_LT(exchange.median(), shipped ? 3.7 : 6);
  });
}

/// Of the points that lie between given ones.
Errors every_second(const Sweep& s, std::size_t offset) {
  LibraryCurve half = s.curve;
  std::vector<CurvePoint> given, asked;
  for (std::size_t i = 0; i < s.curve.curve.points.size(); ++i)
    (i % 2 == offset ? given : asked).push_back(s.curve.curve.points[i]);
  half.curve.points = given;
  const Pricer pricer(s.curve.curve.kind, s.curve.facts, s.mode, {half});
  Errors out;
  for (const CurvePoint& p : asked) {
    if (p.bytes >= given.front().bytes && p.bytes <= given.back().bytes)
      out.values.push_back(ape(pricer.price(p.bytes)->mean.us(), p.time_us));
  }
  return out;
}

TEST(SweepValidation, EverySecondSizePredictsTheOthers) {
  const std::vector<Sweep>& sweeps = all_sweeps();
  Row row("every second size given, the others predicted (goal 2.0 / 3.6), congested sweeps included");
  for (const Sweep& s : sweeps) {
    if (s.curve.curve.points.size() < 6 || s.name.find("samegpu") != std::string::npos) continue;
    Errors errors = every_second(s, 0);
    for (double e : every_second(s, 1).values) errors.values.push_back(e);
    row.add(class_of(s), errors);
  }
  row.print(true);
  EXPECT_LE(row.median(), 2.0);
  EXPECT_LE(row.mean(), 3.6);
}

/// The curves of the target's system that `applies` accepts, one at a time.
void calibrate_and_predict(const std::vector<Sweep>& sweeps, Constants& constants, Row& row,
                           const std::function<bool(const Sweep& known, const Sweep& target)>& applies) {
  for (const Sweep& target : sweeps) {
    for (const Sweep& known : sweeps) {
      if (!target.usable || !known.usable || known.system != target.system || !applies(known, target)) continue;
      const Pricer pricer(target.curve.curve.kind, target.curve.facts, target.mode, {known.curve},
                          constants.of(target.system));
      row.add(target.name, errors_of(target, 0, [&](double bytes) { return pricer.price(bytes)->mean.us(); }));
    }
  }
}

TEST(SweepValidation, TwoNodesPredictMore) {
  const std::vector<Sweep>& sweeps = all_sweeps();
  with_both(sweeps, [&](const char* how, Constants& constants) {
    Row row(std::string("calibrated on a system's 2-node sweep, its larger ones predicted (goal 8): ") + how);
    calibrate_and_predict(sweeps, constants, row, [](const Sweep& known, const Sweep& target) {
      return known.curve.curve.kind == target.curve.curve.kind && known.curve.facts.nodes == 2 &&
             target.curve.facts.nodes > 2;
    });
    row.print(true);
    EXPECT_LT(row.median(),
              test::is_sample("collectives") ? 10 : 8);  // the sample has four such pairs, all of one site
  });
}

TEST(SweepValidation, AllReducePredictsOtherCollectives) {
  const std::vector<Sweep>& sweeps = all_sweeps();
  with_both(sweeps, [&](const char* how, Constants& constants) {
    Row row(std::string("calibrated on all_reduce, the system's other collectives predicted (goal 12): ") + how);
    calibrate_and_predict(sweeps, constants, row, [](const Sweep& known, const Sweep& target) {
      return known.curve.curve.kind == graph::CollectiveKind::all_reduce &&
             target.curve.curve.kind != graph::CollectiveKind::all_reduce &&
             (known.curve.facts.nodes == 1) == (target.curve.facts.nodes == 1) && known.curve.facts.nodes <= 2;
    });
    row.print(true);
    // 6.1 and 9.5 % when these bounds were set; 5.3 and 12.0 of the samples
    EXPECT_LT(row.median(), constants.are_shipped() ? 7 : test::is_sample("collectives") ? 13 : 11);
  });
}

/// Median over the sweeps of their median errors.
double error_with(const std::vector<Sweep>& sweeps, const ModelConstants& constants) {
  Errors medians;
  for (const Sweep& s : sweeps) {
    if (!s.usable || !s.known_launch) continue;
    const AnalyticModel model(s.curve.curve.kind, s.curve.facts, s.mode, constants);
    medians.values.push_back(errors_of(s, 0, [&](double bytes) { return model.time_us(bytes); }).median());
  }
  return medians.median();
}

TEST(SweepValidation, ShippedConstantsComeFromTheFit) {
  const std::vector<Sweep>& sweeps = all_sweeps();
  ModelConstants fitted = fit_constants(sweeps, ""), shipped = shipped_constants();
  const double with_shipped = error_with(sweeps, shipped), with_fitted = error_with(sweeps, fitted);
  std::printf("\nmedian error with shipped constants %.2f %%, with constants fitted to these sweeps %.2f %%\n",
              with_shipped, with_fitted);
  EXPECT_LT(with_shipped, 1.5 * with_fitted);
  if (test::is_sample("collectives")) return;  // a few sweeps leave single constants open
  for (const FreeConstant& f : free_constants()) {
    if (std::getenv("DISTSIM_SWEEPS"))
      std::printf("%-20s neutral %7.3g fitted %7.3g shipped %7.3g\n", f.name.c_str(), f.neutral, f.at(fitted),
                  f.at(shipped));
    EXPECT_LT(std::abs(std::log2(f.at(shipped) / f.at(fitted))), 0.6)
        << f.name << ": shipped " << f.at(shipped) << ", found " << f.at(fitted);
  }
}

}  // namespace
}  // namespace distsim::collectives
