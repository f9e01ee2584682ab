#include "sim/study/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/config/variants.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/points/progress.hpp"
#include "sim/study/sweep/point_experiments.hpp"

namespace distsim::study {
namespace {

/// Evaluates points; used by several threads.
class SweepEvaluator {
 public:
  SweepEvaluator(const SweepRequest& request, std::shared_ptr<config::Variants> variants)
      : experiments_(request, std::move(variants)) {}

  Row evaluate(std::size_t index) {
    const Result<config::Experiment> e = experiments_.at(index);
    if (!e) return Row{{}, {}, e.error().text()};
    const Result<report::Report> report = pipeline::predict_figures(*e, cache_);
    if (!report) return row_of(figures_without_prediction(*e, report.error(), cache_), report.error().text());
    return row_of(figures_of(*e, *report), "");
  }

 private:
  PointExperiments experiments_;
  pipeline::CostModelCache cache_;
};

/// Variants are compared as a whole: none of them is another one on more GPUs.
Result<void> check_variants(const SweepRequest& request) {
  for (const char* key : {"cluster.nodes", "cluster.gpus_per_node"}) {
    if (std::ranges::any_of(request.axes, [&](const SweepAxis& axis) { return gives(axis, key); }))
      return Error{fmt::format("{}: found {}, and variants that set {}, expected a list of its values",
                               request.scaling_asked, name_of(request.scaling), key),
                   "", fmt::format("give {} under vary, or with --set", key)};
  }
  return {};
}

/// A row is computed with the batch that it is labelled with.
Result<void> check_scaling(const SweepRequest& request) {
  const auto check = [&](std::string_view replaced, std::string_view other) -> Result<void> {
    if (std::ranges::none_of(request.axes, [&](const SweepAxis& axis) { return gives(axis, replaced); })) return {};
    return Error{fmt::format("{}: found {}, which sets the batch itself, and a swept {}, expected one of them",
                             request.scaling_asked, name_of(request.scaling), replaced),
                 "", fmt::format("sweep {}", other)};
  };
  if (request.scaling == Scaling::as_given) return {};
  if (std::ranges::none_of(request.axes, counts_gpus)) return check_variants(request);
  return request.scaling == Scaling::weak ? check("model.global_batch", "model.per_gpu_batch")
                                          : check("model.per_gpu_batch", "model.global_batch");
}

}  // namespace

std::string_view name_of(Scaling scaling) {
  return scaling == Scaling::as_given ? "as given" : scaling == Scaling::weak ? "weak" : "strong";
}

Result<std::size_t> count_points(const std::vector<double>& values) {
  constexpr std::size_t kShown = 24;
  double count = 1;
  std::string product;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double n = values[i];
    count *= n;
    if (i > kShown) continue;
    product += i == 0 ? "" : " x ";
    product += i == kShown ? "..." : n < 1e15 ? grouped(static_cast<std::uint64_t>(n)) : fmt::format("{:.3g}", n);
  }
  if (count <= static_cast<double>(kMostPoints)) return static_cast<std::size_t>(count);
  return Error{fmt::format("found {} = {:.3g} points, expected at most {}, which take some 5 GB of memory; vary fewer "
                           "keys at once, or give fewer values",
                           product, count, grouped(kMostPoints)),
               "--set", ""};
}

std::vector<std::string> values_at(const std::vector<SweepAxis>& axes, std::size_t index) {
  std::vector<std::string> values(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    values[a] = axes[a].values[index % axes[a].values.size()];
    index /= axes[a].values.size();
  }
  return values;
}

std::vector<std::string> sets_at(const SweepRequest& request, std::size_t index) {
  std::vector<std::size_t> places(request.axes.size());
  for (std::size_t a = places.size(); a-- > 0; index /= request.axes[a].values.size())
    places[a] = index % request.axes[a].values.size();
  std::vector<std::string> sets = request.sets;
  for (std::size_t a = 0; a < places.size(); ++a) {
    if (request.axes[a].sets.empty()) continue;
    for (const std::string& set : request.axes[a].sets[places[a]])  // in place of what is fixed for all variants
      std::erase_if(sets, [&](const std::string& fixed) { return config::is_of_key(fixed, config::key_of_set(set)); });
  }
  for (std::size_t a = 0; a < places.size(); ++a) {
    const SweepAxis& axis = request.axes[a];
    if (axis.sets.empty())
      sets.push_back(axis.key + "=" + axis.values[places[a]]);
    else
      sets.insert(sets.end(), axis.sets[places[a]].begin(), axis.sets[places[a]].end());
  }
  return sets;
}

Identity sweep_identity(const SweepRequest& request, const ConfigNode& experiment) {
  Identity out{program_fact()};
  std::string order, fixed;
  for (const SweepAxis& axis : request.axes) {
    std::string text = axis.key + "=";
    for (const std::string& value : axis.values) text += (&value == &axis.values.front() ? "" : ",") + value;
    for (const std::vector<std::string>& sets : axis.sets) {
      for (const std::string& set : sets) text += " " + set;
      text += ";";
    }
    out.push_back({"--set " + axis.key, std::move(text)});
    order += (order.empty() ? "" : ", ") + axis.key;
  }
  for (const std::string& set : request.sets) fixed += (fixed.empty() ? "" : ", ") + set;
  out.push_back({"order of the swept keys", std::move(order)});
  out.push_back({"fixed --set", std::move(fixed)});
  out.push_back({"--scaling", std::string(name_of(request.scaling))});
  std::ranges::move(inputs_facts(experiment, values_of(request.sets, request.axes)), std::back_inserter(out));
  return out;
}

Result<PointList> sweep_points(const SweepRequest& request, bool identified) {
  PointList list;
  list.command = "sweep";
  std::vector<double> values;
  for (const SweepAxis& axis : request.axes) values.push_back(static_cast<double>(axis.values.size()));
  TRY_ASSIGN(list.count, count_points(values));
  TRY_ASSIGN(const std::shared_ptr<config::Variants> variants, variants_of(request));
  TRY(variants->with(sets_at(request, 0)));
  TRY(check_scaling(request));
  if (identified) {
    TRY_ASSIGN(const ConfigNode text, variants->parsed({}));
    list.identity = sweep_identity(request, text);
  }
  const auto evaluator = std::make_shared<SweepEvaluator>(request, variants);
  list.evaluate = [evaluator](std::size_t index) { return evaluator->evaluate(index); };
  list.worth = [](const Row& row) {
    const SweepFigures f = figures_in(row);
    return f.fits == Fits::no ? 0 : f.samples_per_s;
  };
  list.describe = [](const Row& row) {
    const SweepFigures f = figures_in(row);
    return fmt::format("{} samples/s in {:.4g} ms", rate_text(f.samples_per_s), f.iteration_ms);
  };
  return list;
}

std::vector<std::size_t> sweep_order(const SweepRequest& request) {
  const auto of_machine = [](const SweepAxis& axis) {
    return axis.key.starts_with("cluster.") || axis.key.starts_with("device.") || axis.key.starts_with("collectives.");
  };
  std::vector<std::size_t> order{0};
  const auto vary = [&](bool machine) {  // each value of an axis with all that is varied so far
    std::size_t stride = 1;
    for (std::size_t a = request.axes.size(); a-- > 0;) {
      const std::size_t length = request.axes[a].values.size();
      if (of_machine(request.axes[a]) == machine) {
        const std::size_t before = order.size();
        order.reserve(before * length);
        for (std::size_t v = 1; v < length; ++v) {
          for (std::size_t i = 0; i < before; ++i) order.push_back(order[i] + v * stride);
        }
      }
      stride *= length;
    }
  };
  vary(false);
  vary(true);
  return order;
}

SweepResult::SweepResult(SweepRequest request, const Rows& rows) : request_(std::move(request)), rows_(rows) {
  add_bases();
}

/// What a point is compared with: the point of fewest GPUs that has the same values on all other axes.
void SweepResult::add_bases() {
  counting_ = count_gpus(request_.axes);
  const bool scales = std::ranges::find(counting_, true) != counting_.end();
  if (scales) bases_.resize(size());
  for (std::size_t i = 0; i < size(); ++i) {
    if (!rows_.has(i)) continue;
    const Row row = rows_.at(i);
    if (!row.error.empty()) continue;
    ++predicted_;
    if (!scales) continue;
    const SweepFigures f = figures_in(row);
    Base& base = bases_[index_with_first(request_.axes, i, [&](std::size_t a) { return counting_[a]; })];
    if (base.gpus == 0 || f.gpus < base.gpus) base = {f.gpus, f.samples_per_s};
  }
}

SweepPoint SweepResult::point(std::size_t index) const {
  SweepPoint point{values_at(request_.axes, index), "interrupted", {}};
  if (!rows_.has(index)) return point;
  Row row = rows_.at(index);
  point.figures = figures_in(row);
  point.error = request_.told && !row.error.empty() ? request_.told(row.error) : std::move(row.error);
  if (!point.error.empty()) return point;
  point.speedup = point.efficiency = 1;
  if (bases_.empty()) return point;
  const Base& base = bases_[index_with_first(request_.axes, index, [&](std::size_t a) { return counting_[a]; })];
  if (point.figures.gpus == base.gpus) return point;
  point.speedup = point.figures.samples_per_s / base.samples_per_s;
  point.efficiency = point.speedup / (point.figures.gpus / base.gpus);
  return point;
}

/// False where two predictions that differ only in this axis differ in anything.
bool SweepResult::is_idle(std::size_t axis) const {
  std::unordered_map<std::size_t, double> first;
  bool compared = false;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!rows_.has(i)) continue;
    const Row row = rows_.at(i);
    if (!row.error.empty()) continue;
    const double mark = figures_in(row).fingerprint;
    const auto [it, fresh] =
        first.emplace(index_with_first(request_.axes, i, [&](std::size_t a) { return a == axis; }), mark);
    if (fresh) continue;
    if (it->second != mark) return false;
    compared = true;
  }
  return compared;
}

std::vector<std::string> SweepResult::axes_without_effect() const {
  std::vector<std::string> out;
  for (std::size_t a = 0; a < request_.axes.size(); ++a) {
    if (is_idle(a)) out.push_back(request_.axes[a].key);
  }
  return out;
}

}  // namespace distsim::study
