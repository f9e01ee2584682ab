#include "sim/app/serving_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/output.hpp"
#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "sim/app/serving_sweep_page.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/study/sweep/sweep.hpp"

namespace distsim::app {
namespace {

std::vector<double> figures_of_point(const serving::Experiment& e, const serving::Point& p) {
  const serving::Figures f = serving::figures_of(e, p, e.scenario.models.size());
  const serving::Tally& t = *f.tally;
  const auto at = [&](double q) {
    return t.answered() == 0 ? -1 : static_cast<double>(t.latency_ps.quantile(q)) * 1e-9;
  };
  return {f.rate_per_s,
          static_cast<double>(t.requests),
          t.answered() == 0 ? -1 : t.latency_ms.mean(),
          at(0.5),
          at(0.9),
          at(0.99),
          at(0.999),
          f.makespan_ms,
          f.throughput_per_s,
          f.goodput_per_s,
          static_cast<double>(t.violations),
          f.utilisation,
          static_cast<double>(f.moves),
          static_cast<double>(f.batches),
          f.joules,
          p.result.unstable ? p.result.served_per_s : 0};
}

/// All policies and rates at one point: their figures one after the other, and policy and error of each as texts.
study::Row play(const std::string& config, const std::vector<std::string>& sets) {
  const auto e = serving::load_experiment(config, sets);
  if (!e.ok()) return {{}, {}, e.error().text()};
  const serving::Comparison c = serving::compare_policies(*e, 1, [] {});
  study::Row row;
  for (const serving::Point& p : c.points) {
    row.texts.emplace_back(p.policy->name);
    row.texts.push_back(p.error);
    const std::vector<double> figures =
        p.error.empty() ? figures_of_point(*e, p) : std::vector<double>(kServingColumnCount, -1);
    row.figures.insert(row.figures.end(), figures.begin(), figures.end());
  }
  return row;
}

Result<study::PointList> points_of(const ServingSweep& sweep, const study::SweepRequest& request) {
  study::PointList points;
  points.command = "sweep";
  points.count = 1;
  for (const study::SweepAxis& axis : sweep.axes) {
    if (axis.values.size() > study::kMostPoints / points.count)
      return Error{"--set: found more than 10000000 points, expected fewer", "", ""};
    points.count *= axis.values.size();
  }
  TRY_ASSIGN(const ConfigNode root, parse_yaml_file(sweep.config));
  points.identity = {study::program_fact(), study::inputs_fact({root})};
  for (const std::string& set : sweep.sets) points.identity.push_back({"--set", set});
  for (const study::SweepAxis& axis : sweep.axes) {
    for (const std::string& value : axis.values) points.identity.push_back({"--set " + axis.key, value});
  }
  points.evaluate = [request](std::size_t index) { return play(request.config, study::sets_at(request, index)); };
  return points;
}

/// A cell of a figure that is not there is empty.
std::string cell_of(double figure, std::size_t column) {
  const bool none = figure < 0 || (figure == 0 && column + 2 >= kServingColumnCount);
  return none ? "" : fmt::format("{:.10g}", figure);
}

std::string csv_of(const ServingSweep& sweep, const study::SweepRequest& request, const study::Rows& rows) {
  std::vector<std::string> header;
  for (const std::string& name : study::short_names(sweep.axes)) header.push_back(name);
  header.emplace_back("policy");
  for (const ServingColumn& column : kServingColumns) header.emplace_back(column.name);
  header.emplace_back("error");
  std::string out = csv_line(header);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows.has(i)) continue;
    const study::Row row = rows.at(i);
    const std::vector<std::string> values = study::values_at(request.axes, i);
    for (std::size_t p = 0; p < std::max<std::size_t>(1, row.texts.size() / 2); ++p) {
      std::vector<std::string> cells = values;
      const bool played = row.error.empty();
      cells.push_back(played ? row.texts[2 * p] : "");
      for (std::size_t c = 0; c < kServingColumnCount; ++c)
        cells.push_back(played ? cell_of(row.figures[p * kServingColumnCount + c], c) : "");
      cells.push_back(played ? row.texts[2 * p + 1] : row.error);
      out += csv_line(cells);
    }
  }
  return out;
}

/// The columns that a reader looks at first.
std::string table_of(const ServingSweep& sweep, const study::SweepRequest& request, const study::Rows& rows) {
  std::string out;
  const std::vector<std::string> names = study::short_names(sweep.axes);
  for (const std::string& name : names) out += fmt::format("{:<14} ", name);
  out += fmt::format("{:<18} {:>10} {:>10} {:>10} {:>10} {:>10} {:>6}\n", "policy", "mean ms", "p99 ms", "served/s",
                     "goodput/s", "violations", "busy %");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows.has(i)) continue;
    const study::Row row = rows.at(i);
    std::string head;
    for (const std::string& value : study::values_at(request.axes, i)) head += fmt::format("{:<14} ", value);
    if (!row.error.empty()) out += head + row.error + "\n";
    for (std::size_t p = 0; p < row.texts.size() / 2; ++p) {
      const double* f = row.figures.data() + p * kServingColumnCount;
      out += head + (row.texts[2 * p + 1].empty()
                         ? fmt::format("{:<18} {:>10.4g} {:>10.4g} {:>10.4g} {:>10.4g} {:>10.0f} {:>6.1f}{}\n",
                                       row.texts[2 * p], f[2], f[5], f[8], f[9], f[10], 100 * f[11],
                                       f[15] > 0 ? "  unstable" : "")
                         : row.texts[2 * p] + " " + row.texts[2 * p + 1] + "\n");
    }
  }
  return out;
}

}  // namespace

bool is_serving_experiment(const std::string& path) {
  const auto root = parse_yaml_file(path);
  return root.ok() && root->kind == ConfigNode::Kind::map && root->find("gpus") != nullptr &&
         root->find("policies") != nullptr;
}

Result<void> sweep_serving(const ServingSweep& sweep) {
  TRY(serving::load_experiment(sweep.config, sweep.sets));
  study::SweepRequest request;
  request.config = sweep.config;
  request.sets = sweep.sets;
  request.axes = sweep.axes;
  TRY_ASSIGN(study::PointList points, points_of(sweep, request));
  const EarlyEnd early;
  std::unique_ptr<study::StudyRun> study;
  TRY_ASSIGN(study, study::StudyRun::begin(std::move(points), sweep.run));
  if (study->is_over()) return {};
  TRY(study->evaluate());
  if (!sweep.csv.empty()) TRY(write_file_atomically(sweep.csv, csv_of(sweep, request, study->rows())));
  if (!sweep.html.empty())
    TRY(write_file_atomically(sweep.html,
                              serving_sweep_page(sweep, study->rows(), table_of(sweep, request, study->rows()))));
  if (sweep.csv != "-" && sweep.html != "-") TRY(print(table_of(sweep, request, study->rows())));
  if (end_asked()) return study->interruption();
  std::string first;
  for (std::size_t i = 0; i < study->rows().size(); ++i) {
    const study::Row row = study->rows().at(i);
    if (row.error.empty()) return {};
    if (first.empty()) first = row.error;
  }
  return Error{"none of " + counted(study->rows().size(), "point") + " could be played; the first: " + first, "", ""};
}

}  // namespace distsim::app
