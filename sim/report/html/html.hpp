// The report as one self-contained HTML page: the views of distsim serve, light and dark, and nothing loaded from elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "sim/graph/pipeline_order.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

struct HtmlOptions {
  std::uint32_t max_ranks =
      8;  ///< ranks in the timeline: the slowest, the fastest, then one of each class of equal ranks, the
          ///< largest classes first
  std::size_t max_slices = 12'000;  ///< of the timeline; of more, short neighbours are one
  std::size_t max_bytes = 800'000;  ///< of all data; less of the timeline is drawn where they would be more
  const graph::PipelineOrder* pipeline = nullptr;  ///< of the played iterations; none: no schedule is drawn
  std::string links;  ///< JSON of the network's load (link_loads_json); none: it is not drawn
};

/// Every text from the outside is escaped.
std::string to_html(const Report& report, const Played& played, const HtmlOptions& options = {});

/// Members of a page's data: `report`, `steps` of the whole critical cycle, `causes` on it, `timeline`.
std::string page_members(const Report& report, const Played& played, const HtmlOptions& options);

}  // namespace distsim::report
