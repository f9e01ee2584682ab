// The profile of a trace as text, CSV and JSON. Names from traces are untrusted: control characters never reach the
// output.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sim/profile/profile.hpp"

namespace distsim::report {

enum class ProfileTable : std::uint8_t {
  steps,
  tree,
  ops,
  kernels,
  collectives,
  ranks,
  overheads,
  variants,
  gpu,
  host
};
/// "steps", "tree", ...
Result<ProfileTable> parse_profile_table(const std::string& name);
std::vector<std::string> profile_table_names();

struct ProfileTextOptions {
  int width = 120;         ///< columns, 100 to 400; the table of steps may take 11 more
  std::size_t top = 10;    ///< rows of the tables of kernels, ops and collectives
  std::uint32_t rank = 0;  ///< index into Profile::ranks: the one whose tree, ops and kernels are shown
};

std::string profile_text(const traces::TraceJob& job, const profile::Profile& profile,
                         const ProfileTextOptions& options);

/// One table with its header line, all ranks and rows. Times in ms (overheads and skews in us); unknown is empty.
///   steps
///   rank,step,measured_ms,wall_ms,busy_ms,compute_ms,comm_ms,exposed_comm_ms,idle_ms,gaps,gap_ms,host_gap_ms,kernels,launches
///                (and a row `whole trace` for each rank)
///   tree         rank,depth,kind,name,launched,device_ms
///   ops          rank,op,shapes,calls,device_ms,tflops,gbps
///   kernels      rank,name,kind,communication,calls,total_ms,mean_us,min_us,max_us,gbps,occupancy_percent
///   collectives kind,group,group_size,bytes,calls,ranks_seen,mean_us,transfer_us,skew_median_us,skew_max_us,busbw_GBps
///   ranks        rank,last_arrivals,made_others_wait_ms,waited_ms,compute_excess_percent,straggler
///   overheads    rank,overhead,count,total_ms,mean_us,median_us,p90_us,corrected_mean_us,corrected_median_us
///   variants     rank,layer,op,shapes,kernel,calls,device_ms,mean_us,occupancy_percent
///   host         function,self_percent,total_percent,self_ms_per_step
///   gpu
///   rank,step,busy_percent,sm_efficiency_percent,occupancy_percent,memory_begin_gb,memory_peak_gb,memory_end_gb,profiler_ms,
///   without_profiler_ms,occupancy_covers_percent
std::string profile_csv(const traces::TraceJob& job, const profile::Profile& profile, ProfileTable table);

/// Time of the median step of all ranks, in ns; 0: unknown. What host stacks, which say shares, are scaled to.
double typical_step(const profile::Profile& profile);

/// How much of a profile is written. What is left out of a list is its end.
struct ProfileForm {
  int indent = 1;                                                    ///< -1: one line
  std::size_t most_rows = std::numeric_limits<std::size_t>::max();   ///< of each list of a rank
  std::size_t most_ranks = std::numeric_limits<std::size_t>::max();  ///< that have lists at all
};

/// Everything that the form lets through; schema in docs/profile.md. With `most_rows` each rank has also `rows`: how many there
/// are of each list.
std::string profile_json(const traces::TraceJob& job, const profile::Profile& profile, const ProfileForm& form = {});

/// For pages: in one line, with as many rows as make at most `most` bytes.
std::string profile_page_json(const traces::TraceJob& job, const profile::Profile& profile, std::size_t most);

}  // namespace distsim::report
