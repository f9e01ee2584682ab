#include "sim/study/plan/layouts/layout_search.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "base/system/signals.hpp"
#include "base/threads/stop.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/plan/layouts/layout_bound.hpp"
#include "sim/study/plan/layouts/layout_fit.hpp"

namespace distsim::study {
namespace {

using workload::ParallelSpec;

/// Layouts that are played at a time, whatever the number of threads, so that what is played does not depend on it.
constexpr std::size_t kBatch = 8;
constexpr std::size_t kOwnGrid = SIZE_MAX;  ///< in the place of the experiment's own layout, after all others
constexpr std::size_t kLargeBatch = 1024;   ///< where no result excludes another layout

void value(PlayedLayout& played, const LayoutSite& site, const Goal& goal) {
  const auto of = [&](Objective objective) {
    return value_of(objective, site.size(), played.iteration.seconds(), played.compute, played.memory);
  };
  played.value = of(goal.objective);
  if (goal.second) played.second = of(*goal.second);
}

/// Place of a shape or a layout in the order of the space.
using Order = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;  // site, grid, shape, layout + 1

struct Node {
  double bound = 0, second = 0;  ///< of the goal
  Order order;
  double seconds = 0;  ///< bound on the iteration
  std::int64_t memory = 0;
  bool operator<(const Node& o) const { return std::tie(bound, order) > std::tie(o.bound, o.order); }
  bool is_shape() const { return std::get<3>(order) == 0; }
};

/// A grid that some layout of can be planned.
struct LiveGrid {
  ParallelSpec grid;
  workload::LlmPlan settled;
};

class LayoutSearch {
 public:
  LayoutSearch(const std::vector<LayoutSite>& sites, const SearchOptions& options, std::vector<PlayedLayout> known,
               pipeline::CostModelCache& cache, const std::function<void()>& on_played)
      : sites_(sites), options_(options), plays_(options.plays), cache_(cache), on_played_(on_played) {
    for (PlayedLayout& p : known) {
      known_.push_back(p);
      keep(std::move(p), Order());
    }
  }

  Result<SearchResult> run() {
    if (best_.empty() && !own_fits() && nothing_fits()) return SearchResult{{}, counts_};
    for (std::size_t s = 0; s < sites_.size(); ++s) TRY(open_site(s));
    while (!queue_.empty() && !end_asked()) {
      TRY(collect());
      if (batch_.empty()) break;
      TRY(play_batch());
      if (options_.most_played > 0 && counts_.played >= static_cast<double>(options_.most_played)) break;
    }
    close();
    return SearchResult{take_best(), counts_};
  }

 private:
  using Kept = std::pair<std::tuple<double, Order>, PlayedLayout>;

  /// Where nothing is known to fit, this is found out first: bounds of what does not fit would be of no use.
  bool nothing_fits() {
    SearchCounts counts;
    for (const LayoutSite& site : sites_) {
      const std::optional<UnfitCounts> of_site = count_unfit(site.space);
      if (!of_site) return false;
      counts.space.considered += of_site->space.considered;
      counts.space.undivided += of_site->space.undivided;
      counts.unfit += of_site->unfit;
    }
    counts_ = counts;
    return true;
  }

  /// Whether the experiment's own layout fits on some site.
  bool own_fits() {
    for (std::size_t s = 0; s < sites_.size(); ++s) {
      if (!sites_[s].own) continue;
      const Result<workload::LlmPlan> plan = plan_of(s, *sites_[s].own);
      if (plan && fits(s, most_memory(*plan))) return true;
    }
    return false;
  }

  Result<void> open_site(std::size_t s) {
    const LayoutSite& site = sites_[s];
    TRY_ASSIGN(const auto models, cache_.models({site.experiment.cluster, site.experiment.device,
                                                 pipeline::collective_options_of(site.experiment)}));
    bounds_.push_back(std::make_unique<LayoutBound>(site.experiment, site.space, models));
    grids_.emplace_back();
    has_own_.push_back(std::ranges::any_of(known_, [&](const PlayedLayout& k) {
      return k.site == s && site.own && !k.by_layers && same_layout(k.layout, *site.own);
    }));
    for (const ParallelSpec& grid : site.space.grids(counts_.space)) TRY(open_grid(s, grid));
    return site.own && !has_own_[s] ? open_own(s) : Result<void>();
  }

  /// The experiment's own layout, which the space does not have.
  Result<void> open_own(std::size_t s) {
    const ParallelSpec& own = *sites_[s].own;
    const Result<workload::LlmPlan> plan = plan_of(s, own);
    if (!plan) return {};
    const std::int64_t most = most_memory(*plan);
    if (!fits(s, most)) return {};
    TRY_ASSIGN(const double seconds, bounds_[s]->of_shape(*plan, own));
    TRY_ASSIGN(const double replicas, bounds_[s]->of_replicas(*plan, own));
    counts_.space.considered += 1;
    waiting_ += 1;
    push(Node{0, 0, {s, kOwnGrid, 0, 1}, seconds + replicas, most});
    return {};
  }

  static std::int64_t most_memory(const workload::LlmPlan& plan) {
    std::int64_t most = 0;
    for (const workload::RankMemory& m : memory_of(plan)) most = std::max(most, m.total());
    return most;
  }

  bool fits(std::size_t s, std::int64_t memory) const {
    const LayoutSpace& space = sites_[s].space;
    return !space.model().memory_check || memory <= space.cluster().memory_per_gpu.value();
  }

  workload::ModelSpec& model_with(std::size_t s, const ParallelSpec& layout) {
    models_.resize(sites_.size());
    if (!models_[s]) models_[s] = std::make_unique<workload::ModelSpec>(sites_[s].space.model());
    models_[s]->parallel = layout;
    return *models_[s];
  }

  Result<workload::LlmPlan> plan_of(std::size_t s, const ParallelSpec& layout) {
    const LayoutSpace& space = sites_[s].space;
    return plan_llm(model_with(s, layout), space.framework(), space.cluster(), space.batch());
  }

  /// Bounds of its shapes, if any of them can be planned.
  Result<void> open_grid(std::size_t s, const ParallelSpec& grid) {
    const LayoutSpace& space = sites_[s].space;
    const std::vector<ParallelSpec> shapes = space.shapes(grid);
    std::optional<workload::LlmPlan> settled;
    for (const ParallelSpec& shape : shapes) {
      Result<workload::LlmPlan> plan = plan_of(s, shape);
      if (!plan) continue;
      settled.emplace(std::move(*plan));
      break;
    }
    double below = 0;
    for (const ParallelSpec& shape : shapes) {
      const std::vector<ParallelSpec> layouts = space.layouts(shape);
      below += static_cast<double>(layouts.size());
      has_own_[s] = has_own_[s] || is_own(s, layouts);
    }
    counts_.space.considered += below;
    waiting_ += settled ? below : 0;
    if (!settled) {
      counts_.space.undivided += below;
      return {};
    }
    const std::size_t g = grids_[s].size();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Result<double> seconds = bounds_[s]->of_shape(*settled, shapes[i]);
      if (!seconds) return seconds.error();
      push(Node{0, 0, {s, g, i, 0}, *seconds, 0});
    }
    settled->kinds.clear();  // large, and not needed again
    grids_[s].push_back({grid, std::move(*settled)});
    return {};
  }

  bool is_own(std::size_t s, const std::vector<ParallelSpec>& layouts) const {
    const std::optional<ParallelSpec>& own = sites_[s].own;
    if (!own || layouts.empty() || !same_degrees(layouts.front(), *own)) return false;
    return std::ranges::any_of(layouts, [&](const ParallelSpec& layout) { return same_layout(layout, *own); });
  }

  /// Of a shape, at little cost.
  static bool same_degrees(const ParallelSpec& a, const ParallelSpec& b) {
    return a.tensor == b.tensor && a.context == b.context && a.pipeline == b.pipeline && a.expert == b.expert &&
           a.micro_batch == b.micro_batch && a.virtual_stages == b.virtual_stages;
  }

  void push(Node node) {
    const LayoutSite& site = sites_[std::get<0>(node.order)];
    node.bound = least(options_.goal.objective, site, node);
    if (options_.goal.second) node.second = least(*options_.goal.second, site, node);
    if (!is_excluded(node)) return queue_.push(node);
    count_pruned(node);
  }

  /// Of the goal, from bounds.
  static double least(Objective objective, const LayoutSite& site, const Node& node) {
    return value_of(objective, site.size(), node.seconds, 0, node.memory);
  }

  bool is_excluded(const Node& node) const {
    if (options_.exhaustive) return false;
    if (!options_.goal.second) return best_.size() >= options_.top && node.bound > std::get<0>(best_.rbegin()->first);
    return std::ranges::any_of(best_, [&](const auto& kept) {
      return kept.second.value <= node.bound && kept.second.second <= node.second &&
             (kept.second.value < node.bound || kept.second.second < node.second);
    });
  }

  void count_pruned(const Node& node) {
    if (!node.is_shape()) {
      counts_.pruned += 1;
      return;
    }
    const auto& [s, g, i, l] = node.order;
    if (g >= grids_[s].size()) return;  // of a grid that is being opened: in waiting_
  }

  std::size_t most_in_batch() const {
    const std::size_t most = options_.exhaustive ? kLargeBatch : kBatch;
    if (options_.most_played == 0) return most;
    const auto played = static_cast<std::uint64_t>(counts_.played);
    return std::min<std::size_t>(most, options_.most_played > played ? options_.most_played - played : 1);
  }

  /// Takes nodes until a batch is full or nothing is left that could be better.
  Result<void> collect() {
    batch_.clear();
    const std::size_t most = most_in_batch();
    while (!queue_.empty() && batch_.size() < most && !end_asked()) {
      const Node node = queue_.top();
      if (is_excluded(node) && !options_.goal.second) break;
      queue_.pop();
      if (is_excluded(node)) continue;
      if (node.is_shape())
        TRY(expand(node));
      else
        batch_.push_back(node);
    }
    return {};
  }

  ParallelSpec layout_at(const Order& order) const {
    const auto& [s, g, i, l] = order;
    if (g == kOwnGrid) return *sites_[s].own;
    const LayoutSpace& space = sites_[s].space;
    const ParallelSpec shape = space.shapes(grids_[s][g].grid)[i];
    return l == 0 ? shape : space.layouts(shape)[l - 1];
  }

  /// Whether it fits without the offload that is left open, so that it is the same as that one.
  static bool moves_nothing(const ParallelSpec& layout, const std::vector<ParallelSpec>& fitting) {
    if (layout.offload != workload::Offload::automatic) return false;
    ParallelSpec without = layout;
    without.offload = workload::Offload::none;
    return std::ranges::any_of(fitting, [&](const ParallelSpec& f) { return same_layout(f, without); });
  }

  /// The layouts of a shape that fit.
  Result<void> expand(const Node& node) {
    end_if_stopped();
    const auto& [s, g, i, l] = node.order;
    const LayoutSpace& space = sites_[s].space;
    const std::vector<ParallelSpec> layouts = space.layouts(layout_at(node.order));
    waiting_ -= static_cast<double>(layouts.size());
    std::optional<workload::LlmPlan> plan;
    std::vector<ParallelSpec> fitting;
    for (std::size_t k = 0; k < layouts.size(); ++k) {
      const ParallelSpec& layout = layouts[k];
      if (moves_nothing(layout, fitting)) {
        counts_.same += 1;
        continue;
      }
      if (!plan || !can_replan_as(*plan, layout)) {
        plan.reset();
        Result<workload::LlmPlan> made = plan_of(s, layout);
        if (!made) {
          counts_.space.undivided += 1;
          continue;
        }
        plan.emplace(std::move(*made));
      }
      if (can_replan_as(*plan, layout) && !replan_as(*plan, layout)) {
        counts_.space.undivided += 1;
        continue;
      }
      const std::int64_t most = most_memory(*plan);
      if (!fits(s, most)) {
        counts_.unfit += 1;
        continue;
      }
      fitting.push_back(layout);
      TRY_ASSIGN(const double replicas, bounds_[s]->of_replicas(*plan, layout));
      waiting_ += 1;
      push(Node{0, 0, {s, g, i, k + 1}, node.seconds + replicas, most});
    }
    return {};
  }

  Result<void> play_batch() {
    const auto play = [&](std::size_t i) {
      const LayoutSite& site = sites_[std::get<0>(batch_[i].order)];
      return row_of_layout(play_layout(site, layout_at(batch_[i].order), options_.goal, cache_));
    };
    TRY_ASSIGN(const auto rows, plays_.next(batch_.size(), play, on_played_));
    std::vector<PlayedLayout> round;
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      if (!rows[i]) continue;
      waiting_ -= 1;
      if (!rows[i]->error.empty()) {
        counts_.not_priced += 1;
        continue;
      }
      const std::size_t s = std::get<0>(batch_[i].order);
      PlayedLayout played = layout_of_row(*rows[i], sites_[s], layout_at(batch_[i].order), options_.goal);
      played.site = s;
      counts_.played += 1;
      if (played.iteration.seconds() < batch_[i].seconds) counts_.above_bound += 1;
      if (options_.on_round) round.push_back(played);
      if (!is_known(played)) keep(std::move(played), batch_[i].order);
    }
    if (options_.on_round) options_.on_round(round, counts_);
    return {};
  }

  /// It was played before, or is among the best with what an offload that is left open comes to: it would take the place of
  /// another.
  bool is_known(const PlayedLayout& played) const {
    const auto is_same = [&](const PlayedLayout& k) {
      if (k.site != played.site || k.by_layers != played.by_layers) return false;
      if (k.iteration != played.iteration || k.memory != played.memory) return false;
      ParallelSpec a = k.layout, b = played.layout;
      if (a.offload == workload::Offload::automatic || b.offload == workload::Offload::automatic) a.offload = b.offload;
      return same_layout(a, b);
    };
    return std::ranges::any_of(known_, is_same) ||
           std::ranges::any_of(best_, [&](const auto& kept) { return is_same(kept.second); });
  }

  void keep(PlayedLayout played, const Order& order) {
    const std::tuple key(played.value, options_.goal.second ? played.second : 0, order);
    best_.emplace(key, std::move(played));
    if (options_.goal.second) return drop_dominated();
    while (best_.size() > options_.top) best_.erase(std::prev(best_.end()));
  }

  /// Of two goals: what another one is at least as good in.
  void drop_dominated() {
    double least_second = std::numeric_limits<double>::infinity();
    for (auto it = best_.begin(); it != best_.end();) {
      if (it->second.second >= least_second) {
        it = best_.erase(it);
      } else {
        least_second = it->second.second;
        ++it;
      }
    }
  }

  /// What is left: pruned by its bound, or not reached.
  void close() {
    bool open = false;
    double least_bound = 0;
    while (!queue_.empty() && !open) {
      open = !is_excluded(queue_.top());
      if (open) least_bound = queue_.top().bound;
      queue_.pop();
    }
    if (open) {
      counts_.left = waiting_;
      counts_.least_left = least_bound;
    } else {
      counts_.pruned = waiting_;
    }
  }

  std::vector<PlayedLayout> take_best() {
    std::vector<PlayedLayout> out;
    for (auto& [key, played] : best_) out.push_back(std::move(played));
    return out;
  }

  const std::vector<LayoutSite>& sites_;
  const SearchOptions& options_;
  Plays plays_;
  pipeline::CostModelCache& cache_;
  const std::function<void()>& on_played_;
  std::vector<std::unique_ptr<LayoutBound>> bounds_;
  std::vector<std::unique_ptr<workload::ModelSpec>> models_;  ///< that plans refer to
  std::vector<std::vector<LiveGrid>> grids_;
  std::vector<bool> has_own_;        ///< by site: the experiment's own layout is known, or in the space
  std::vector<PlayedLayout> known_;  ///< before the search
  std::priority_queue<Node> queue_;
  std::vector<Node> batch_;
  std::map<std::tuple<double, double, Order>, PlayedLayout> best_;  ///< by both goals, then in the order of the space
  SearchCounts counts_;
  double waiting_ = 0;  ///< layouts that are neither counted out nor played
};

}  // namespace

std::string_view name_of(Objective objective) {
  static constexpr std::string_view kWords[] = {"time", "cost", "energy", "memory"};
  return kWords[static_cast<std::size_t>(objective)];
}

double energy_of(const JobSize& job, double iteration, double compute) {
  const double s = topology::kStaticPowerShare;
  return job.gpus * job.device.power_limit.value() * (s * iteration + (1 - s) * compute);
}

double value_of(Objective objective, const JobSize& job, double iteration, double compute, std::int64_t memory) {
  switch (objective) {
    case Objective::time:
      return iteration / job.samples;
    case Objective::cost:
      return iteration * job.gpus / job.samples;
    case Objective::energy:
      return energy_of(job, iteration, compute) / job.samples;
    case Objective::memory:
      return static_cast<double>(memory);
  }
  return 0;
}

Row row_of_layout(const Result<PlayedLayout>& played) {
  if (!played) return {{}, {}, played.error().text()};
  return {{static_cast<double>(played->iteration.ps()), played->compute, static_cast<double>(played->memory)}, {}, ""};
}

PlayedLayout layout_of_row(const Row& row, const LayoutSite& site, const ParallelSpec& layout, const Goal& goal) {
  PlayedLayout out;
  out.layout = layout;
  out.iteration = Duration::picoseconds(static_cast<std::int64_t>(row.figures[0]));
  out.compute = row.figures[1];
  out.memory = static_cast<std::int64_t>(row.figures[2]);
  value(out, site, goal);
  return out;
}

Result<PlayedLayout> play_layout(const LayoutSite& site, const ParallelSpec& layout, const Goal& goal,
                                 pipeline::CostModelCache& cache) {
  config::Experiment e = site.experiment;
  e.model.parallel = layout;
  PlayedLayout out;
  out.layout = layout;
  TRY_ASSIGN(const report::Report figures, pipeline::predict_figures(e, cache, report::Transfers::left_out));
  out.iteration = figures.iteration;
  out.compute = figures.compute.seconds();
  for (const std::int64_t bytes : figures.context.memory_per_rank) out.memory = std::max(out.memory, bytes);
  value(out, site, goal);
  return out;
}

Result<SearchResult> search_layouts(const std::vector<LayoutSite>& sites, const SearchOptions& options,
                                    std::vector<PlayedLayout> known, pipeline::CostModelCache& cache,
                                    const std::function<void()>& on_played) {
  return LayoutSearch(sites, options, std::move(known), cache, on_played).run();
}

}  // namespace distsim::study
