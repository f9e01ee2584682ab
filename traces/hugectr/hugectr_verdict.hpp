// What results of HugeCTR's profiler lack of one iteration of a whole run.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "traces/hugectr/hugectr_profile.hpp"
#include "traces/trace.hpp"

namespace distsim::traces {

/// Missing parts (verdict.hpp) of a job whose ranks are GPUs of HugeCTR hosts: events outside of the median iteration, which has
/// no place for them, GPUs that one host has and another has not, and events that all GPUs of a host have but one. Empty: none,
/// or no such job.
std::vector<std::string> missing_from_hugectr(const TraceJob& job);

/// "found iterations of 3 s, in which most events end within 2.65 ms: are all times in milliseconds?", where an iteration is
/// more than 100 times as long as the events of a GPU take from the first to the end of the middle one (less is a host that
/// waits for data; later ones may be of iterations far longer than most). Empty: it is not, or either is 0.
/// `starts_ns`, `ends_ns`: of the events, in any order.
std::string iterations_beyond_events(std::int64_t iteration_ns, const std::vector<std::int64_t>& starts_ns,
                                     const std::vector<std::int64_t>& ends_ns);

/// "found the times of 1 iteration, ...": what to say of fewer iterations than an event was timed in, once in each. Empty:
/// there are as many, or none at all.
std::string fewer_iterations(std::size_t iterations, std::size_t timed);

/// "host a has no GPU 3, but GPU 7: ...": numbers of GPUs with a gap, as a run may leave some out. Empty: there is none.
std::string absent_gpus(const std::string& host, const std::set<std::int64_t>& gpus);

/// missing_from_hugectr of results as they are merged.
std::vector<std::string> missing_from_hugectr(const std::vector<HugectrHost>& hosts);

}  // namespace distsim::traces
