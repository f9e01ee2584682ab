#include "sim/study/plan/layouts/drawn_layouts.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "sim/workload/llm/llm_fitting.hpp"

namespace distsim::study {
namespace {

constexpr std::uint64_t kMostMisses = 1000;

/// Layouts of a space by number.
class NumberedLayouts {
 public:
  explicit NumberedLayouts(const LayoutSpace& space) : space_(space) {
    SpaceCounts counts;
    std::uint64_t sum = 0;
    for (const workload::ParallelSpec& grid : space.grids(counts)) {
      grids_.push_back(grid);
      for (const workload::ParallelSpec& shape : space.shapes(grid)) sum += space.layouts(shape).size();
      ends_.push_back(sum);
    }
  }
  std::uint64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  workload::ParallelSpec at(std::uint64_t number) const {
    const auto grid = static_cast<std::size_t>(std::ranges::upper_bound(ends_, number) - ends_.begin());
    std::uint64_t left = number - (grid > 0 ? ends_[grid - 1] : 0);
    for (const workload::ParallelSpec& shape : space_.shapes(grids_[grid])) {
      const auto layouts = space_.layouts(shape);
      if (left < layouts.size()) return layouts[static_cast<std::size_t>(left)];
      left -= layouts.size();
    }
    CHECK(false) << "layout " << number;
    return {};
  }

 private:
  const LayoutSpace& space_;
  std::vector<workload::ParallelSpec> grids_;
  std::vector<std::uint64_t> ends_;
};

bool can_run(const LayoutSpace& space, workload::ModelSpec& model, const workload::ParallelSpec& layout) {
  model.parallel = layout;
  return layout_fits(model, space.framework(), space.cluster(), space.batch());
}

}  // namespace

Result<DrawnLayouts> draw_layouts(const LayoutSite& site, std::size_t count, std::uint64_t seed, Plays& plays,
                                  pipeline::CostModelCache& cache) {
  const NumberedLayouts all(site.space);
  DrawnLayouts out;
  std::vector<workload::ParallelSpec> chosen;
  workload::ModelSpec model = site.space.model();
  Random random(seed);
  for (std::uint64_t misses = 0; all.count() > 0 && chosen.size() < count && misses < kMostMisses; ++out.drawn) {
    const workload::ParallelSpec layout = all.at(random.below(all.count()));
    const bool runs = can_run(site.space, model, layout);
    misses = runs ? 0 : misses + 1;
    if (runs) chosen.push_back(layout);
  }
  const auto play = [&](std::size_t i) { return row_of_layout(play_layout(site, chosen[i], {}, cache)); };
  TRY_ASSIGN(const auto rows, plays.next(chosen.size(), play, [] {}));
  for (std::size_t i = 0; i < chosen.size(); ++i) {  // what was not played is not counted
    if (rows[i] && rows[i]->error.empty()) out.played.push_back(layout_of_row(*rows[i], site, chosen[i], {}));
  }
  return out;
}

}  // namespace distsim::study
