// Search of layouts, best first. What is known of a layout without playing it (layout_bound.hpp) orders and prunes; every
// layout whose bound does not exclude it is planned, checked for memory and played with the predictor. So the best `top`
// are those of an exhaustive search, to the last bit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/config/config.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/study/plan/layouts/layout_space.hpp"
#include "sim/study/plan/layouts/plays.hpp"

namespace distsim::study {

enum class Objective : std::uint8_t { time, cost, energy, memory };
std::string_view name_of(Objective objective);

/// What values per sample are made of.
struct JobSize {
  const topology::DeviceSpec& device;
  double gpus = 1;
  double samples = 1;  ///< of an iteration
};

/// An experiment whose layout is searched: one combination of the keys that are varied besides the layout.
struct LayoutSite {
  config::Experiment experiment;
  std::vector<std::string> values;  ///< of those keys
  LayoutSpace space;
  double gpus = 1;
  double samples = 1;                   ///< of an iteration
  bool framework_plays_layers = false;  ///< as it is written; a search compares layouts that are all played by blocks
  /// That of the experiment, with what memory decides for it (settled_layout.hpp): searched also where the space lacks it.
  std::optional<workload::ParallelSpec> own = std::nullopt;
  std::vector<std::string> batch = {};  ///< what makes its batch from one that was given per GPU (sets_that_keep_batch)
  JobSize size() const { return {experiment.device, gpus, samples}; }
};

/// What is minimized, per sample where sites differ in batch.
struct Goal {
  Objective objective = Objective::time;
  std::optional<Objective> second;  ///< a front of two
};

struct PlayedLayout {
  std::size_t site = 0;
  workload::ParallelSpec layout;
  Duration iteration;
  double compute = 0;       ///< seconds of an iteration, for energy
  std::int64_t memory = 0;  ///< bytes of the fullest GPU
  double value = 0, second = 0;
  bool by_layers = false;  ///< layer by layer: another job than the same layout by blocks, which is what a search plays
};

struct SearchCounts {
  SpaceCounts space;
  double unfit = 0, pruned = 0, played = 0;
  double left = 0;         ///< neither pruned nor played, for the limit
  double least_left = 0;   ///< a bound of the goal on those
  double same = 0;         ///< as another, which fits without the offload that is left open
  double not_priced = 0;   ///< refused by the predictor for another reason
  double above_bound = 0;  ///< played in less than their bound: 0, or a bound is wrong
};

struct SearchOptions {
  Goal goal;
  std::size_t top = 10;
  bool exhaustive = false;
  std::uint64_t most_played = 0;  ///< 0: no limit
  Plays plays = Plays::of_threads(1);
  /// After each round of plays, with what was played in it; may be empty.
  std::function<void(std::span<const PlayedLayout>, const SearchCounts&)> on_round;
};

struct SearchResult {
  std::vector<PlayedLayout> best;  ///< by value, then in the order of the space; of two goals: the front
  SearchCounts counts;
};

/// What a journal keeps of a play, and a process tells the others of it.
Row row_of_layout(const Result<PlayedLayout>& played);
/// Of a row without an error.
PlayedLayout layout_of_row(const Row& row, const LayoutSite& site, const workload::ParallelSpec& layout,
                           const Goal& goal);

/// Of one layout, in seconds and bytes.
Result<PlayedLayout> play_layout(const LayoutSite& site, const workload::ParallelSpec& layout, const Goal& goal,
                                 pipeline::CostModelCache& cache);

/// Joules of an iteration: GPUs x power limit x (s x iteration + (1 - s) x compute), with s the share that a GPU draws
/// whatever it does (topology::kStaticPowerShare), and compute the time in which kernels run.
double energy_of(const JobSize& job, double iteration, double compute);
/// Of a goal, from seconds and bytes; per sample.
double value_of(Objective objective, const JobSize& job, double iteration, double compute, std::int64_t memory);

/// `known`: layouts that were played already and count. `on_played`: after each.
Result<SearchResult> search_layouts(const std::vector<LayoutSite>& sites, const SearchOptions& options,
                                    std::vector<PlayedLayout> known, pipeline::CostModelCache& cache,
                                    const std::function<void()>& on_played);

}  // namespace distsim::study
