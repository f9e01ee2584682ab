#include "sim/app/serving_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

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
study::Row play(const ConfigNode& text, const std::vector<std::string>& sets, serving::PriceStore& prices) {
  const auto e = serving::compile_experiment(text, sets, nullptr, &prices);
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

/// `text`: the experiment's, read once: an edit while points are played changes none of them.
Result<study::PointList> points_of(const ServingSweep& sweep, const study::SweepRequest& request,
                                   const ConfigNode& text, serving::PriceStore& prices) {
  study::PointList points;
  points.command = "sweep";
  points.count = 1;
  for (const study::SweepAxis& axis : sweep.axes) {
    if (axis.values.size() > study::kMostPoints / points.count)
      return Error{"--set: found more than 10000000 points, expected fewer", "", ""};
    points.count *= axis.values.size();
  }
  if (sweep.run.team != nullptr || !sweep.run.journal.empty()) points.identity = study::sweep_identity(request, text);
  points.evaluate = [request, &text, &prices](std::size_t index) {
    return play(text, study::sets_at(request, index), prices);
  };
  return points;
}

/// Keys that change nothing at any point, of all that are played. Each point is read once, and again without each of the fixed
/// --set that has changed nothing until then.
class IdleSettings {
 public:
  IdleSettings(const study::SweepRequest& request, const ConfigNode& text, std::size_t points,
               serving::PriceStore& prices)
      : request_(request), text_(text), points_(points), prices_(prices) {
    for (const std::string& set : request.sets)
      sets_.push_back(!set.starts_with("title=") && !set.starts_with("description="));
    for (const study::SweepAxis& axis : request.axes) axes_.push_back({axis.values.size() > 1, {}});
  }

  /// A line each. None where there are too many points to look at all.
  std::vector<std::string> find() {
    constexpr std::size_t kMostRead = 4'000;  // some seconds, before the first point is played
    for (std::size_t i = 0; i < points_; ++i) {
      if (points_ > kMostRead || read_ > kMostRead || !is_any_left()) return {};
      look_at(i);
    }
    return lines();
  }

 private:
  struct Axis {
    bool is_idle;
    std::map<std::size_t, std::size_t>
        prints;  ///< by number of the point with its first value and the others as they are
  };

  /// What the emulator sees of a point: equal prints, equal rows.
  std::size_t print_of(const Result<serving::Experiment>& e) {
    return std::hash<std::string>{}(e.ok() ? serving::fingerprint(*e) : "refused: " + e.error().text());
  }

  Result<serving::Experiment> read(const std::vector<std::string>& sets) {
    ++read_;
    return serving::compile_experiment(text_, sets, nullptr, &prices_);
  }

  void look_at(std::size_t point) {
    const std::vector<std::string> sets = study::sets_at(request_, point);
    const auto e = read(sets);
    const std::size_t print = print_of(e);
    any_read_ = any_read_ || e.ok();
    if (e.ok()) keep_reasons(e->idle_keys);
    std::size_t below = points_;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const std::size_t length = request_.axes[a].values.size();
      below /= length;
      const auto [first, is_new] = axes_[a].prints.try_emplace(point - point / below % length * below, print);
      axes_[a].is_idle = axes_[a].is_idle && first->second == print;
    }
    for (std::size_t s = 0; s < sets_.size(); ++s) sets_[s] = sets_[s] && is_same_without(s, sets, print);
  }

  void keep_reasons(const std::vector<std::string>& found) {
    if (!reasons_)
      reasons_ = found;
    else
      std::erase_if(*reasons_, [&](const std::string& line) { return std::ranges::find(found, line) == found.end(); });
  }

  bool is_same_without(std::size_t set, std::vector<std::string> sets, std::size_t print) {
    const auto at = std::ranges::find(sets, request_.sets[set]);
    if (at == sets.end()) return true;  // a variant says otherwise
    sets.erase(at);
    return print_of(read(sets)) == print;
  }

  bool is_any_left() const {
    return !reasons_ || !reasons_->empty() || std::ranges::find(sets_, true) != sets_.end() ||
           std::ranges::any_of(axes_, &Axis::is_idle);
  }

  std::vector<std::string> lines() const {
    if (!any_read_) return {};
    const std::vector<std::string> reasons = reasons_.value_or(std::vector<std::string>());
    std::vector<std::string> out = reasons;
    const auto add = [&](const std::string& key, const std::string& argument, const char* why) {
      const auto is_of_key = [&](const std::string& line) { return line.starts_with("--set " + key + ":"); };
      if (std::ranges::none_of(reasons, is_of_key)) out.push_back("--set " + printable(argument, 200) + why);
    };
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      const std::string& set = request_.sets[s];
      if (sets_[s]) add(set.substr(0, set.find('=')), set, ": no effect, the experiment is the same without it");
    }
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const std::string& key = request_.axes[a].key;
      if (axes_[a].is_idle) add(key, key, ": no effect, the experiment is the same with all its values");
    }
    return out;
  }

  const study::SweepRequest& request_;
  const ConfigNode& text_;
  const std::size_t points_;
  serving::PriceStore& prices_;
  std::size_t read_ = 0;
  bool any_read_ = false;                            ///< of refusals alike nothing is known of a key
  std::optional<std::vector<std::string>> reasons_;  ///< lines about keys that are written, of all points until now
  std::vector<bool> sets_;                           ///< which of the fixed ones are idle until now
  std::vector<Axis> axes_;
};

/// A cell of a figure that is not there is empty.
std::string cell_of(double figure, std::size_t column) {
  const bool none = figure < 0 || (figure == 0 && column + 2 >= kServingColumnCount);
  return none ? "" : fmt::format("{:.10g}", figure);
}

std::string csv_of(const ServingSweep& sweep, const study::SweepRequest& request, const study::Rows& rows) {
  std::vector<std::string> header;
  for (const study::SweepAxis& axis : sweep.axes) header.push_back(axis.key);
  header.emplace_back("policy");
  for (const ServingColumn& column : kServingColumns) header.emplace_back(column.name);
  header.emplace_back("error");
  std::string out = csv_line(header);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows.has(i)) continue;
    const study::Row row = shown_row(sweep, rows, i);
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
  std::vector<std::string> header = heads_of_axes(sweep);
  const std::size_t names = header.size() + 1;
  for (const char* column :
       {"policy", "offered/s", "mean ms", "p99 ms", "served/s", "goodput/s", "violations", "busy %", ""})
    header.emplace_back(column);
  std::vector<std::vector<std::string>> lines{header};
  const auto digits = [](double value) { return value < 0 ? "-" : fmt::format("{:.4g}", value); };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows.has(i)) continue;
    const study::Row row = shown_row(sweep, rows, i);
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
Result<void> write_outputs(const ServingSweep& sweep, const std::string& title, const study::SweepRequest& request,
                           const study::Rows& rows, const EarlierResults& earlier) {
  const std::string csv = earlier.gives_way(sweep.csv) ? sweep.csv : "",
                    html = earlier.gives_way(sweep.html) ? sweep.html : "";
  const std::string table = table_of(sweep, request, rows);
  const Result<void> written = write_output_files(
      {{"--csv", csv, [&](FilesTogether& files) { return files.write(csv, csv_of(sweep, request, rows)); }},
       {"--html", html,
        [&](FilesTogether& files) { return files.write(html, serving_sweep_page(sweep, title, rows, table)); }}});
  if (!takes_stdout({{"--csv", sweep.csv}, {"--html", sweep.html}})) TRY(print(table));
  return written;
}

}  // namespace

bool is_serving_experiment(const std::string& path) {
  const auto root = parse_yaml_file(path);
  return root.ok() && root->kind == ConfigNode::Kind::map && root->find("gpus") != nullptr &&
         root->find("policies") != nullptr;
}

study::Row shown_row(const ServingSweep& sweep, const study::Rows& rows, std::size_t index) {
  study::Row row = rows.at(index);
  row.error = sweep.as_given(row.error);
  return row;
}

Result<void> sweep_serving(const ServingSweep& sweep) {
  serving::PriceStore prices;
  TRY_ASSIGN(const ConfigNode text, parse_yaml_file(sweep.config));
  TRY_ASSIGN(const serving::Experiment whole, serving::compile_experiment(text, sweep.sets, nullptr, &prices));
  study::SweepRequest request;
  request.config = sweep.config;
  request.sets = sweep.sets;
  request.axes = sweep.axes;
  TRY_ASSIGN(study::PointList points, points_of(sweep, request, text, prices));
  std::vector<std::string> idle;
  if (sweep.run.team == nullptr || sweep.run.team->leads())
    idle = IdleSettings(request, text, points.count, prices).find();
  const EarlyEnd early;
  std::unique_ptr<study::StudyRun> study;
  TRY_ASSIGN(study, study::StudyRun::begin(std::move(points), sweep.run));
  if (study->is_over()) return {};
  for (const std::string& line : idle) remark(sweep.as_given(line));
  TRY(study->evaluate());
  std::string first;
  bool nothing = true;
  for (std::size_t i = 0; i < study->rows().size() && nothing; ++i) {
    if (!study->rows().has(i)) continue;  // interrupted
    const study::Row row = shown_row(sweep, study->rows(), i);
    nothing = !row.error.empty();
    if (first.empty()) first = row.error;
  }
  const EarlierResults earlier(nothing, {sweep.csv, sweep.html});
  TRY(write_outputs(sweep, whole.title, request, study->rows(), earlier));
  if (study->was_cut()) return study->interruption();
  if (!nothing) return {};
  return Error{"none of " + counted(study->rows().size(), "point") + " could be played; the first: " + first, "",
               earlier.unchanged()};
}

}  // namespace distsim::app
