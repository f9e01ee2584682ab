// Plays a Chakra job: every rank's nodes on streams of the host, the GPU and its communicators, in the order of their
// ids.
//
//   is_cpu_op          a host stream for each thread (tid)
//   COMP, MEM_*        a compute stream for each GPU stream; takes its recorded duration, else max(num_ops / peak,
//   tensor_size / memory bandwidth) COMM_COLL          a stream for each GPU stream or communicator; waits for all
//   members COMM_SEND          a stream for messages; the sender goes on when the message has arrived, whether or not
//   it is waited for COMM_RECV          no stream; ends when its message has arrived METADATA           no stream, no
//   time
#pragma once

#include "base/units.hpp"
#include "sim/chakra/chakra_calls.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::chakra {

/// Where the time of one rank went. makespan = compute + exposed + waiting + host + idle; each moment counts for the
/// first that applies.
struct ChakraRankTimes {
  std::int64_t finish = 0, compute = 0, comm = 0, exposed = 0, waiting = 0, host = 0,
               idle = 0;  ///< picoseconds; comm: all transfers, hidden or not
};

struct ChakraPlay {
  Duration makespan;
  std::uint64_t digest = 0;
  std::uint64_t steps = 0;
  bool rows = false;                   ///< played over rank vectors; else each rank's own list
  std::vector<ChakraRankTimes> ranks;  ///< by rank; a single one where all ranks are alike to the picosecond
  std::vector<ChakraCommunicator> communicators;
  std::vector<std::string> notes;  ///< what was assumed or left out
};

/// Errors: what ChakraCalls refuses, messages without their other end, a deadlock (its circle named), more streams than
/// 2^26.
Result<ChakraPlay> play_chakra(const traces::ChakraSet& set, CommunicationCost& costs,
                               const topology::DeviceSpec& device, const ChakraPlayOptions& options);

}  // namespace distsim::chakra
