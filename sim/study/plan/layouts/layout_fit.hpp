// Whether anything fits: without bounds and without playing, and shapes whose weights alone are too large are only counted.
#pragma once

#include <optional>

#include "sim/study/plan/layouts/layout_space.hpp"

namespace distsim::study {

/// Layouts of a space of which none fits.
struct UnfitCounts {
  SpaceCounts space;
  double unfit = 0;  ///< that could be planned
};

/// Nothing where some layout of the space fits on the GPUs, or an early end was asked for (base/system/signals.hpp).
std::optional<UnfitCounts> count_unfit(const LayoutSpace& space);

}  // namespace distsim::study
