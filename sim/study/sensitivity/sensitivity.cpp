#include "sim/study/sensitivity/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/text/names/spelling.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/study/workers.hpp"
#include "sim/workload/llm/layer_by_layer/layer_by_layer.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::study {
namespace {

using config::Experiment;

/// Resources whose pairs are tried: those that carry or compute, of which two can be in each other's way.
constexpr std::array<std::string_view, 7> kPaired{"nic_bandwidth", "nvlink_bandwidth", "pcie_bandwidth", "matrix_flops",
                                                  "hbm_bandwidth", "l2_bandwidth",     "host_speed"};
/// What a pair has to gain beyond the sum of its parts to be named, relative to the iteration: the smallest difference
/// that the report's rounded percentages show.
constexpr double kPairGain = 0.01;
/// Batches from 1/16 to 16 times the given one are looked at.
constexpr int kMostDoublings = 4;
/// Above the memory of any machine, and far below what a count of bytes holds.
constexpr double kMostBytes = 1e17;

Experiment improved(Experiment e, const Resource& resource, double factor) {
  resource.improve(e, std::isinf(factor) ? kNoLimit : factor);
  return e;
}

class Study {
 public:
  Study(const Experiment& e, const SensitivityRequest& request) : e_(e), request_(request) {}

  Result<Sensitivity> run(const std::function<void()>& on_resource) {
    TRY_ASSIGN(out_.base, predict_base());
    TRY_ASSIGN(work_, pipeline::fixed_work_of(e_));
    out_.factors = request_.factors;
    std::ranges::sort(out_.factors);
    out_.some_only = !request_.resources.empty();
    factors_.assign(kFactors.begin(), kFactors.end());
    factors_.insert(factors_.end(), out_.factors.begin(), out_.factors.end());
    std::ranges::sort(factors_);
    factors_.erase(std::unique(factors_.begin(), factors_.end()), factors_.end());
    const std::vector<const Resource*> present = wanted();
    out_.resources.resize(present.size());
    const auto study = [&](std::size_t i) {
      out_.resources[i] = present[i]->figures ? points_of(*present[i]) : memory(*present[i]);
    };
    if (!for_each_index(present.size(), std::thread::hardware_concurrency(), study, on_resource).empty())
      throw std::bad_alloc();  // what is left makes no table
    find_pairs();
    std::ranges::stable_sort(out_.resources, {}, [](const ResourceSensitivity& r) { return gain_key(r); });
    return std::move(out_);
  }

 private:
  std::vector<const Resource*> wanted() const {
    if (!request_.resources.empty()) return request_.resources;
    std::vector<const Resource*> out;
    for (const Resource& resource : resources()) {
      if (resource.present(e_)) out.push_back(&resource);
    }
    return out;
  }

  /// Shortest at twice as good first; then without limit.
  static std::pair<std::int64_t, std::int64_t> gain_key(const ResourceSensitivity& r) {
    const auto key = [&](double factor) {
      const ResourcePoint& p = r.at(factor);
      return p.error.empty() ? p.iteration.ps() : INT64_MAX;
    };
    return {key(2), key(kFactors.back())};
  }

  Result<report::Report> predict_base() {
    pipeline::Passes passes;
    TRY_ASSIGN(pipeline::Prediction p,
               pipeline::predict(e_, passes, cache_, pipeline::kPlayedMicroSteps, report::Detail::figures));
    return std::move(p.report);
  }

  static ResourcePoint point_of(const Result<pipeline::Figures>& r, double factor) {
    if (!r) return {factor, {}, "", r.error().text()};
    return {factor, r->iteration, report::text_of(r->limited_by), ""};
  }

  /// An experiment with the work of this one.
  ResourcePoint point(const Experiment& e, double factor) {
    return point_of(pipeline::predict_figures(e, cache_, work_), factor);
  }

  Result<pipeline::Figures> with_its_own_work(const Experiment& e) {
    TRY_ASSIGN(const pipeline::FixedWork work, pipeline::fixed_work_of(e));
    return pipeline::predict_figures(e, cache_, work);
  }

  ResourcePoint same_as_base(double factor) const {
    return {factor, out_.base.iteration, report::text_of(out_.base.limits.limited_by), ""};
  }

  /// The extremes first: where they change nothing, neither does what lies between.
  ResourceSensitivity points_of(const Resource& resource) {
    ResourceSensitivity out{&resource, std::vector<ResourcePoint>(factors_.size()), {}, ""};
    const auto at = [&](double factor) {
      const Experiment e = improved(e_, resource, factor);
      if (e.cluster.host.share_taken() >= 1)  // its work would take forever
        return ResourcePoint{factor, {}, "", "cluster.host.jitter_time would take all of the core"};
      return resource.in_workload ? point_of(with_its_own_work(e), factor) : point(e, factor);
    };
    const auto unchanged = [&](const ResourcePoint& p) {
      return p.error.empty() && p.iteration == out_.base.iteration;
    };
    ResourcePoint& worst = out.points.front();
    ResourcePoint& best = out.points.back();
    worst = at(factors_.front());
    best = at(factors_.back());
    for (std::size_t i = 1; i + 1 < factors_.size(); ++i) {
      const bool follows = factors_[i] == 1 || unchanged(factors_[i] < 1 ? worst : best);
      out.points[i] = follows ? same_as_base(factors_[i]) : at(factors_[i]);
    }
    out.elasticity = elasticity_of(out);
    return out;
  }

  /// Nothing where one of the two points has no iteration.
  static std::optional<double> elasticity_of(const ResourceSensitivity& r) {
    const ResourcePoint &below = r.at(0.9), &above = r.at(1.1);
    if (!below.error.empty() || !above.error.empty() || below.iteration.ps() <= 0 || above.iteration.ps() <= 0)
      return std::nullopt;
    return std::log(above.iteration.seconds() / below.iteration.seconds()) / std::log(1.1 / 0.9);
  }

  /// Bytes that the fullest rank needs.
  static std::int64_t bytes_needed(const workload::Workload& workload) {
    std::int64_t most = 0;
    for (const workload::RankMemory& m : workload.memory) most = std::max(most, m.total());
    return most;
  }

  /// GPUs of `factor` times the memory.
  Experiment with_memory(double factor) const {
    Experiment e = e_;
    const double bytes = static_cast<double>(e.device.hbm.capacity.value()) * std::min(factor, kNoLimit);
    e.device.hbm.capacity = Bytes(static_cast<std::int64_t>(std::min(bytes, kMostBytes)));
    return e;
  }

  static bool fits(const Experiment& e, const workload::Workload& workload) {
    return !workload.memory.empty() && bytes_needed(workload) <= pipeline::shape_of(e).memory_per_gpu.value();
  }

  /// The experiment with its batch times 2^power; none where that is no whole number of samples.
  static std::optional<Experiment> with_batch(Experiment e, int power) {
    for (std::int64_t* batch : {&e.model.global_batch, &e.model.per_gpu_batch}) {
      if (power < 0 && *batch % (std::int64_t{1} << -power) != 0) return std::nullopt;
      *batch = power < 0 ? *batch >> -power : *batch << power;
    }
    return e;
  }

  static Result<workload::Workload> workload_of(const Experiment& e) {
    return workload::build_workload(e.model, e.framework, pipeline::shape_of(e));
  }

  /// Whether there is such a job at all, whatever its memory: a batch may be too small for a layout.
  static bool is_possible(Experiment e) {
    e.model.memory_check = false;
    return workload_of(e).ok();
  }

  /// A batch that fits, and the iteration for the experiment's own samples at the rate that it reaches.
  struct Batch {
    int power = 0;
    ResourcePoint point;
  };

  /// The fastest per sample of the batches, by powers of two, that fit `factor` times the memory. `known`: what smaller
  /// memories have shown already.
  std::optional<Batch> fastest_batch(double factor, std::map<int, ResourcePoint>& known) {
    const Experiment e = with_memory(factor);
    const bool chooses_by_memory =  // what it recomputes and offloads, where nothing is said
        e.model.family->name == "llm" && !is_layer_by_layer(e.model, e.framework, pipeline::shape_of(e).ranks());
    for (int power = -kMostDoublings; power <= kMostDoublings; ++power) {
      if (known.contains(power) && !chooses_by_memory) continue;
      const auto other = with_batch(e, power);
      if (!other || !is_possible(*other)) continue;
      const auto workload = workload_of(*other);
      if (!workload || !fits(*other, *workload)) break;  // larger ones need more
      ResourcePoint point = same_as_base(factor);
      if (power != 0 || (chooses_by_memory && factor != 1)) {
        const auto r = with_its_own_work(*other);
        if (!r || r->samples_per_second <= 0) continue;
        const double seconds = out_.base.context.samples / r->samples_per_second;
        point = {factor, Duration::picoseconds(std::llround(seconds * 1e12)), report::text_of(r->limited_by), ""};
      }
      const auto [it, is_new] = known.emplace(power, point);
      if (!is_new && point.iteration < it->second.iteration) it->second = point;
    }
    const auto best = std::ranges::min_element(known, {}, [](const auto& k) { return k.second.iteration; });
    if (best == known.end()) return std::nullopt;
    Batch out{best->first, best->second};
    out.point.factor = factor;
    return out;
  }

  /// Relative to the fastest batch that fits now, so that more memory is what more memory changes.
  ResourceSensitivity memory(const Resource& resource) {
    ResourceSensitivity out{&resource, std::vector<ResourcePoint>(factors_.size()), {}, ""};
    std::map<int, ResourcePoint> known;
    std::optional<Duration> now;
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      if (!now && factors_[i] >= 1) {
        const auto present = fastest_batch(1, known);
        now = present ? present->point.iteration : out_.base.iteration;
      }
      const auto batch = fastest_batch(factors_[i], known);
      out.points[i] =
          batch ? batch->point : ResourcePoint{factors_[i], {}, "", "out of memory, also with a smaller batch"};
      if (batch && factors_[i] == 2)
        out.note = fmt::format("{:g} times the batch, per sample", std::ldexp(1.0, batch->power));
    }
    for (ResourcePoint& p : out.points) {
      if (!p.error.empty()) continue;
      const double ratio = p.iteration.seconds() / now->seconds();
      p.iteration = Duration::picoseconds(std::llround(static_cast<double>(out_.base.iteration.ps()) * ratio));
      if (p.iteration == out_.base.iteration) p.limited_by = report::text_of(out_.base.limits.limited_by);
    }
    out.elasticity = elasticity_of(out);
    return out;
  }

  const ResourceSensitivity* find(std::string_view name) const {
    const auto it = std::ranges::find_if(out_.resources, [&](const auto& r) { return r.resource->name == name; });
    return it == out_.resources.end() ? nullptr : &*it;
  }

  void find_pairs() {
    std::vector<ResourcePair> pairs;
    for (std::size_t i = 0; i < kPaired.size(); ++i) {
      for (std::size_t j = i + 1; j < kPaired.size(); ++j) {
        const ResourceSensitivity *a = find(kPaired[i]), *b = find(kPaired[j]);
        if (a && b && a->at(2).error.empty() && b->at(2).error.empty())
          pairs.push_back({a->resource, b->resource, a->at(2).iteration, b->at(2).iteration, {}});
      }
    }
    const auto try_both = [&](std::size_t i) {
      const ResourcePoint both = point(improved(improved(e_, *pairs[i].first, 2), *pairs[i].second, 2), 2);
      pairs[i].both = both.error.empty() ? both.iteration : pairs[i].first_only;
    };
    if (!for_each_index(pairs.size(), std::thread::hardware_concurrency(), try_both, [] {}).empty())
      throw std::bad_alloc();
    std::ranges::copy_if(pairs, std::back_inserter(out_.pairs),
                         [&](const ResourcePair& p) { return help_together(p); });
    std::ranges::stable_sort(out_.pairs, {}, &ResourcePair::both);
  }

  bool help_together(const ResourcePair& p) const {
    const double apart = out_.change(p.first_only) + out_.change(p.second_only);
    return apart - out_.change(p.both) >= kPairGain;
  }

  const Experiment& e_;
  const SensitivityRequest& request_;
  std::vector<double> factors_;  ///< those asked for and kFactors, smallest first
  pipeline::CostModelCache cache_;
  pipeline::FixedWork work_;
  Sensitivity out_;
};

}  // namespace

const ResourcePoint& ResourceSensitivity::at(double factor) const {
  return *std::ranges::find(points, factor, &ResourcePoint::factor);
}

double Sensitivity::change(Duration iteration) const { return iteration.seconds() / base.iteration.seconds() - 1; }

Result<std::vector<double>> parse_factors(const std::string& text) {
  std::vector<double> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    const double factor = word == "inf" ? std::numeric_limits<double>::infinity() : plain_number(word).value_or(0);
    if (word != "inf" && !(factor >= 1 / kNoLimit && factor <= kNoLimit))
      return Error{"--factors: found " + in_quotes(word) + ", expected a number from 1e-6 to 1e6, or inf", "",
                   number_hint(word)};
    if (std::ranges::find(out, factor) != out.end())
      return Error{"--factors: found " + in_quotes(word) + " twice, expected each factor once", "", ""};
    out.push_back(factor);
    at = end + 1;
  }
  return out;
}

Result<const Resource*> find_resource(const std::string& name, const Experiment& e) {
  std::vector<std::string> names;
  for (const Resource& resource : resources()) {
    if (name == resource.name && resource.present(e)) return &resource;
    if (name == resource.name)
      return Error{"--resource: found " + in_quotes(name) + ", which this experiment does not have", "", ""};
    names.emplace_back(resource.name);
  }
  return Error{"--resource: found " + in_quotes(name) + ", expected a resource", "", spelling_hint(name, names)};
}

Result<Sensitivity> sensitivity(const Experiment& experiment, const SensitivityRequest& request,
                                const std::function<void()>& on_resource) {
  return Study(experiment, request).run(on_resource);
}

}  // namespace distsim::study
