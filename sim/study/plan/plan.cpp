#include "sim/study/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/report/text/format.hpp"
#include "sim/study/plan/layouts/drawn_layouts.hpp"
#include "sim/study/plan/plan_rows.hpp"
#include "sim/study/plan/plan_sites.hpp"
#include "sim/study/plan/settled_layout.hpp"
#include "sim/study/workers.hpp"
#include "sim/workload/llm/layer_by_layer/layer_by_layer.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::study {
namespace {

using workload::ParallelSpec;

constexpr double kMostCombinations = 1e9;
constexpr std::uint64_t kPlayedByDefault = 100'000;  ///< of combinations that have no bounds

std::vector<std::string> layout_texts(const ParallelSpec& layout) {
  std::vector<std::string> out;
  for (const LayoutKey& key : layout_keys()) out.push_back(key.text(layout));
  return out;
}

std::vector<std::string> layout_sets(const ParallelSpec& layout) {
  std::vector<std::string> out;
  for (const LayoutKey& key : layout_keys())
    out.push_back("parallel." + std::string(key.name) + "=" + key.text(layout));
  return out;
}

/// Whether a layout that was played by blocks would otherwise be played layer by layer.
bool would_play_layers(const LayoutSite& site, config::Experiment e) {
  e.framework.parallel.layer_by_layer = site.framework_plays_layers;
  return is_layer_by_layer(e.model, e.framework, pipeline::shape_of(e).ranks());
}

/// Columns of the batch where rows need another than the experiment has to be predicted again: it is given per GPU, and
/// they have other numbers of GPUs or of micro-steps.
void add_batch(Plan& plan, const config::Experiment& experiment) {
  constexpr std::string_view kKeys[] = {"model.global_batch", "model.per_gpu_batch"};
  if (std::ranges::find_first_of(plan.keys, kKeys) != plan.keys.end()) return;  // varied
  const auto keeps = [&](const std::string& set) { return set.starts_with(std::string(kKeys[0]) + "="); };
  const auto is_kept = [&](const PlanRow& row) { return std::ranges::any_of(row.sets, keeps); };
  if (std::ranges::none_of(plan.rows, is_kept)) return;
  for (const std::string_view key : kKeys) {
    plan.keys.emplace_back(key);
    plan.heads.emplace_back(key.substr(key.find('.') + 1));
  }
  const workload::ModelSpec& own = experiment.model;
  const std::int64_t batch = workload::samples_of(own, pipeline::shape_of(experiment).ranks());
  for (PlanRow& row : plan.rows) {
    const bool candidate = row.kind == PlanRowKind::candidate, kept = is_kept(row);
    row.values.push_back(!candidate ? "-" : std::to_string(kept ? batch : own.global_batch));
    row.values.push_back(!candidate ? "-" : std::to_string(kept ? 0 : own.per_gpu_batch));
  }
}

/// The winner's table of a language model.
class LayoutPlanner {
 public:
  LayoutPlanner(const PlanRequest& request, const config::Experiment& experiment,
                const std::function<void()>& on_played)
      : request_(request), experiment_(experiment), on_played_(on_played) {}

  Result<Plan> run() {
    TRY_ASSIGN(sites_, plan_sites(request_, experiment_));
    name_columns();
    // Files that cannot be read are no matter of the baseline alone.
    TRY(cache_.models({experiment_.cluster, experiment_.device, pipeline::collective_options_of(experiment_)}));
    TRY(check_precisions());
    PlanRow baseline = baseline_row(request_, experiment_, cache_);
    baseline_error_ = baseline.error;
    as_it_is_ = site_as_it_is(sites_, experiment_);
    baseline.values = as_it_is_ ? sites_.sites[*as_it_is_].values : std::vector<std::string>(sites_.axes.size(), "-");
    const ParallelSpec base = settled_layout(experiment_).value_or(experiment_.model.parallel);
    for (std::string& text : layout_texts(base)) baseline.values.push_back(std::move(text));
    std::vector<PlayedLayout> known;
    if (baseline.error.empty() && as_it_is_ && agrees_with(sites_.held, base))
      known.push_back(played_as(baseline, base));
    SearchOptions options{request_.goal, request_.top, request_.exhaustive, request_.most_played,
                          Plays::of_threads(request_.jobs)};
    TRY_ASSIGN(options.plays, plays_of(request_));
    if (request_.draws > 0 && baseline.error.empty()) TRY(rank(baseline, options.plays));
    if (request_.on_progress)
      options.on_round = [&](std::span<const PlayedLayout> round, const SearchCounts& c) { tell(round, c); };
    TRY_ASSIGN(SearchResult found, search_layouts(sites_.sites, options, std::move(known), cache_, on_played_));
    out_.counts = found.counts;
    if (found.best.empty() && found.counts.left == 0) return nothing();
    TRY(add_rows(found.best, std::move(baseline), base));
    finish_rows(out_);
    return std::move(out_);
  }

 private:
  /// Before the memory, for more of it would not help.
  Result<void> check_precisions() {
    for (const LayoutSite& site : sites_.sites) {
      const config::Experiment& e = site.experiment;
      TRY_ASSIGN(const auto models, cache_.models({e.cluster, e.device, pipeline::collective_options_of(e)}));
      if (auto error = pipeline::precision_error(e, *models)) return *std::move(error);
    }
    return {};
  }

  void name_columns() {
    for (const SweepAxis& axis : sites_.axes) {
      out_.keys.push_back(axis.key);
      out_.heads.push_back(axis.key.substr(axis.key.rfind('.') + 1));
    }
    for (const LayoutKey& key : layout_keys()) {
      out_.keys.push_back("parallel." + std::string(key.name));
      out_.heads.emplace_back(key.head);
    }
    out_.subject = subject_text(experiment_);
    out_.goal = request_.goal;
    out_.purchase = request_.purchase;
  }

  /// The experiment as it is, at its site.
  PlayedLayout played_as(const PlanRow& row, const ParallelSpec& layout) const {
    PlayedLayout out;
    out.site = *as_it_is_;
    out.layout = layout;
    out.by_layers = plays_layers_;
    out.iteration = row.report.iteration;
    out.compute = row.report.compute.seconds();
    out.memory = fullest_gpu(row.report);
    const auto value = [&](Objective o) {
      return value_of(o, sites_.sites[out.site].size(), out.iteration.seconds(), out.compute, out.memory);
    };
    out.value = value(request_.goal.objective);
    if (request_.goal.second) out.second = value(*request_.goal.second);
    return out;
  }

  /// Against layouts of the first site.
  Result<void> rank(const PlanRow& baseline, Plays& plays) {
    constexpr std::uint64_t kSeed = 1;
    TRY_ASSIGN(const LayoutSite site, own_site(experiment_, sites_.held, request_.sets));
    TRY_ASSIGN(const DrawnLayouts drawn, draw_layouts(site, request_.draws, kSeed, plays, cache_));
    out_.rank.drawn = drawn.played.size();
    for (const PlayedLayout& p : drawn.played) out_.rank.faster += p.iteration < baseline.report.iteration ? 1 : 0;
    return {};
  }

  /// What makes a layout of a site from the experiment; `e` has it.
  std::vector<std::string> sets_of(const LayoutSite& site, const config::Experiment& e) const {
    std::vector<std::string> out;
    for (std::size_t a = 0; a < sites_.axes.size(); ++a) out.push_back(sites_.axes[a].key + "=" + site.values[a]);
    out.insert(out.end(), site.batch.begin(), site.batch.end());
    for (std::string& set : layout_sets(e.model.parallel)) out.push_back(std::move(set));
    if (experiment_.model.parallel.data > 0 && e.model.parallel.data == 0)
      out.push_back(std::string(kReplicas) + "=" +
                    std::to_string(batching_of(e.model.parallel, site.space.cluster().ranks()).replicas));
    if (would_play_layers(site, e)) out.push_back(std::string(kLayerByLayer) + "=false");
    return out;
  }

  void tell(std::span<const PlayedLayout> round, const SearchCounts& counts) const {
    PlanProgress progress{counts.space.considered, counts.played, {}};
    for (const PlayedLayout& played : round) {
      const LayoutSite& site = sites_.sites[played.site];
      config::Experiment e = site.experiment;
      e.model.parallel = played.layout;
      progress.points.push_back(
          {sets_of(site, e), played.iteration, static_cast<double>(played.memory), played.value, played.second});
    }
    request_.on_progress(progress);
  }

  /// Whether it is the experiment as it is. Where that is played layer by layer, its layout by blocks is another job.
  bool is_baseline(const PlayedLayout& played, const ParallelSpec& base) const {
    if (played.site != as_it_is_) return false;
    if (plays_layers_) return played.by_layers;
    return same_layout(played.layout, experiment_.model.parallel) || same_layout(played.layout, base);
  }

  Result<void> add_rows(const std::vector<PlayedLayout>& best, PlanRow baseline, const ParallelSpec& base) {
    bool has_baseline = false;
    for (const PlayedLayout& played : best) {
      if (end_asked() && !out_.rows.empty()) break;  // each is played once more
      const LayoutSite& site = sites_.sites[played.site];
      const bool is_base = is_baseline(played, base);
      if (is_base && has_baseline) continue;
      if (is_base) {
        baseline.kind = PlanRowKind::baseline;
        out_.rows.push_back(baseline);
        has_baseline = true;
        continue;
      }
      PlanRow row;
      config::Experiment e = site.experiment;
      e.model.parallel = played.layout;
      TRY_ASSIGN(row.report, predicted_report(e, cache_));
      row.values = site.values;
      for (std::string& text : layout_texts(played.layout)) row.values.push_back(std::move(text));
      row.sets = sets_of(site, e);
      fill_costs(row, request_, e);
      out_.rows.push_back(std::move(row));
    }
    if (!has_baseline) out_.rows.push_back(std::move(baseline));
    add_batch(out_, experiment_);
    add_replicas();
    add_layer_by_layer();
    return {};
  }

  /// A column where the experiment states how many it has.
  void add_replicas() {
    const std::string start = std::string(kReplicas) + "=";
    const auto states = [&](const std::string& set) { return set.starts_with(start); };
    if (std::ranges::none_of(out_.rows, [&](const PlanRow& row) { return std::ranges::any_of(row.sets, states); }))
      return;
    out_.keys.emplace_back(kReplicas);
    out_.heads.emplace_back("dp");
    for (PlanRow& row : out_.rows) {
      const auto set = std::ranges::find_if(row.sets, states);
      row.values.push_back(set != row.sets.end() ? set->substr(start.size())
                                                 : std::to_string(experiment_.model.parallel.data));
    }
  }

  /// A column where it makes a difference for a row: all layouts are played by blocks, the experiment as it is as it says.
  void add_layer_by_layer() {
    if (std::ranges::none_of(out_.rows, is_by_blocks)) return;
    out_.keys.emplace_back(kLayerByLayer);
    out_.heads.emplace_back("by layer");
    const char* const own = experiment_.framework.parallel.layer_by_layer ? "true" : "false";
    for (PlanRow& row : out_.rows) row.values.emplace_back(row.kind == PlanRowKind::candidate ? "false" : own);
  }

  /// "128 GPUs", "64 to 1024 GPUs".
  std::string gpus_of_sites() const {
    std::uint32_t least = UINT32_MAX, most = 0;
    for (const LayoutSite& site : sites_.sites) {
      least = std::min(least, site.space.cluster().ranks());
      most = std::max(most, site.space.cluster().ranks());
    }
    if (least >= most) return counted(most, "GPU");
    return fmt::format("{} to {} GPUs", least, most);
  }

  Error nothing() {
    if (end_asked()) return {"interrupted: no layout was played", "", ""};
    const SearchCounts& c = out_.counts;
    if (c.unfit == 0)
      return {fmt::format("none of {:.0f} layouts divides the {}, the model and the batch", c.space.considered,
                          gpus_of_sites()),
              request_.config, why_none_divides()};
    return {fmt::format("none of {:.0f} layouts fits: {:.0f} need more memory than a GPU has, the others do not divide",
                        c.space.considered, c.unfit),
            request_.config, change_that_fits(request_, experiment_, sites_, cache_)};
  }

  std::string why_none_divides() const {
    const std::string keys = keys_that_bar(sites_);
    if (!keys.empty()) return "some do where " + keys + " may be chosen";
    if (!baseline_error_.empty()) return "the experiment as it is: " + baseline_error_;
    const config::Experiment& first = sites_.sites.front().experiment;
    const auto built = workload::build_workload(first.model, first.framework, pipeline::shape_of(first));
    return built.ok() ? "" : built.error().text();
  }

  const PlanRequest& request_;
  const config::Experiment& experiment_;
  const std::function<void()>& on_played_;
  PlanSites sites_;
  pipeline::CostModelCache cache_;
  const bool plays_layers_ =
      is_layer_by_layer(experiment_.model, experiment_.framework, pipeline::shape_of(experiment_).ranks());
  std::optional<std::size_t> as_it_is_;  ///< the site that is the experiment as it is
  std::string baseline_error_;
  Plan out_;
};

/// Of rows in the order of the first goal, then of the second, those that are better in the second than all before them.
void keep_front(std::vector<PlanRow>& rows) {
  double least = std::numeric_limits<double>::infinity();
  std::erase_if(rows, [&](const PlanRow& row) {
    const bool beaten = row.second >= least;
    least = std::min(least, row.second);
    return beaten;
  });
}

/// Of a family without bounds: every combination, or as many as are to be played.
class CombinationPlanner {
 public:
  CombinationPlanner(const PlanRequest& request, const config::Experiment& experiment,
                     const std::function<void()>& on_played)
      : request_(request), experiment_(experiment), on_played_(on_played) {}

  Result<Plan> run() {
    TRY(cache_.models({experiment_.cluster, experiment_.device, pipeline::collective_options_of(experiment_)}));
    out_.played_all = true;
    out_.subject = subject_text(experiment_);
    out_.goal = request_.goal;
    out_.purchase = request_.purchase;
    std::vector<SweepAxis> axes =
        request_.varied.empty() ? data_parallel_axes(experiment_, request_.sets, request_.gpus) : request_.varied;
    TRY_ASSIGN(axes, with_gpus(request_, experiment_, std::move(axes)));
    for (const SweepAxis& axis : axes) {
      out_.keys.push_back(axis.key);
      out_.heads.push_back(axis.key.substr(axis.key.rfind('.') + 1));
    }
    const double count = combinations_of(axes);
    TRY(request_.with(with_sets(sets_of_combination(axes, 0))));
    const auto limit = static_cast<double>(request_.most_played > 0 ? request_.most_played : kPlayedByDefault);
    const auto played = static_cast<std::size_t>(std::min({count, limit, kMostCombinations}));
    TRY_ASSIGN(Plays plays, plays_of(request_));
    const auto play = [&](std::size_t i) {
      const PlanRow row = row_at(axes, i);
      if (request_.on_progress) tell(row, count);
      return Row{{row.value, row.second, row.fits ? 1.0 : 0.0}, {}, row.error};
    };
    TRY_ASSIGN(const auto kept, plays.next(played, play, on_played_));
    std::vector<PlanRow> rows;
    for (std::size_t i = 0; i < played; ++i) {
      if (!kept[i]) continue;
      PlanRow& row = rows.emplace_back();
      row.number = i;
      row.error = kept[i]->error;
      row.value = kept[i]->figures[0], row.second = kept[i]->figures[1];
      row.fits = kept[i]->figures[2] > 0;
    }
    out_.counts.space.considered = count;
    out_.counts.left = count - static_cast<double>(rows.size());
    return keep_best(std::move(rows), axes);
  }

 private:
  /// Those of the request, some replaced.
  std::vector<std::string> with_sets(const std::vector<std::string>& own) const {
    std::vector<std::string> sets = request_.sets;
    for (const std::string& set : own) sets = with_set(std::move(sets), set);
    return sets;
  }

  PlanRow row_at(const std::vector<SweepAxis>& axes, std::size_t index) {
    PlanRow row;
    row.sets = sets_of_combination(axes, static_cast<double>(index), &row.values);
    Result<config::Experiment> e = request_.with(with_sets(row.sets));
    if (e) {
      std::vector<std::string> batch = sets_that_keep_batch(*e, experiment_, axes);
      row.sets.insert(row.sets.end(), batch.begin(), batch.end());
      if (!batch.empty()) e = request_.with(with_sets(row.sets));
    }
    if (!e) {
      row.error = e.error().text();
      return row;
    }
    Result<report::Report> r = predicted_report(*e, cache_);
    if (!r) {
      row.fits = !lacks_memory(*e, cache_);
      row.error = row.fits ? r.error().text() : "memory";
      return row;
    }
    row.report = std::move(*r);
    fill_costs(row, request_, *e);
    return row;
  }

  /// What would fit is said of the experiment as it is, where that does not.
  Error nothing(std::uint64_t tried, const std::string& first_error) {
    const std::string what = "none of " + counted(tried, "combination") + " could be predicted; ";
    const Result<report::Report> own = predicted_report(experiment_, cache_);
    if (own.ok()) return {what + "the first: " + first_error, request_.config, ""};
    return {what + "the experiment as it is: " + own.error().what, own.error().where, own.error().hint};
  }

  /// Of threads, one at a time.
  void tell(const PlanRow& row, double count) {
    const std::lock_guard lock(telling_);
    PlanProgress progress{count, ++told_, {}};
    if (row.error.empty())
      progress.points.push_back(
          {row.sets, row.report.iteration, static_cast<double>(fullest_gpu(row.report)), row.value, row.second});
    request_.on_progress(progress);
  }

  static PlanRow interrupted_row() {
    PlanRow row;
    row.kind = PlanRowKind::baseline_apart;
    row.error = "interrupted";
    return row;
  }

  Result<Plan> keep_best(std::vector<PlanRow> rows, const std::vector<SweepAxis>& axes) {
    std::string first_error;
    for (const PlanRow& row : rows) {
      out_.counts.unfit += row.fits || row.error.empty() ? 0 : 1;
      out_.counts.not_priced += row.fits && !row.error.empty() ? 1 : 0;
      if (first_error.empty()) first_error = row.error;
    }
    const std::uint64_t tried = rows.size();
    std::erase_if(rows, [](const PlanRow& row) { return !row.error.empty(); });
    if (rows.empty() && end_asked()) return Error{"interrupted: no combination was played", "", ""};
    if (rows.empty()) return nothing(tried, first_error);
    out_.counts.played = static_cast<double>(rows.size());
    std::ranges::stable_sort(rows, {}, [](const PlanRow& row) { return std::pair(row.value, row.second); });
    if (request_.goal.second)
      keep_front(rows);
    else if (rows.size() > request_.top)
      rows.resize(request_.top);
    for (const PlanRow& row : rows) {
      if (end_asked() && !out_.rows.empty()) break;  // each is played once more
      out_.rows.push_back(row_at(axes, row.number));
    }
    PlanRow baseline;
    if (!unless_signalled([&] { baseline = baseline_row(request_, experiment_, cache_); }))
      baseline = interrupted_row();
    baseline.values.assign(axes.size(), "-");
    out_.rows.push_back(std::move(baseline));
    add_batch(out_, experiment_);
    finish_rows(out_);
    return std::move(out_);
  }

  const PlanRequest& request_;
  const config::Experiment& experiment_;
  const std::function<void()>& on_played_;
  pipeline::CostModelCache cache_;
  Plan out_;
  std::mutex telling_;
  double told_ = 0;
};

/// Where a recommender's tables lie.
class TablesPlanner {
 public:
  TablesPlanner(const PlanRequest& request, const config::Experiment& experiment)
      : request_(request), experiment_(experiment) {}

  Result<Plan> run() {
    if (request_.goal.objective != Objective::time || request_.goal.second || !request_.gpus.empty())
      return Error{
          "found a recommender, whose tables are planned for time on the GPUs it has, expected neither --objective, "
          "--pareto nor --gpus",
          request_.config, "or keys to choose from: --vary KEY=V1,V2,..."};
    PlanTablesOptions options = request_.tables;
    options.sets = request_.sets;
    TRY_ASSIGN(out_.tables, plan_tables(experiment_, options, cache_));
    out_.played_all = true;
    out_.subject = subject_text(experiment_);
    out_.purchase = request_.purchase;
    out_.keys = {"placement", "settings"};
    out_.heads = out_.keys;
    for (std::size_t i = 0; i < out_.tables->played.size(); ++i) TRY(add(i));
    const auto played = static_cast<double>(out_.tables->played.size());
    out_.counts.space.considered = static_cast<double>(out_.tables->evaluated) + played;
    out_.counts.pruned = static_cast<double>(out_.tables->evaluated);
    out_.counts.played = played;
    finish_rows(out_);
    return std::move(out_);
  }

 private:
  /// What is not to be chosen, for it changes numbers or breaks constraints, is left to the tables' own report.
  Result<void> add(std::size_t i) {
    const PlayedPlan& played = out_.tables->played[i];
    const bool own = played.placement.tables.empty() && played.sets.empty();
    if ((played.changes_numbers || played.keeps_constraints != KeepsConstraints::yes) && !own) return {};
    PlanRow row;
    row.number = i;
    row.kind = !own                       ? PlanRowKind::candidate
               : i == out_.tables->winner ? PlanRowKind::baseline
                                          : PlanRowKind::baseline_apart;
    row.sets = played.sets;
    row.values = {played.name, fmt::format("{}", fmt::join(played.sets, " "))};
    std::vector<std::string> sets = request_.sets;
    sets.insert(sets.end(), played.sets.begin(), played.sets.end());
    TRY_ASSIGN(const config::Experiment e, request_.with(sets));  // as it was loaded before
    const config::Experiment placed = played.placement.tables.empty() ? e : with_placement(e, played.placement);
    TRY(cache_.models({placed.cluster, placed.device, pipeline::collective_options_of(placed)}));
    Result<report::Report> r = pipeline::predict_figures(placed, cache_, report::Transfers::left_out);
    row.fits = r.ok() || !lacks_memory(placed, cache_);
    if (r) {
      row.report = std::move(*r);
      fill_costs(row, request_, placed);
    } else {
      row.error = row.fits ? r.error().text() : "memory";
    }
    out_.rows.push_back(std::move(row));
    return {};
  }

  const PlanRequest& request_;
  const config::Experiment& experiment_;
  pipeline::CostModelCache cache_;
  Plan out_;
};

}  // namespace

namespace {

Result<Plan> plan_by_family(const PlanRequest& request, const std::function<void()>& on_played) {
  TRY_ASSIGN(const config::Experiment experiment, request.with(request.sets));
  if (request.purchase.tokens > 0 && experiment.model.family->tokens_per_sample == nullptr)
    return Error{"--tokens: found with a model whose samples have no tokens, expected --samples", "", ""};
  const std::string_view family = experiment.model.family->name;
  if (!request.tables.wanted_by.empty() && (family != "dlrm" || !request.varied.empty()))
    return Error{request.tables.wanted_by + ": found no tables to plan, expected a recommender without --vary", "", ""};
  TRY_ASSIGN(const bool has_layouts, chooses_layouts(experiment));
  if (has_layouts) return LayoutPlanner(request, experiment, on_played).run();
  if (family == "dlrm" && request.varied.empty()) {
    if (request.team != nullptr && !request.team->leads()) return Plan();  // the first process does all of it
    std::optional<Result<Plan>> plan;
    if (!unless_signalled([&] { plan.emplace(TablesPlanner(request, experiment).run()); }))
      return Error{"interrupted before the tables had their places", "", ""};
    return std::move(*plan);
  }
  return CombinationPlanner(request, experiment, on_played).run();
}

}  // namespace

Result<Plan> plan_experiment(const PlanRequest& request, const std::function<void()>& on_played) {
  PlanRequest with_experiment = request;
  if (!request.experiment) {
    TRY_ASSIGN(with_experiment.experiment, config::Variants::of(request.config));
  }
  Result<Plan> plan = plan_by_family(with_experiment, on_played);
  if (plan) {
    const bool leads = request.team == nullptr || request.team->leads();
    if (leads && !end_asked()) plan->idle = axes_without_effect(with_experiment, *plan);
    return plan;
  }
  Error error = plan.error();
  for (const SweepAxis& axis : request.varied) {  // a combination is tried with --set
    if (error.where == "--set " + axis.key) error.where = "--vary " + axis.key;
  }
  return error;
}

}  // namespace distsim::study
