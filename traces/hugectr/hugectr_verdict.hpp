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

/// "found iterations of 3 s, of which the events take 2.65 ms: are all times in milliseconds?", where an iteration is more than
/// 100 times as long as its events (less is a host that waits for data). Empty: it is not, or either is 0.
std::string iterations_beyond_events(std::int64_t iteration_ns, std::int64_t events_ns);

/// missing_from_hugectr of results as they are merged.
std::vector<std::string> missing_from_hugectr(const std::vector<HugectrHost>& hosts);

}  // namespace distsim::traces
