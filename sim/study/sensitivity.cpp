#include "sim/study/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::study {
namespace {

using config::Experiment;

/// Resources whose pairs are tried: those that carry or compute, of which two can be in each other's way.
constexpr std::array<std::string_view, 6> kPaired{"nic_bandwidth", "nvlink_bandwidth", "pcie_bandwidth",
                                                  "matrix_flops",  "hbm_bandwidth",    "host_speed"};
/// What a pair has to gain beyond the sum of its parts to be named, relative to the iteration: the smallest difference
/// that the report's rounded percentages show.
constexpr double kPairGain = 0.01;
/// Batches beyond this many times the given one are not looked for.
constexpr std::int64_t kMostBatches = 1024;

Experiment improved(Experiment e, const Resource& resource, double factor) {
  resource.improve(e, std::isinf(factor) ? kNoLimit : factor);
  return e;
}

/// A batch of `of` / `by` times the experiment's samples on every GPU.
Experiment with_batch(Experiment e, std::int64_t times, std::int64_t by) {
  e.model.global_batch = e.model.global_batch * times / by;
  e.model.per_gpu_batch = e.model.per_gpu_batch * times / by;
  return e;
}

class Study {
 public:
  explicit Study(const Experiment& e) : e_(e) {}

  Result<Sensitivity> run(const std::function<void()>& on_resource) {
    TRY_ASSIGN(out_.base, predict(e_));
    for (const Resource& resource : resources()) {
      if (resource.present(e_)) out_.resources.push_back(resource.improve ? points_of(resource) : memory(resource));
      on_resource();
    }
    find_pairs();
    std::ranges::stable_sort(out_.resources, {}, [](const ResourceSensitivity& r) { return gain_key(r); });
    return std::move(out_);
  }

 private:
  /// Shortest at twice as good first; then without limit.
  static std::pair<std::int64_t, std::int64_t> gain_key(const ResourceSensitivity& r) {
    const auto key = [&](double factor) {
      const ResourcePoint& p = r.at(factor);
      return p.error.empty() ? p.iteration.ps() : INT64_MAX;
    };
    return {key(2), key(kFactors.back())};
  }

  Result<report::Report> predict(const Experiment& e) {
    pipeline::Passes passes;
    TRY_ASSIGN(pipeline::Prediction p, pipeline::predict(e, passes, cache_));
    return std::move(p.report);
  }

  ResourcePoint point(const Experiment& e, double factor) {
    const Result<report::Report> r = predict(e);
    if (!r) return {factor, {}, "", r.error().text()};
    return {factor, r->iteration, limit_of(*r), ""};
  }

  ResourcePoint same_as_base(double factor) const { return {factor, out_.base.iteration, limit_of(out_.base), ""}; }

  /// The extremes first: where they change nothing, neither does what lies between.
  ResourceSensitivity points_of(const Resource& resource) {
    ResourceSensitivity out{&resource, {}, 0, ""};
    const auto at = [&](double factor) { return point(improved(e_, resource, factor), factor); };
    const auto unchanged = [&](const ResourcePoint& p) {
      return p.error.empty() && p.iteration == out_.base.iteration;
    };
    ResourcePoint& worst = out.points.front();
    ResourcePoint& best = out.points.back();
    worst = at(kFactors.front());
    best = at(kFactors.back());
    for (std::size_t i = 1; i + 1 < kFactors.size(); ++i) {
      const bool follows = unchanged(kFactors[i] < 1 ? worst : best);
      out.points[i] = follows ? same_as_base(kFactors[i]) : at(kFactors[i]);
    }
    out.elasticity = elasticity_of(out);
    return out;
  }

  static double elasticity_of(const ResourceSensitivity& r) {
    const ResourcePoint &below = r.at(0.9), &above = r.at(1.1);
    if (!below.error.empty() || !above.error.empty() || below.iteration.ps() <= 0 || above.iteration.ps() <= 0)
      return 0;
    return std::log(above.iteration.seconds() / below.iteration.seconds()) / std::log(1.1 / 0.9);
  }

  /// Bytes that the fullest rank needs; none where the workload cannot be built.
  static std::optional<std::int64_t> bytes_needed(const Experiment& e) {
    const auto workload = workload::build_workload(e.model, e.framework, pipeline::shape_of(e));
    if (!workload || workload->memory.empty()) return std::nullopt;
    std::int64_t most = 0;
    for (const workload::RankMemory& m : workload->memory) most = std::max(most, m.total());
    return most;
  }

  /// The largest batch, as a power of two times the experiment's, that fits GPUs of `factor` times the memory.
  std::optional<std::pair<std::int64_t, std::int64_t>> largest_batch(double factor) const {
    Experiment e = e_;
    const double capacity = static_cast<double>(e.device.hbm.capacity.value()) * std::min(factor, kNoLimit);
    e.device.hbm.capacity = Bytes(static_cast<std::int64_t>(std::min(capacity, 1e17)));
    const auto fits = [&](std::int64_t times, std::int64_t by) {
      const auto bytes = bytes_needed(with_batch(e, times, by));
      return bytes && *bytes <= (e.device.hbm.capacity - e.device.reserved_memory).value();
    };
    if (fits(1, 1)) {
      std::int64_t times = 1;
      while (times < kMostBatches && fits(times * 2, 1)) times *= 2;
      return std::pair{times, std::int64_t{1}};
    }
    for (std::int64_t by = 2; by <= kMostBatches; by *= 2) {
      const std::int64_t batch = std::max(e_.model.global_batch, e_.model.per_gpu_batch);
      if (batch % by != 0) break;
      if (fits(1, by)) return std::pair{std::int64_t{1}, by};
    }
    return std::nullopt;
  }

  /// The iteration at the rate (samples per second) that the largest batch in `factor` times the memory reaches.
  ResourcePoint memory_point(double factor, std::string* note) {
    const auto batch = largest_batch(factor);
    if (!batch) return {factor, {}, "", "out of memory, also with a smaller batch"};
    Experiment e = with_batch(e_, batch->first, batch->second);
    e.device.hbm.capacity = Bytes(static_cast<std::int64_t>(
        std::min(static_cast<double>(e.device.hbm.capacity.value()) * std::min(factor, kNoLimit), 1e17)));
    const Result<report::Report> r = predict(e);
    if (!r) return {factor, {}, "", r.error().text()};
    if (note)
      *note = fmt::format("x{} of the batch", batch->second > 1 ? 1.0 / double(batch->second) : double(batch->first));
    return {factor, Duration::picoseconds(std::llround(out_.base.context.samples / r->samples_per_second * 1e12)),
            limit_of(*r), ""};
  }

  /// Relative to the largest batch that fits now, so that 1 is no change.
  ResourceSensitivity memory(const Resource& resource) {
    ResourceSensitivity out{&resource, {}, 0, ""};
    const ResourcePoint now = memory_point(1, nullptr);
    for (std::size_t i = 0; i < kFactors.size(); ++i) {
      ResourcePoint p = memory_point(kFactors[i], kFactors[i] == 2 ? &out.note : nullptr);
      if (p.error.empty() && now.error.empty() && now.iteration.ps() > 0) {
        const double ratio = p.iteration.seconds() / now.iteration.seconds();
        p.iteration = Duration::picoseconds(std::llround(static_cast<double>(out_.base.iteration.ps()) * ratio));
      }
      out.points[i] = std::move(p);
    }
    return out;
  }

  const ResourceSensitivity* find(std::string_view name) const {
    const auto it = std::ranges::find_if(out_.resources, [&](const auto& r) { return r.resource->name == name; });
    return it == out_.resources.end() ? nullptr : &*it;
  }

  void find_pairs() {
    for (std::size_t i = 0; i < kPaired.size(); ++i) {
      for (std::size_t j = i + 1; j < kPaired.size(); ++j) {
        const ResourceSensitivity *a = find(kPaired[i]), *b = find(kPaired[j]);
        if (a && b) try_pair(*a, *b);
      }
    }
    std::ranges::stable_sort(out_.pairs, {}, &ResourcePair::both);
  }

  void try_pair(const ResourceSensitivity& a, const ResourceSensitivity& b) {
    const ResourcePoint &first = a.at(2), &second = b.at(2);
    if (!first.error.empty() || !second.error.empty()) return;
    const ResourcePoint both = point(improved(improved(e_, *a.resource, 2), *b.resource, 2), 2);
    if (!both.error.empty()) return;
    const double together = -out_.change(both.iteration);
    const double apart = -out_.change(first.iteration) - out_.change(second.iteration);
    if (together - apart < kPairGain) return;
    out_.pairs.push_back({a.resource, b.resource, first.iteration, second.iteration, both.iteration});
  }

  static std::string limit_of(const report::Report&) { return ""; }

  const Experiment& e_;
  pipeline::CostModelCache cache_;
  Sensitivity out_;
};

}  // namespace

const ResourcePoint& ResourceSensitivity::at(double factor) const {
  return *std::ranges::find(points, factor, &ResourcePoint::factor);
}

double Sensitivity::change(Duration iteration) const { return iteration.seconds() / base.iteration.seconds() - 1; }

Result<Sensitivity> sensitivity(const Experiment& experiment, const std::function<void()>& on_resource) {
  return Study(experiment).run(on_resource);
}

}  // namespace distsim::study
