// The report as one self-contained HTML page: inline style and SVG, light and dark, no script and nothing loaded from
// elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "sim/graph/pipeline_order.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

struct HtmlOptions {
  std::uint32_t max_ranks = 8;  ///< ranks in the timeline picture: the slowest, the fastest, then one of each
                                ///< class of equal ranks, the largest classes first
  const graph::PipelineOrder* pipeline = nullptr;  ///< of the played iterations; none: no schedule is drawn
};

/// Every text from the outside is escaped.
std::string to_html(const Report& report, const Played& played, const HtmlOptions& options = {});

}  // namespace distsim::report
