// Layouts drawn at random, to say where one stands among all that fit.
#pragma once

#include "sim/study/plan/layouts/layout_search.hpp"

namespace distsim::study {

struct DrawnLayouts {
  std::vector<PlayedLayout> played;  ///< in the order in which they were drawn
  std::uint64_t drawn = 0;           ///< with those that do not divide or fit
};

/// `count` of those that fit, each of the site's layouts as likely as any other, one may come twice; fewer where
/// 1,000 draws in a row do not fit. The same seed draws the same. Errors: those of Plays::next.
Result<DrawnLayouts> draw_layouts(const LayoutSite& site, std::size_t count, std::uint64_t seed, Plays& plays,
                                  pipeline::CostModelCache& cache);

}  // namespace distsim::study
