#include "sim/study/sweep/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ostream>
#include <utility>

#include "base/file.hpp"
#include "base/text/csv.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"

namespace distsim::study {
namespace {

using PointRef = const SweepPoint&;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double some(double value) { return value > 0 ? value : kNone; }

std::string fits_text(PointRef p) {
  return p.figures.fits == Fits::yes ? "true" : p.figures.fits == Fits::no ? "false" : "";
}

std::vector<Column> figure_columns() {
  return {
      {"iteration_ms", "iteration ms", 4, 3, {}, [](PointRef p) { return p.figures.iteration_ms; }},
      {"low_ms", "low ms", 4, 2, {}, [](PointRef p) { return p.figures.low_ms; }},
      {"high_ms", "high ms", 4, 2, {}, [](PointRef p) { return p.figures.high_ms; }},
      {"samples_per_s", "samples/s", 3, 0, {}, [](PointRef p) { return p.figures.samples_per_s; }},
      {"tokens_per_s_per_gpu",
       "tokens/s/GPU",
       2,
       0,
       {},
       [](PointRef p) { return some(p.figures.tokens_per_s_per_gpu); }},
      {"mfu", "MFU", 4, 3, {}, [](PointRef p) { return p.figures.mfu; }},
      {"exposed_comm_ms", "exposed ms", 4, 3, {}, [](PointRef p) { return p.figures.exposed_comm_ms; }},
      {"memory_gb", "memory GB", 2, 1, {}, [](PointRef p) { return some(p.figures.memory_gb); }, nullptr, true},
      {"fits", "fits", -1, -1, {}, nullptr, fits_text, true},
      {"limited_by", "limited by", -1, -1, {}, nullptr, [](PointRef p) { return p.figures.limited_by; }},
      {"error", "error", -1, -1, {}, nullptr, [](PointRef p) { return p.error; }, true},
      {"nodes", "nodes", 0, 0, {}, [](PointRef p) { return some(p.figures.nodes); }, nullptr, true},
      {"gpus", "GPUs", 0, 0, {}, [](PointRef p) { return some(p.figures.gpus); }, nullptr, true},
      {"global_batch", "batch", 0, 0, {}, [](PointRef p) { return some(p.figures.global_batch); }, nullptr, true},
      {"speedup", "speed-up", 3, 2, {}, [](PointRef p) { return p.speedup; }},
      {"scaling_efficiency", "efficiency", 4, 3, {}, [](PointRef p) { return p.efficiency; }},
      {"compute_ms", "compute ms", 4, 3, {}, [](PointRef p) { return p.figures.compute_ms; }},
      {"comm_ms", "comm ms", 4, 3, {}, [](PointRef p) { return p.figures.comm_ms; }},
      {"waiting_ms", "waiting ms", 4, 3, {}, [](PointRef p) { return p.figures.waiting_ms; }},
      {"host_bound_ms", "host ms", 4, 3, {}, [](PointRef p) { return p.figures.host_bound_ms; }},
      {"idle_ms", "idle ms", 4, 3, {}, [](PointRef p) { return p.figures.idle_ms; }},
  };
}

/// A key's value as a number where it is one.
double number_in(const std::string& text) { return plain_number(text).value_or(kNone); }

Result<Column> column_named(const std::vector<Column>& all, const std::string& name, const std::string& flag) {
  const auto it = std::ranges::find(all, name, &Column::name);
  if (it != all.end()) return *it;
  const auto head = std::ranges::find_if(all, [&](const Column& c) { return c.axis && c.head == name; });
  if (head != all.end()) return *head;
  std::vector<std::string> names;
  for (const Column& column : all) names.push_back(column.name);
  return Error{flag + ": found " + in_quotes(name) + ", expected a column of the table", "",
               spelling_hint(name, names)};
}

}  // namespace

std::vector<Column> all_columns(const SweepRequest& request) {
  const std::vector<std::string> heads = short_names(request.axes);
  std::vector<Column> columns;
  for (std::size_t a = 0; a < request.axes.size(); ++a) {
    Column key{request.axes[a].key, heads[a], -1, -1, a};
    key.always = true;
    columns.push_back(std::move(key));
  }
  for (Column& column : figure_columns()) columns.push_back(std::move(column));
  return columns;
}

Result<SweepView> sweep_view(const SweepRequest& request, const std::string& columns, const std::string& sort) {
  const std::vector<Column> all = all_columns(request);
  SweepView view{all, false, {}, false};
  if (!columns.empty()) {
    view.chosen = true;
    view.columns.clear();
    for (std::size_t begin = 0; begin <= columns.size();) {
      const std::size_t comma = std::min(columns.find(',', begin), columns.size());
      TRY_ASSIGN(Column column, column_named(all, columns.substr(begin, comma - begin), "--columns"));
      if (std::ranges::find(view.columns, column.name, &Column::name) != view.columns.end())
        return Error{"--columns: found '" + column.name + "' twice, expected each column once", "", ""};
      view.columns.push_back(std::move(column));
      begin = comma + 1;
    }
  }
  if (sort.empty()) return view;
  const std::size_t colon = std::min(sort.rfind(':'), sort.size());
  const std::string way = colon < sort.size() ? sort.substr(colon + 1) : "asc";
  if (way != "asc" && way != "desc")
    return Error{"--sort: found " + in_quotes(sort) + ", expected a column, with :desc for the largest first", "", ""};
  TRY_ASSIGN(view.sort, column_named(all, sort.substr(0, colon), "--sort"));
  view.descending = way == "desc";
  return view;
}

std::vector<std::size_t> order_of(const SweepView& view, const SweepResult& result) {
  std::vector<std::size_t> order(result.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!view.sort) return order;
  struct Key {
    double number = kNone;
    std::string text;
  };
  std::vector<Key> keys(result.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const SweepPoint point = result.point(i);
    if (!point.error.empty() && !view.sort->always) continue;
    if (view.sort->figure != nullptr) keys[i].number = view.sort->figure(point);
    if (view.sort->figure == nullptr) keys[i].text = csv_cell(*view.sort, point);
    if (view.sort->axis) keys[i].number = number_in(keys[i].text);
  }
  const auto before = [&](const Key& a, const Key& b) {
    const bool x = !std::isnan(a.number), y = !std::isnan(b.number);
    if (x && y) return view.descending ? a.number > b.number : a.number < b.number;
    if (x != y) return x;
    if (a.text.empty() || b.text.empty()) return !a.text.empty() && b.text.empty();
    return view.descending ? a.text > b.text : a.text < b.text;
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return before(keys[a], keys[b]); });
  return order;
}

std::string csv_cell(const Column& column, const SweepPoint& point) {
  if (column.axis) return point.values[*column.axis];
  if (!point.error.empty() && !column.always) return "";
  if (column.figure == nullptr) return column.text(point);
  const double value = column.figure(point);
  return std::isnan(value) ? "" : fixed_or_digits(value, column.decimals);
}

void write_sweep_csv(std::ostream& out, const SweepView& view, const SweepResult& result) {
  const std::vector<std::size_t> order = order_of(view, result);
  std::vector<std::string> cells;
  for (const Column& column : view.columns) cells.push_back(column.name);
  out << csv_line(cells);
  for (const std::size_t index : order) {
    const SweepPoint point = result.point(index);
    for (std::size_t c = 0; c < cells.size(); ++c) cells[c] = csv_cell(view.columns[c], point);
    out << csv_line(cells);
  }
}

Result<void> write_sweep_csv(const std::string& path, const SweepView& view, const SweepResult& result,
                             FilesTogether& files) {
  return files.write_stream(path, [&](std::ostream& out) -> Result<void> {
    write_sweep_csv(out, view, result);
    return {};
  });
}

}  // namespace distsim::study
