#include "sim/serving/sensitivity/sensitivity.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "base/system/signals.hpp"
#include "base/text/columns.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "base/threads/side_by_side.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/serving/report/play.hpp"
#include "sim/serving/results/batch_means.hpp"
#include "sim/serving/spec/fingerprint.hpp"

namespace distsim::serving {
namespace {

constexpr double kNoLimit = 1e6;  ///< what infinity is computed as: a millionth of the time
constexpr double kBelow = 0.9, kAbove = 1.1;
constexpr const char* kPolicy = "policy";  ///< as a resource

/// Of each seed.
struct Run {
  double p99_ms = 0, goodput_per_s = 0;
  std::uint64_t warm_up = 0;
};

struct Runs {
  std::vector<Run> runs;
  bool unstable = false;
};

double p99_of(const RunResult& r) {
  return r.all.answered() == 0 ? 0 : static_cast<double>(r.all.latency_ps.quantile(0.99)) * 1e-9;
}
double goodput_of(const RunResult& r) {
  return r.span_s() > 0 ? static_cast<double>(r.all.requests - r.all.violations) / r.span_s() : 0;
}

/// `base`: whose warm-ups are left out; null: they are found.
Result<Runs> run_all(const Experiment& e, const PolicyEntry& policy, const Runs* base) {
  Runs out;
  for (int i = 0; i < kSensitivitySeeds; ++i) {
    Load load = load_at(e, e.rates_per_s[0]);
    load.seed += static_cast<std::uint64_t>(i);
    const std::uint64_t* warm_up = base == nullptr ? nullptr : &base->runs[static_cast<std::size_t>(i)].warm_up;
    TRY_ASSIGN(const RunResult r, play(e, policy, load, warm_up));
    out.runs.push_back({p99_of(r), goodput_of(r), r.warm_up});
    out.unstable = out.unstable || r.unstable;
  }
  return out;
}

/// The mean of a figure and of its changes run by run.
/// Mean of some values and the half width of its interval at 95 %.
std::pair<double, double> mean_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double v : values) {
    sum += v;
    squares += v * v;
  }
  const double variance = std::max(0.0, (squares - sum * sum / n) / (n - 1));
  return {sum / n, student_quantile(0.975, values.size() - 1) * std::sqrt(variance / n)};
}

Change change_of(const Runs& base, const Runs& now, double Run::*figure) {
  Change out;
  std::vector<double> changes, differences;
  out.known = true;
  for (std::size_t i = 0; i < now.runs.size(); ++i) {
    const double before = base.runs[i].*figure, after = now.runs[i].*figure;
    changes.push_back(before > 0 ? after / before - 1 : 0);
    differences.push_back(after - before);
    out.known = out.known && before > 0;
    out.value += after / static_cast<double>(now.runs.size());
  }
  std::tie(out.change, out.half_width) = mean_of(changes);
  std::tie(out.difference, out.difference_half_width) = mean_of(differences);
  return out;
}

class Study {
 public:
  Study(const std::string& path, const std::vector<std::string>& sets, const SensitivityRequest& request)
      : path_(path), sets_(sets), request_(request) {}

  Result<Sensitivity> run(const std::function<void()>& on_lever) {
    ServingSpec spec;
    TRY_ASSIGN(base_, load_changed(
                          path_, sets_, [&](ServingSpec& s) { spec = s; }, request_.prices));
    base_print_ = fingerprint(base_);
    std::vector<Lever> levers = levers_of(spec, base_);
    TRY(choose(levers));
    TRY_ASSIGN(base_runs_, run_all(base_, *base_.policies[0], nullptr));
    out_.title = base_.title;
    out_.policy = base_.policies[0]->name;
    out_.unstable = base_runs_.unstable;
    out_.factors = request_.factors;
    std::ranges::sort(out_.factors);
    for (const Run& r : base_runs_.runs) {
      out_.p99_ms += r.p99_ms / kSensitivitySeeds;
      out_.goodput_per_s += r.goodput_per_s / kSensitivitySeeds;
    }
    out_.rate_per_s = offered_rate(load_at(base_, base_.rates_per_s[0]));
    out_.levers.resize(levers.size());
    std::vector<const PolicyEntry*> others;
    for (const PolicyEntry* p : policies()) {
      if (with_policies_ && p != base_.policies[0]) others.push_back(p);
    }
    out_.policies.resize(others.size());
    for_each(levers.size() + others.size(), on_lever, [&](std::size_t i) {
      if (i < levers.size())
        out_.levers[i] = lever(levers[i]);
      else
        out_.policies[i - levers.size()] = policy(*others[i - levers.size()]);
    });
    if (end_asked()) return Error{"interrupted before all points were done", "", ""};
    std::ranges::stable_sort(out_.levers, {}, [](const LeverSensitivity& l) { return gain(l); });
    std::ranges::stable_sort(out_.policies, {}, [](const SensitivityPoint& p) {
      return p.error.empty() && p.p99_ms.known ? p.p99_ms.change : std::numeric_limits<double>::infinity();
    });
    return std::move(out_);
  }

 private:
  Result<void> choose(std::vector<Lever>& levers) {
    with_policies_ = tries_policies(request_);
    if (request_.resources.empty()) return {};
    std::vector<std::string> names{kPolicy};
    for (const Lever& l : levers) names.push_back(l.name);
    std::vector<Lever> chosen;
    for (const std::string& name : request_.resources) {
      if (name == kPolicy) continue;
      const auto at = std::ranges::find(levers, name, &Lever::name);
      if (at == levers.end())
        return Error{"--resource: found " + in_quotes(name) + ", expected one that the experiment has", "",
                     spelling_hint(name, names)};
      chosen.push_back(*at);
    }
    levers = std::move(chosen);
    return {};
  }

  template <class Work>
  void for_each(std::size_t count, const std::function<void()>& on_lever, const Work& work) {
    std::atomic<std::size_t> next{0};
    std::mutex reporting;
    const auto loop = [&] {
      for (std::size_t i = next++; i < count && !end_asked(); i = next++) {
        work(i);
        const std::lock_guard lock(reporting);
        on_lever();
      }
    };
    side_by_side(static_cast<unsigned>(std::min<std::size_t>(request_.jobs, count)), loop);
  }

  LeverSensitivity lever(const Lever& l) const {
    LeverSensitivity out{l.name, one_line(l.words), l.level, {}, std::nullopt};
    for (const double factor : out_.factors) out.points.push_back(point(l, factor));
    const SensitivityPoint below = point(l, kBelow), above = point(l, kAbove);
    if (below.error.empty() && above.error.empty() && below.p99_ms.value > 0 && above.p99_ms.value > 0)
      out.elasticity = std::log(above.p99_ms.value / below.p99_ms.value) / std::log(kAbove / kBelow);
    return out;
  }

  SensitivityPoint point(const Lever& l, double factor) const {
    SensitivityPoint out;
    out.factor = factor;
    if (std::isinf(factor) && l.has_limit) {
      out.error = "has no meaning without limit";
      return out;
    }
    const double finite = std::isinf(factor) ? kNoLimit : factor;
    Result<bool> done = !l.has_limit;  // numbers of what was compiled are part of the fingerprint
    auto changed = load_changed(
        path_, sets_,
        [&](ServingSpec& s) {
          if (l.of_spec) done = l.of_spec(s, finite);
        },
        request_.prices);
    if (!done.ok()) {
      out.error = done.error().what;
      return out;
    }
    if (!changed.ok()) {
      out.error = changed.error().what;
      return out;
    }
    if (l.of_experiment) l.of_experiment(*changed, finite);
    if (factor != 1 && fingerprint(*changed) == base_print_) {
      out.error = "changes nothing: " + (*done ? l.why_idle : "a whole number stays what it is");
      return out;
    }
    for (std::size_t m = 0; m < base_.scenario.models.size(); ++m) {
      Model& model = changed->scenario.models[m];
      model.deadline_ps = base_.scenario.models[m].deadline_ps;
      for (const Gpu& gpu : changed->scenario.gpus) {
        if (model.weight_bytes > gpu.memory_bytes && changed->scenario.runs_on(gpu.kind, static_cast<std::uint32_t>(m)))
          out.error = "weights of " + model.name + " do not fit into " + gpu.name;
      }
    }
    if (out.error.empty()) fill(out, run_all(*changed, *base_.policies[0], &base_runs_));
    return out;
  }

  SensitivityPoint policy(const PolicyEntry& entry) const {
    SensitivityPoint out;
    out.policy = entry.name;
    fill(out, run_all(base_, entry, &base_runs_));
    return out;
  }

  void fill(SensitivityPoint& out, const Result<Runs>& runs) const {
    if (!runs.ok()) {
      out.error = runs.error().what;
      return;
    }
    out.p99_ms = change_of(base_runs_, *runs, &Run::p99_ms);
    const bool all_answer = std::ranges::all_of(runs->runs, [](const Run& r) { return r.p99_ms > 0; });
    out.p99_ms.known = out.p99_ms.known && all_answer;  // no answers are no short tail
    out.goodput_per_s = change_of(base_runs_, *runs, &Run::goodput_per_s);
    out.unstable = runs->unstable;
  }

  static double gain(const LeverSensitivity& l) {
    double least = 0;
    for (const SensitivityPoint& p : l.points) {
      if (p.error.empty() && p.p99_ms.known && (p.factor == 2 || l.at(2) == nullptr))
        least = std::min(least, p.p99_ms.change);
    }
    return least;
  }

  std::string path_;
  std::vector<std::string> sets_;
  const SensitivityRequest& request_;
  Experiment base_;
  std::string base_print_;
  Runs base_runs_;
  bool with_policies_ = true;
  Sensitivity out_;
};

}  // namespace

bool tries_policies(const SensitivityRequest& request) {
  return request.resources.empty() || std::ranges::find(request.resources, kPolicy) != request.resources.end();
}

const SensitivityPoint* LeverSensitivity::at(double factor) const {
  const auto found = std::ranges::find(points, factor, &SensitivityPoint::factor);
  return found == points.end() ? nullptr : &*found;
}

Result<Sensitivity> sensitivity(const std::string& path, const std::vector<std::string>& sets,
                                const SensitivityRequest& request, const std::function<void()>& on_lever) {
  return Study(path, sets, request).run(on_lever);
}

}  // namespace distsim::serving
