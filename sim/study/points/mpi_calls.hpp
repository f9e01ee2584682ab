// What a team needs of MPI, as a table of functions: the only thing that distsim and its library libdistsim_mpi.so share.
#pragma once

namespace distsim::study {

/// `int` results: 0 where it went well.
struct MpiCalls {
  int version;  ///< kMpiCalls of the library
  /// From the thread that makes all other calls. Errors are returned from then on.
  int (*start)();
  int (*rank)();
  int (*size)();
  int (*neighbours)();
  /// Copies `bytes`; they are on their way when the call returns, and a later call finishes the sending.
  int (*send)(int to, int kind, const char* bytes, int size);
  /// Whether a message is there, and of whom, of what kind and size.
  int (*look)(int* from, int* kind, int* size);
  /// The message that `look` found.
  int (*take)(int from, int kind, char* bytes, int size);
  void (*finish)();
};

inline constexpr int kMpiCalls = 1;

}  // namespace distsim::study

/// What the library exports.
extern "C" __attribute__((visibility("default"))) const distsim::study::MpiCalls* distsim_mpi_calls();
