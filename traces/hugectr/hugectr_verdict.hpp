// What results of HugeCTR's profiler lack of one iteration of a whole run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/hugectr/hugectr_profile.hpp"
#include "traces/trace.hpp"

namespace distsim::traces {

/// Missing parts (verdict.hpp) of a job whose ranks are GPUs of HugeCTR hosts: events outside of the median iteration, which has
/// no place for them, and GPUs that one host has and another has not. Empty: none, or no such job.
std::vector<std::string> missing_from_hugectr(const TraceJob& job);

/// The same of results as they are merged.
std::vector<std::string> missing_from_hugectr(const std::vector<HugectrHost>& hosts);

}  // namespace distsim::traces
