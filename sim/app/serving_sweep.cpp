#include "sim/app/serving_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/output.hpp"
#include "base/system/signals.hpp"
#include "base/text/columns.hpp"
#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "sim/app/earlier_results.hpp"
#include "sim/app/serving_sweep_page.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/serving/spec/fingerprint.hpp"
#include "sim/serving/spec/price_store.hpp"
#include "sim/study/sweep/sweep.hpp"

namespace distsim::app {
namespace {

std::vector<double> figures_of_point(const serving::Experiment& e, const serving::Point& p) {
  const serving::Figures f = serving::figures_of(e, p, e.scenario.models.size());
  const serving::Tally& t = *f.tally;
  const auto at = [&](double q) {
    return t.answered() == 0 ? -1 : static_cast<double>(t.latency_ps.quantile(q)) * 1e-9;
  };
  return {f.offered_per_s > 0 ? f.offered_per_s : -1,
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
          p.result.unstable ? p.result.saturates_per_s : 0};
}

/// All policies and rates at one point: their figures one after the other, and policy and error of each as texts.
study::Row play(const std::string& config, const std::vector<std::string>& sets, serving::PriceStore& prices) {
  const auto e = serving::load_experiment(config, sets, &prices);
  if (!e.ok()) return {{}, {}, e.error().text()};
  const serving::Comparison c = serving::compare_policies(*e, 1, [] {});
  study::Row row;
  for (const serving::Point& p : c.points) {
    row.texts.emplace_back(p.policy->name);
    row.texts.push_back(p.error);
    std::vector<double> figures(kServingColumnCount, -1);
    row.is_unfinished = row.is_unfinished || (!p.error.empty() && end_asked());
    if (p.error.empty())
      figures = figures_of_point(*e, p);
    else if (const double offered = serving::offered_rate(serving::load_at(*e, p.rate_per_s)); offered > 0)
      figures[0] = offered;
    row.figures.insert(row.figures.end(), figures.begin(), figures.end());
  }
  return row;
}

Result<study::PointList> points_of(const ServingSweep& sweep, const study::SweepRequest& request,
                                   serving::PriceStore& prices) {
  study::PointList points;
  points.command = "sweep";
  points.count = 1;
  for (const study::SweepAxis& axis : sweep.axes) {
    if (axis.values.size() > study::kMostPoints / points.count)
      return Error{"--set: found more than 10000000 points, expected fewer", "", ""};
    points.count *= axis.values.size();
  }
  if (sweep.run.team != nullptr || !sweep.run.journal.empty()) {
    TRY_ASSIGN(const ConfigNode text, parse_yaml_file(sweep.config));
    points.identity = study::sweep_identity(request, text);
  }
  points.evaluate = [request, &prices](std::size_t index) {
    return play(request.config, study::sets_at(request, index), prices);
  };
  return points;
}

/// What changes nothing at the first point and at the last, and axes whose values are all the same to the emulator.
std::vector<std::string> idle_settings(const ServingSweep& sweep, const study::SweepRequest& request,
                                       std::size_t points, serving::PriceStore& prices) {
  std::vector<std::string> out = serving::without_effect(sweep.config, study::sets_at(request, 0), &prices);
  const std::vector<std::string> last =
      serving::without_effect(sweep.config, study::sets_at(request, points - 1), &prices);
  std::erase_if(out, [&](const std::string& line) { return std::ranges::find(last, line) == last.end(); });
  std::size_t below = points;
  for (const study::SweepAxis& axis : sweep.axes) {
    below /= axis.values.size();
    std::set<std::string> prints;
    for (std::size_t v = 0; v < axis.values.size() && prints.size() < 2; ++v) {
      const auto e = serving::load_experiment(sweep.config, study::sets_at(request, v * below), &prices);
      prints.insert(e.ok() ? serving::fingerprint(*e) : "point " + std::to_string(v));
    }
    const std::string key = "--set " + axis.key + ":";
    if (prints.size() == 1 && std::ranges::none_of(out, [&](const std::string& l) { return l.starts_with(key); }))
      out.push_back("--set " + printable(axis.key, 200) +
                    ": no effect, the experiment is the same with all its values");
  }
  return out;
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

/// The columns that a reader looks at first, each as wide as it needs.
std::string table_of(const ServingSweep& sweep, const study::SweepRequest& request, const study::Rows& rows) {
  std::vector<std::string> header = study::short_names(sweep.axes);
  const std::size_t names = header.size() + 1;
  for (const char* column :
       {"policy", "offered/s", "mean ms", "p99 ms", "served/s", "goodput/s", "violations", "busy %", ""})
    header.emplace_back(column);
  std::vector<std::vector<std::string>> lines{header};
  const auto digits = [](double value) { return value < 0 ? "-" : fmt::format("{:.4g}", value); };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows.has(i)) continue;
    const study::Row row = rows.at(i);
    const std::vector<std::string> values = study::values_at(request.axes, i);
    const auto add = [&](const std::vector<std::string>& cells) {
      lines.push_back(values);
      lines.back().insert(lines.back().end(), cells.begin(), cells.end());
    };
    if (!row.error.empty()) add({row.error});
    for (std::size_t p = 0; p < row.texts.size() / 2; ++p) {
      const double* f = row.figures.data() + p * kServingColumnCount;
      if (!row.texts[2 * p + 1].empty())
        add({row.texts[2 * p], digits(f[0]), row.texts[2 * p + 1]});
      else
        add({row.texts[2 * p], digits(f[0]), digits(f[2]), digits(f[5]), digits(f[8]), digits(f[9]),
             fmt::format("{:.0f}", f[10]), fmt::format("{:.1f}", 100 * f[11]), f[15] > 0 ? "unstable" : ""});
    }
  }
  return aligned_table(lines, names);
}

/// The table is printed, too, where a file cannot be written any more: its points may be hours of work.
Result<void> write_outputs(const ServingSweep& sweep, const study::SweepRequest& request, const study::Rows& rows,
                           const EarlierResults& earlier) {
  const std::string csv = earlier.gives_way(sweep.csv) ? sweep.csv : "",
                    html = earlier.gives_way(sweep.html) ? sweep.html : "";
  const std::string table = table_of(sweep, request, rows);
  const Result<void> written = write_output_files(
      {{"--csv", csv, [&](FilesTogether& files) { return files.write(csv, csv_of(sweep, request, rows)); }},
       {"--html", html,
        [&](FilesTogether& files) { return files.write(html, serving_sweep_page(sweep, rows, table)); }}});
  if (!takes_stdout({{"--csv", sweep.csv}, {"--html", sweep.html}})) TRY(print(table));
  return written;
}

}  // namespace

bool is_serving_experiment(const std::string& path) {
  const auto root = parse_yaml_file(path);
  return root.ok() && root->kind == ConfigNode::Kind::map && root->find("gpus") != nullptr &&
         root->find("policies") != nullptr;
}

Result<void> sweep_serving(const ServingSweep& sweep) {
  serving::PriceStore prices;
  TRY(serving::load_experiment(sweep.config, sweep.sets, &prices));
  study::SweepRequest request;
  request.config = sweep.config;
  request.sets = sweep.sets;
  request.axes = sweep.axes;
  TRY_ASSIGN(study::PointList points, points_of(sweep, request, prices));
  const std::vector<std::string> idle = idle_settings(sweep, request, points.count, prices);
  const EarlyEnd early;
  std::unique_ptr<study::StudyRun> study;
  TRY_ASSIGN(study, study::StudyRun::begin(std::move(points), sweep.run));
  if (study->is_over()) return {};
  for (const std::string& line : idle) remark(line);
  TRY(study->evaluate());
  std::string first;
  bool nothing = true;
  for (std::size_t i = 0; i < study->rows().size() && nothing; ++i) {
    if (!study->rows().has(i)) continue;  // interrupted
    const study::Row row = study->rows().at(i);
    nothing = !row.error.empty();
    if (first.empty()) first = row.error;
  }
  const EarlierResults earlier(nothing, {sweep.csv, sweep.html});
  TRY(write_outputs(sweep, request, study->rows(), earlier));
  if (study->was_cut()) return study->interruption();
  if (!nothing) return {};
  return Error{"none of " + counted(study->rows().size(), "point") + " could be played; the first: " + first, "",
               earlier.unchanged()};
}

}  // namespace distsim::app
