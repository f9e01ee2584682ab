// Hosts and runs as text for a terminal, as a table, and as data of a page.
#pragma once

#include <string>
#include <vector>

#include "traces/hugectr/hugectr_merge.hpp"

namespace distsim::traces {

/// The iteration of each host, then every event over all of them; at most `top` events, the longest maximum first.
std::string hugectr_job_text(const std::vector<HugectrHost>& hosts, const HugectrJob& job, std::size_t top = 20);

/// Three bars for each run (iteration, means stacked, maxima stacked), then each outer event in every run.
std::string hugectr_scaling_text(const std::vector<HugectrRun>& runs);

/// run,label,mean_ms,max_ms; a run's first row is its iteration: the mean over hosts, and the slowest host's.
std::string hugectr_scaling_csv(const std::vector<HugectrRun>& runs);

/// Data of their page, `kind` "hugectr" (web/src/app/pages/hugectr_page.tsx): {"runs": [{"name", "iteration_ms", "slowest_ms",
/// "notes"}], "events": [{"label", "mean_ms", "max_ms"}]}, of each run one time, null where it has no such event. Outer events only.
std::string hugectr_scaling_json(const std::vector<HugectrRun>& runs);

}  // namespace distsim::traces
