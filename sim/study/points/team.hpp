// The processes of `mpirun -n N distsim sweep ...`, or of srun with PMIx. MPI itself is in a library of its own, which is
// loaded only where a launcher started the program: else it costs nothing, and a machine without MPI needs none.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace distsim::study {

/// What the launcher's environment says of this process.
struct Launched {
  int rank = 0, size = 1;
  bool knows_others = true;  ///< false: srun without --mpi, whose processes cannot find each other
};

/// Open MPI, PMIx (srun --mpi=pmix), PMI (MPICH, Intel MPI, srun --mpi=pmi2), or srun without any of these; nothing where no
/// such launcher, or it started this process alone. Of several, the one that is named first started the program: it may run
/// within the other.
std::optional<Launched> launched();

/// A message between processes.
struct Message {
  int from = 0;
  int kind = 0;
  std::string bytes;
};

/// Processes that know each other. Rank 0 leads. What they say to each other: talk.hpp.
class Team {
 public:
  virtual ~Team() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Processes on this machine.
  virtual int neighbours() const = 0;
  bool leads() const { return rank() == 0; }
  bool stopped = false;  ///< the first process has said to this one that nothing more will come

  /// Hands over a message; does not wait for its arrival. Error: the other process is gone.
  virtual Result<void> send(int to, int kind, const std::string& bytes) = 0;
  /// A message that has come; nothing where none has. Does not wait.
  virtual std::optional<Message> receive() = 0;
  /// Ends the talk when all processes call it. Without it, the destructor leaves the others to themselves.
  virtual void finish() = 0;
};

/// The team that a launcher started; null where this process is alone. Error: a launcher started several, which cannot find
/// each other, or MPI was not there when distsim was built, or does not start.
Result<std::unique_ptr<Team>> join_team();

/// The end of a command that may have had a team: a process that works for the first one tells it of its Error and waits until
/// it is told to stop, however long the first one works alone; the first one tells the others; then all leave. Gives back `result`; an Error without text of a process that works for the first
/// one is none.
Result<void> told(Team* team, Result<void> result);

}  // namespace distsim::study
