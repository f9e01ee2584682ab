// What carries out a collective: MPI on host memory, NCCL on GPU memory. One object per rank; all calls but the const
// ones are made by all ranks together and in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/collective/cases/collective_case.hpp"
#include "mpi_bench/collective/cases/data_type.hpp"

namespace distsim::bench {

struct Call {
  const CollectiveCase* what = nullptr;
  DataType type = DataType::float32;
  RedOp op = RedOp::sum;
  Shape shape;
  const Layout* layout = nullptr;
  bool in_place = false;  ///< both operands lie in the receive buffer, at layout->send_at and recv_at
};

/// Whether a collective can be done in place: with a defined result, with an undefined one (timed only, as nccl-tests
/// does), or not at all.
enum class InPlace : std::uint8_t { checked, timed_only, unsupported };

/// `samples` times `calls_each` calls without pause. Calls that are short compared with reading the clock are
/// timed several at a time.
struct LoopShape {
  int samples = 20, calls_each = 1;
  int calls() const { return samples * calls_each; }
};

struct LoopTimes {
  double mean_s = 0;           ///< of the whole loop, divided by the calls
  std::vector<double> each_s;  ///< this rank's mean of each sample, from one completion to the next
};

struct DeviceFacts {
  int index = 0;
  std::string bus_id, name;
};

/// Messages between two ranks, for latency and bandwidth. The two ranks of a pair call send and receive in matching
/// order.
class PointToPoint {
 public:
  virtual ~PointToPoint() = default;
  virtual Result<void> send(int peer,
                            std::uint64_t bytes) = 0;  ///< from the send buffer; returns when it may be reused
  virtual Result<void> receive(int peer,
                               std::uint64_t bytes) = 0;  ///< into the receive buffer; returns when all is there
};

class Backend {
 public:
  enum class Buffer : std::uint8_t { send, receive };

  virtual ~Backend() = default;
  virtual std::string name() const = 0;     ///< "mpi"
  virtual std::string library() const = 0;  ///< "Open MPI 4.1.4"
  virtual DeviceFacts device() const = 0;
  virtual Result<void> supports(const CollectiveCase& what, DataType type, RedOp op) const = 0;
  virtual Result<void> fits(const Call& call) const = 0;  ///< limits of one call, such as 2^31 - 1 elements
  virtual InPlace in_place(Kind kind) const = 0;
  /// Element of the one buffer at which an in-place result begins.
  virtual std::uint64_t in_place_result_at(const Call& call) const { return call.layout->recv_at; }

  /// Grows the buffers to at least these sizes.
  virtual Result<void> allocate(std::uint64_t send_bytes, std::uint64_t receive_bytes) = 0;
  virtual Result<void> write(Buffer buffer, std::uint64_t at, std::span<const std::byte> data) = 0;
  virtual Result<void> read(Buffer buffer, std::uint64_t at, std::span<std::byte> data) = 0;

  virtual Result<void> run(const Call& call) = 0;  ///< once, and waits until it is done
  virtual Result<LoopTimes> time(const Call& call, const LoopShape& loop) = 0;
  /// Seconds of a bare loop of the same calls, with the clock read only before and after it.
  virtual Result<double> time_bare(const Call& call, int calls) = 0;

  /// Null where the backend has none.
  virtual PointToPoint* pairs() { return nullptr; }

  /// A load that runs concurrently with the timed calls until it is stopped. `bytes` 0: computation; else an all_reduce
  /// of that size on a communicator of its own. All ranks of the group together.
  virtual Result<void> start_load(std::uint64_t bytes) {
    (void)bytes;
    return Error{"the " + name() + " backend has no load to run concurrently with a collective", "--load", ""};
  }
  virtual Result<void> stop_load() { return {}; }
};

}  // namespace distsim::bench
