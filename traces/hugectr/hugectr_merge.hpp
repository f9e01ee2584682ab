// The results of several hosts as one answer, and several runs beside each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "traces/hugectr/hugectr_profile.hpp"

namespace distsim::traces {

/// One label over all hosts, devices and streams. Times are medians over the repetitions, in ms.
struct HugectrEventSummary {
  std::string label;
  std::size_t hosts = 0, streams = 0;  ///< that have it
  double start_ms = 0;                 ///< earliest start after that of the iteration
  double mean_ms = 0, max_ms = 0;
  std::string slowest_host;
  std::int64_t slowest_device = 0;
  bool outer = false;  ///< within no other event wherever it occurs: outer times may be added up
};

struct HugectrJob {
  double iteration_ms = 0;      ///< mean over hosts that have times of iterations
  std::size_t timed_hosts = 0;  ///< those
  double slowest_iteration_ms = 0;
  std::string slowest_host;
  std::size_t devices = 0, streams = 0, events = 0;
  std::vector<HugectrEventSummary> summaries;  ///< in order of their first start
  std::vector<std::string> notes;              ///< a sentence each: what is missing where
};

/// Errors: two results of one host; iterations so far apart that the hosts cannot have run together.
Result<void> check_hugectr_hosts(const std::vector<HugectrHost>& hosts);

/// The profiler stops once every event has been timed as often as it was asked to, so that an event with fewer
/// repetitions than another means that the run ended before; a note says so. So do events that only some hosts have,
/// and those of `expected` that were never seen. REQUIRES: check_hugectr_hosts.
HugectrJob merge_hugectr_hosts(const std::vector<HugectrHost>& hosts, const std::vector<HugectrEvent>& expected = {});

/// label,hosts,streams,outer,start_ms,mean_ms,max_ms,slowest_host,slowest_device; the first row is the iteration.
std::string hugectr_job_csv(const HugectrJob& job);

struct HugectrRun {
  std::string name;
  HugectrJob job;
};

}  // namespace distsim::traces
