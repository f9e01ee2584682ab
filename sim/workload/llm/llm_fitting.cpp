#include "sim/workload/llm/llm_fitting.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "sim/workload/graph/memory.hpp"
#include "sim/workload/llm/layer_by_layer/layer_by_layer.hpp"

namespace distsim::workload {
namespace {

constexpr std::int64_t kMostDegree = 4096;
constexpr std::size_t kMostTried = 300;  // plans of some tens of microseconds: a study may refuse many jobs

/// A further setting of a key, which takes less memory than those before it.
struct Level {
  std::string sets;  ///< "parallel.shard=weights"
  std::function<void(ParallelSpec&)> apply;
};

/// What can be changed, by levels above what is there now.
using Lever = std::vector<Level>;
/// Of each lever; 0: as it is.
using Levels = std::vector<std::size_t>;

std::string setting(const char* key, std::int64_t value) {
  return "parallel." + std::string(key) + "=" + std::to_string(value);
}

/// `size_now`: of a micro-batch.
Lever smaller_micro_batches(std::int64_t size_now) {
  Lever out;
  for (std::int64_t size = size_now / 2; size >= 1; size /= 2) {
    out.push_back({setting("micro_batch", size), [size](ParallelSpec& p) {
                     p.micro_batch = size;
                     p.states_micro_batch = true;
                   }});
  }
  return out;
}

Lever recomputation(const ParallelSpec& now) {
  if (now.recompute.kind == RecomputeKind::full && now.recompute.layers == 0) return {};
  return {{"parallel.recompute=full", [](ParallelSpec& p) { p.recompute = {RecomputeKind::full, 0, {}}; }}};
}

Lever sharding(const ParallelSpec& now) {
  Lever out;
  for (const StateSplit shard : {StateSplit::optimizer, StateSplit::gradients, StateSplit::weights}) {
    if (shard > now.shard)
      out.push_back({"parallel.shard=" + std::string(name_of(shard)), [shard](ParallelSpec& p) { p.shard = shard; }});
  }
  return out;
}

Lever sequence_parallelism(const ParallelSpec& now) {
  if (now.tensor == 1 || now.sequence_parallel) return {};
  return {{"parallel.sequence_parallel=true", [](ParallelSpec& p) { p.sequence_parallel = true; }}};
}

/// Multiples of a degree that divide the GPUs, up to what they split, each at least a quarter above the one before: some numbers
/// of GPUs have hundreds of divisors.
Lever larger_degrees(const char* key, std::int64_t ParallelSpec::*degree, const ParallelSpec& now, std::int64_t gpus,
                     std::int64_t split) {
  Lever out;
  const std::int64_t most = std::min({gpus, split, kMostDegree});
  std::int64_t last = 0;
  for (std::int64_t n = 2 * now.*degree; n <= most; n += now.*degree) {
    if (gpus % n != 0 || 4 * n < 5 * last) continue;
    last = n;
    out.push_back({setting(key, n), [degree, n](ParallelSpec& p) { p.*degree = n; }});
  }
  return out;
}

/// On GPUs that NVLink joins.
Lever more_tensor(const ParallelSpec& now, const ClusterShape& cluster, const LlmSpec& spec) {
  const std::int64_t near = std::max(cluster.gpus_per_node, cluster.gpus_per_domain);
  Lever out = larger_degrees("tensor", &ParallelSpec::tensor, now, cluster.ranks(), std::min(near, spec.heads));
  if (now.sequence_parallel || now.tensor > 1) return out;
  for (Level& level : out) {
    level.sets += " --set parallel.sequence_parallel=true";
    level.apply = [split = level.apply](ParallelSpec& p) {
      split(p);
      p.sequence_parallel = true;
    };
  }
  return out;
}

/// Of a job that does not fit.
struct Job {
  const ModelSpec& model;
  const FrameworkSpec& framework;
  const ClusterShape& cluster;
  std::int64_t batch;
  ParallelSpec now{};
};

/// Of a layout that a change would start from.
std::int64_t micro_batch_of(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                            std::int64_t batch) {
  if (model.parallel.states_micro_batch) return model.parallel.micro_batch;
  if (is_layer_by_layer(model, framework, cluster.ranks())) {
    const Result<SamplePlan> samples = plan_samples(model, cluster.ranks());
    return samples.ok() ? samples->micro_step(0).largest() : 1;
  }
  const Result<LlmPlan> plan = plan_llm(model, framework, cluster, batch);
  return plan.ok() ? plan->parallel.micro_batch : model.parallel.micro_batch;
}

/// Tries changes of a job: of one lever, then of two, and so on, the first levers and levels first.
class FittingSearch {
 public:
  explicit FittingSearch(Job job) : job_(std::move(job)) {
    const ParallelSpec& now = job_.now;
    const std::int64_t gpus = job_.cluster.ranks();
    const auto& spec = job_.model.as<LlmSpec>();
    levers_ = {smaller_micro_batches(micro_batch_of(job_.model, job_.framework, job_.cluster, job_.batch)),
               recomputation(now),
               sharding(now),
               sequence_parallelism(now),
               more_tensor(now, job_.cluster, spec),
               larger_degrees("pipeline", &ParallelSpec::pipeline, now, gpus, spec.layers),
               larger_degrees("expert", &ParallelSpec::expert, now, gpus, spec.experts),
               larger_degrees("context", &ParallelSpec::context, now, gpus, spec.sequence)};
    add_choices(Levels(levers_.size(), 0), 0, kSplits, states_);
    add_choices(Levels(levers_.size(), 0), kSplits, levers_.size(), splits_);
    std::ranges::sort(states_, comes_before);
    std::ranges::sort(splits_, comes_before);
  }

  /// Of changes that contain another one that fits, only that one.
  std::vector<std::string> find() {
    for (std::ptrdiff_t count = 1; count <= std::ssize(levers_); ++count) try_changes(count);
    std::vector<std::string> out;
    for (const Levels& fitting : found_) out.push_back(sets_of(fitting));
    return out;
  }

 private:
  static constexpr std::size_t kMostFound = 3, kShards = 2;  ///< the lever of sharding
  static constexpr std::size_t kSplits = 4;                  ///< the first lever that splits the model

  bool is_done() const { return found_.size() >= kMostFound || tried_ >= kMostTried; }
  static std::ptrdiff_t changes_in(const Levels& levels) {
    return std::ssize(levels) - std::ranges::count(levels, std::size_t{0});
  }

  static bool comes_before(const Levels& a, const Levels& b) {
    if (changes_in(a) != changes_in(b)) return changes_in(a) < changes_in(b);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if ((a[i] > 0) != (b[i] > 0)) return a[i] > 0;
    }
    return a < b;
  }

  /// All levels of the levers from `lever` to before `end` whose degrees divide the GPUs.
  void add_choices(Levels levels, std::size_t lever, std::size_t end, std::vector<Levels>& out) const {
    if (lever == end) return out.push_back(std::move(levels));
    for (std::size_t level = 0; level <= levers_[lever].size(); ++level) {
      levels[lever] = level;
      if (divides(levels)) add_choices(levels, lever + 1, end, out);
    }
  }

  bool divides(const Levels& levels) const {
    const ParallelSpec p = with(levels);
    return job_.cluster.ranks() % (p.tensor * p.pipeline * p.context) == 0;
  }

  void try_changes(std::ptrdiff_t count) {
    for (std::size_t s = 0; s < splits_.size(); ++s) {
      const std::ptrdiff_t left = count - changes_in(splits_[s]);
      for (std::size_t i = 0; left >= 0 && i < states_.size() && !is_done(); ++i) {
        if (changes_in(states_[i]) != left) continue;
        Levels levels = states_[i];
        std::copy(splits_[s].begin() + kSplits, splits_[s].end(), levels.begin() + kSplits);
        const auto is_within = [&](const Levels& other) {
          return std::ranges::equal(other, levels, std::less_equal());
        };
        if (std::ranges::none_of(found_, is_within) && can_fit(s) && fits(levels)) found_.push_back(levels);
      }
    }
  }

  /// Whether anything fits that is split so: all else at its last level, and sharding there or, for stages of a pipeline keep
  /// whole weights, at its first one.
  bool can_fit(std::size_t split) {
    const auto [at, is_new] = can_fit_.try_emplace(split, false);
    if (!is_new) return at->second;
    Levels least = splits_[split];
    for (std::size_t i = 0; i < kSplits; ++i) least[i] = levers_[i].size();
    at->second = fits(least);
    if (at->second || levers_[kShards].size() < 2) return at->second;
    least[kShards] = 1;
    return at->second = fits(least);
  }

  bool fits(const Levels& levels) {
    ++tried_;
    ModelSpec model = job_.model;
    model.parallel = with(levels);
    return layout_fits(model, job_.framework, job_.cluster, job_.batch);
  }

  ParallelSpec with(const Levels& levels) const {
    ParallelSpec p = job_.now;
    for (std::size_t i = 0; i < levers_.size(); ++i) {
      if (levels[i] > 0) levers_[i][levels[i] - 1].apply(p);
    }
    return p;
  }

  std::string sets_of(const Levels& levels) const {
    std::string out;
    for (std::size_t i = 0; i < levers_.size(); ++i) {
      if (levels[i] > 0) out += (out.empty() ? "--set " : " --set ") + levers_[i][levels[i] - 1].sets;
    }
    return out;
  }

  Job job_;
  std::vector<Lever> levers_;
  std::vector<Levels> states_, splits_;  ///< choices of the levers before and from kSplits on, zero for the others
  std::vector<Levels> found_;
  std::map<std::size_t, bool> can_fit_;  ///< by index into splits_
  std::size_t tried_ = 0;
};

}  // namespace

bool layout_fits(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                 std::int64_t batch) {
  if (is_layer_by_layer(model, framework, cluster.ranks())) {
    const Result<SamplePlan> samples = plan_samples(model, cluster.ranks());
    if (!samples.ok()) return false;
    const Result<RankNeeds> needs = needs_layer_by_layer(model, framework, *samples);
    return needs.ok() && check_memory(needs->memory, cluster.ranks(), cluster.memory_per_gpu).ok();
  }
  const Result<LlmPlan> plan = plan_llm(model, framework, cluster, batch);
  return plan.ok() && fits(*plan);
}

std::string changes_that_fit(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                             std::int64_t batch) {
  ParallelSpec now = model.parallel;
  if (now.shard == StateSplit::automatic) now.shard = framework.parallel.shard;
  const std::vector<std::string> found = FittingSearch({model, framework, cluster, batch, std::move(now)}).find();
  if (found.empty())
    return "no smaller micro-batch, recomputation, sharding or larger split that was tried fits: use more GPUs, or search "
           "all layouts with distsim plan";
  std::string text = "it fits with ";
  for (std::size_t i = 0; i < found.size(); ++i) text += (i == 0 ? "" : ", or ") + found[i];
  return text;
}

}  // namespace distsim::workload
