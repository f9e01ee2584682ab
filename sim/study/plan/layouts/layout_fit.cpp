#include "sim/study/plan/layouts/layout_fit.hpp"

#include <algorithm>
#include <list>
#include <utility>

#include "base/system/signals.hpp"

namespace distsim::study {
namespace {

using workload::LlmPlan;
using workload::ParallelSpec;
using workload::RankMemory;

/// A shape whose weights, gradients and optimizer state are too large at every level of sharding. They do not depend on the
/// micro-batch nor on recomputation.
struct TooLarge {
  ParallelSpec shape;
  LlmPlan plan;
  bool has_stages_of(const ParallelSpec& other) const {
    return shape.virtual_stages == other.virtual_stages && shape.schedule == other.schedule &&
           shape.stage_layers == other.stage_layers;
  }
};

enum class Room : std::uint8_t { none, for_weights, for_all };

class FitOfLayouts {
 public:
  explicit FitOfLayouts(const LayoutSpace& space) : space_(space), model_(space.model()) {}

  std::optional<UnfitCounts> count() {
    for (const ParallelSpec& grid : space_.grids(counts_.space)) {
      too_large_.clear();
      for (const ParallelSpec& shape : space_.shapes(grid)) {
        if (end_asked() || add_shape(shape)) return std::nullopt;
      }
    }
    return counts_;
  }

 private:
  /// True where something fits.
  bool add_shape(const ParallelSpec& shape) {
    const auto same = std::ranges::find_if(too_large_, [&](const TooLarge& t) { return t.has_stages_of(shape); });
    LlmPlan* known = same != too_large_.end() ? &same->plan : nullptr;
    std::optional<LlmPlan> plan;
    bool weights_fit = false, checked = false;
    const std::vector<ParallelSpec> layouts = space_.layouts(shape);
    counts_.space.considered += static_cast<double>(layouts.size());
    for (const ParallelSpec& layout : layouts) {
      const bool moves = layout.offload != workload::Offload::none;  // nobody knows how much of the weights
      weights_fit = weights_fit || moves;
      checked = known != nullptr ? checked || can_be_planned(layout) : make(plan, layout);
      if (!checked || !(moves || replan_as(known != nullptr ? *known : *plan, layout))) {
        counts_.space.undivided += 1;
        continue;
      }
      if (known == nullptr) {
        const Room room = room_for(*plan);
        if (room == Room::for_all && fits_alone(layout)) return true;
        weights_fit = weights_fit || room != Room::none;
      }
      counts_.unfit += 1;
    }
    if (known == nullptr && plan && !weights_fit) too_large_.push_back({shape, std::move(*plan)});
    return false;
  }

  bool can_be_planned(const ParallelSpec& layout) {
    model_.parallel = layout;
    return check_layout(model_, space_.framework(), space_.cluster(), space_.batch()).ok();
  }

  bool make(std::optional<LlmPlan>& plan, const ParallelSpec& layout) {
    if (plan && can_replan_as(*plan, layout)) return true;
    model_.parallel = layout;
    plan.reset();
    if (auto made = plan_llm(model_, space_.framework(), space_.cluster(), space_.batch()))
      plan.emplace(std::move(*made));
    return plan.has_value();
  }

  /// Planned for itself.
  bool fits_alone(const ParallelSpec& layout) {
    std::optional<LlmPlan> own;
    return make(own, layout) && (!model_.memory_check || fits(*own));
  }

  Room room_for(const LlmPlan& plan) const {
    const std::int64_t most = space_.cluster().memory_per_gpu.value();
    const auto within = [&](auto bytes) { return !model_.memory_check || bytes <= most; };
    Room room = Room::for_all;
    for (const RankMemory& m : memory_of_stages(plan)) {
      if (!within(m.weights + m.gradients + m.optimizer)) return Room::none;
      if (!within(m.total())) room = Room::for_weights;
    }
    return room;
  }

  const LayoutSpace& space_;
  workload::ModelSpec model_;  ///< that plans refer to
  UnfitCounts counts_;
  std::list<TooLarge> too_large_;  ///< of the grid at hand
};

}  // namespace

std::optional<UnfitCounts> count_unfit(const LayoutSpace& space) { return FitOfLayouts(space).count(); }

}  // namespace distsim::study
