// Text of every pass's result, for --dump-after and golden tests. Deterministic, one line per thing.
#pragma once

#include <memory>
#include <string>

#include "sim/config/config.hpp"
#include "sim/engine/timeline/timeline.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/pipeline/lower.hpp"
#include "sim/pipeline/passes/passed.hpp"
#include "sim/pipeline/price.hpp"
#include "sim/report/report.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::pipeline {

/// YAML, with the origin of every value as a comment.
std::string dump(const ConfigNode& config);
std::string dump(const config::Experiment& experiment);
std::string dump(const std::shared_ptr<const CostModels>& models);
std::string dump(const workload::Workload& workload);
std::string dump(const graph::CostedGraph& costed);
std::string dump(const Lowered& lowered);
std::string dump(const engine::Timeline& timeline);
std::string dump(const report::Report& report);
std::string dump(const std::vector<graph::Assumption>& assumptions);

/// "412 tasks, 32 ranks" for the log; empty where there is nothing to count.
std::string size_text(const workload::Workload& workload);
std::string size_text(const Lowered& lowered);
template <class T>
std::string size_text(const T&) {
  return "";
}
template <class T>
std::string size_text(const Passed<T>& passed) {
  return size_text(passed.value);
}

template <class T>
std::string dump(const Passed<T>& passed) {
  return dump(passed.assumptions) + dump(passed.value);
}

}  // namespace distsim::pipeline
