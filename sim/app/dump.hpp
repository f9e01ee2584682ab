// Text of every pipeline value, for --dump-after and golden tests. Deterministic; a line a thing.
#pragma once

#include <string>

#include "sim/app/config.hpp"
#include "sim/app/lower.hpp"
#include "sim/engine/timeline.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/report/report.hpp"
#include "sim/workload/workload.hpp"
#include "topology/topology.hpp"

namespace distsim {

std::string dump_config(const ConfigNode& node);
std::string dump_experiment(const Experiment& experiment);
std::string dump_topology(const Topology& topology);
std::string dump_workload(const Workload& workload);
std::string dump_costs(const CostedGraph& costed);
std::string dump_lowered(const Lowered& lowered);
std::string dump_timeline(const Timeline& timeline);
std::string dump_report(const Report& report);

}  // namespace distsim
