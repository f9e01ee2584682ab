// What recipes look for in the points of a sweep.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "base/system/signals.hpp"
#include "base/text/printable.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/recipes/recipe.hpp"
#include "sim/study/sweep/point_experiments.hpp"
#include "sim/study/trials.hpp"

namespace distsim::study {
namespace {

constexpr double kNearMost = 0.9;  // of the highest rate: where the knee is said to be
constexpr std::uint32_t kTrialsOfFinding = 200;

/// y = a + b x by least squares, and the share of the variance that it explains.
struct FittedLine {
  double a = 0, b = 0, explained = 0;
};

std::optional<FittedLine> fit_line(const std::vector<std::pair<double, double>>& points) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (const auto& [px, py] : points) {
    n += 1;
    x += px;
    y += py;
    xx += px * px;
    xy += px * py;
    yy += py * py;
  }
  const double spread = n * xx - x * x, whole = yy - y * y / n;
  if (n < 3 || !(spread > 0)) return std::nullopt;
  const double b = (n * xy - x * y) / spread, a = (y - b * x) / n;
  double rest = 0;
  for (const auto& [px, py] : points) rest += (py - a - b * px) * (py - a - b * px);
  return FittedLine{a, b, whole > 0 ? 1 - rest / whole : 1};
}

/// The points of a sweep by their values on all axes but some.
template <class Left>
std::map<std::string, std::vector<SweepPoint>> groups_without(const SweepResult& result, const Left& left_out) {
  const SweepRequest& request = result.request();
  const std::vector<std::string> names = short_names(request.axes);
  std::vector<bool> is_left_out;
  for (const SweepAxis& axis : request.axes) is_left_out.push_back(left_out(axis));
  std::map<std::string, std::vector<SweepPoint>> groups;
  for (std::size_t i = 0; i < result.size(); ++i) {
    SweepPoint point = result.point(i);
    std::string name;
    for (std::size_t a = 0; a < names.size(); ++a) {
      if (!is_left_out[a]) name += (name.empty() ? "" : " ") + names[a] + "=" + printable(point.values[a], 40);
    }
    groups[name].push_back(std::move(point));
  }
  return groups;
}

std::string before(const std::string& group) { return group.empty() ? "" : group + ": "; }

/// Of points that fit, in the order of their batches; with model.memory_check: false others are predicted, too.
std::string knee_text(const std::string& group, std::vector<SweepPoint> points) {
  std::erase_if(points, [](const SweepPoint& p) { return !(p.figures.global_batch > 0); });
  std::ranges::stable_sort(points, {}, [](const SweepPoint& p) { return p.figures.global_batch; });
  const SweepPoint *best = nullptr, *knee = nullptr, *full = nullptr, *last = nullptr;
  const auto counts = [](const SweepPoint& p) { return p.error.empty() && p.figures.fits == Fits::yes; };
  for (const SweepPoint& p : points) {
    if (full == nullptr && p.figures.fits == Fits::no) full = &p;
    if (!counts(p)) continue;
    last = &p;
    if (best == nullptr || p.figures.samples_per_s > best->figures.samples_per_s) best = &p;
  }
  if (best == nullptr && full != nullptr && full->error.empty())
    return fmt::format("{}no batch fits: {:.0f} needs {:.1f} GB, a GPU has {:.1f} GB\n", before(group),
                       full->figures.global_batch, full->figures.memory_gb, full->figures.capacity_gb);
  if (best == nullptr) return "";
  for (const SweepPoint& p : points) {
    if (knee == nullptr && counts(p) && p.figures.samples_per_s >= kNearMost * best->figures.samples_per_s) knee = &p;
  }
  std::string out = fmt::format("{}knee at batch {:.0f}: {} samples/s, {:.0f} % of the most, {}, at batch {:.0f}\n",
                                before(group), knee->figures.global_batch, rate_text(knee->figures.samples_per_s),
                                100 * knee->figures.samples_per_s / best->figures.samples_per_s,
                                rate_text(best->figures.samples_per_s), best->figures.global_batch);
  if (full == nullptr)
    return out + fmt::format("{}memory: {:.1f} GB of {:.1f} GB at batch {:.0f}, the largest predicted\n", before(group),
                             last->figures.memory_gb, last->figures.capacity_gb, last->figures.global_batch);
  return out + fmt::format("{}memory ends between batch {:.0f}, {:.1f} GB, and {:.0f}; a GPU has {:.1f} GB\n",
                           before(group), last->figures.global_batch, last->figures.memory_gb,
                           full->figures.global_batch, full->figures.capacity_gb);
}

/// Whether the global batch grows with the GPUs.
bool keeps_samples_per_gpu(const std::vector<SweepPoint>& points) {
  const SweepPoint* first = nullptr;
  for (const SweepPoint& p : points) {
    if (!p.error.empty()) continue;
    if (first == nullptr) first = &p;
    if (p.figures.gpus != first->figures.gpus) return p.figures.global_batch != first->figures.global_batch;
  }
  return false;
}

/// Strong: 1 / speed-up = s + (1 - s) / n (Amdahl). Weak: scaled speed-up = n - s (n - 1) (Gustafson). Both lines through the
/// first point, by least squares over the others. Communication: exposed ms = a + b log2(GPUs).
std::string scaling_text(const std::string& group, const std::vector<SweepPoint>& points, Scaling scaling) {
  if (scaling == Scaling::as_given) scaling = keeps_samples_per_gpu(points) ? Scaling::weak : Scaling::strong;
  std::vector<std::pair<double, double>> exposed;
  double least = 0, over = 0, under = 0;
  for (const SweepPoint& p : points) {
    if (p.error.empty() && (least == 0 || p.figures.gpus < least)) least = p.figures.gpus;
  }
  const SweepPoint* widest = nullptr;
  for (const SweepPoint& p : points) {
    if (!p.error.empty()) continue;
    exposed.emplace_back(std::log2(p.figures.gpus), p.figures.exposed_comm_ms);
    const double n = p.figures.gpus / least;
    const double x = scaling == Scaling::weak ? n - 1 : 1 - 1 / n;
    const double y = scaling == Scaling::weak ? n - p.speedup : 1 / p.speedup - 1 / n;
    over += x * y;
    under += x * x;
    if (widest == nullptr || p.figures.gpus > widest->figures.gpus) widest = &p;
  }
  if (!(under > 0)) return "";
  const double serial = over / under;
  std::string out = fmt::format("{}from {:.0f} to {:.0f} GPUs: speed-up {:.2f}, efficiency {:.1f} %\n", before(group),
                                least, widest->figures.gpus, widest->speedup, 100 * widest->efficiency);
  const char* law = scaling == Scaling::weak ? "Gustafson" : "Amdahl";
  if (serial > 1)  // as of a speed-up below 1, which no serial fraction describes
    out += fmt::format("{}{}: no serial fraction fits, more GPUs are on the whole not faster than {:.0f}\n",
                       before(group), law, least);
  else
    out += fmt::format(
        "{}{}: serial fraction {:.2f} %{}\n", before(group), law, 100 * serial,
        scaling == Scaling::strong && serial > 0 ? fmt::format(", a speed-up of {:.3g} at most", 1 / serial) : "");
  if (const auto line = fit_line(exposed))
    out += fmt::format("{}exposed communication: {:.3g} ms + {:.3g} ms x log2(GPUs), r2 {:.2f}\n", before(group),
                       line->a, line->b, line->explained);
  return out;
}

Result<report::TrialTimes> trial_times(const Result<config::Experiment>& experiment) {
  if (!experiment.ok()) return experiment.error();
  pipeline::Passes passes;
  TRY_ASSIGN(const pipeline::Prediction prediction, pipeline::predict(*experiment, passes));
  return run_trials(prediction, {kTrialsOfFinding, 1});
}

/// As benchmark scripts of distributed training print it: percentiles of the iteration, and samples per second of a rank.
std::string percentiles_text(const SweepResult& result) {
  std::string out = fmt::format("{:<40} {:>10} {:>10} {:>10} {:>10} {:>14} {:>9}\n", "per rank", "p10 ms", "p50 ms",
                                "p90 ms", "p99 ms", "samples/s p50", "speed-up");
  const auto variants = variants_of(result.request());
  if (!variants.ok()) return "";
  PointExperiments experiments(result.request(), *variants);
  double first = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const SweepPoint point = result.point(i);
    if (!point.error.empty()) continue;
    if (end_asked()) return out + "interrupted: the percentiles of the other points were not worked out\n";
    Result<report::TrialTimes> times = Error{"interrupted", "", ""};
    (void)unless_signalled([&] { times = trial_times(experiments.at(i)); });
    if (!times.ok()) continue;
    const double rate = point.figures.global_batch / point.figures.gpus / times->p50.seconds();
    if (first == 0) first = rate;
    std::string name;
    for (const std::string& value : point.values) name += (name.empty() ? "" : ", ") + printable(value, 40);
    out += fmt::format("{:<40} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>14} {:>8.2f}x\n", name, times->p10.ms(),
                       times->p50.ms(), times->p90.ms(), times->p99.ms(), rate_text(rate), rate / first);
  }
  return first > 0 ? out : "";
}

}  // namespace

std::string findings(Find find, const SweepResult& result) {
  std::string out;
  if (find == Find::knee) {
    const auto is_batch = [](const SweepAxis& axis) {
      return axis.key == "model.global_batch" || axis.key == "model.per_gpu_batch";
    };
    for (const auto& [group, points] : groups_without(result, is_batch)) out += knee_text(group, points);
  } else if (find == Find::scaling) {
    for (const auto& [group, points] : groups_without(result, counts_gpus))
      out += scaling_text(group, points, result.request().scaling);
  } else if (find == Find::comparison) {
    out = percentiles_text(result);
  }
  return out.empty() ? out : "\n" + out;
}

std::string why_nothing(Find find, const SweepResult& result) {
  if (result.predicted() == 0) return "no point has a prediction";
  if (find != Find::scaling) return "no point has what is looked for";
  if (std::ranges::none_of(result.request().axes, counts_gpus)) return kNoGpusSwept;
  return "no two points that differ only in the number of GPUs have a prediction";
}

}  // namespace distsim::study
