// Text of every pipeline value, for --dump-after and golden tests. Deterministic; a line a thing.
#pragma once

#include <string>

#include "sim/config/config.hpp"
#include "sim/engine/timeline/timeline.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/pipeline/lower.hpp"
#include "sim/report/report.hpp"
#include "sim/workload/workload.hpp"
#include "topology/topology.hpp"

namespace distsim::pipeline {

std::string dump_config(const ConfigNode& node);
std::string dump_experiment(const config::Experiment& experiment);
std::string dump_topology(const topology::Topology& topology);
std::string dump_workload(const workload::Workload& workload);
std::string dump_costs(const graph::CostedGraph& costed);
std::string dump_lowered(const Lowered& lowered);
std::string dump_timeline(const engine::Timeline& timeline);
std::string dump_report(const report::Report& report);

}  // namespace distsim::pipeline
