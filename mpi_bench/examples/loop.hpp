// What the example programs share: their flags, and a timed loop of iterations. Each is an ordinary MPI program: nothing here belongs to distsim.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

namespace example {

struct Flags {
  int iterations = 200;
  bool compute_only = false;   ///< the computation without its collectives, to be measured by itself
  long size = 1 << 20;         ///< bytes of the collectives, as in the size column of collective_bench
  long work = 1;               ///< passes of the computation
};

inline Flags flags_of(int argc, char** argv) {
  Flags f;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--compute-only") == 0) f.compute_only = true;
    else if (has_value && std::strcmp(argv[i], "--iterations") == 0) f.iterations = std::atoi(argv[++i]);
    else if (has_value && std::strcmp(argv[i], "--size") == 0) f.size = std::atol(argv[++i]);
    else if (has_value && std::strcmp(argv[i], "--work") == 0) f.work = std::atol(argv[++i]);
    else {
      std::fprintf(stderr, "usage: %s [--iterations N] [--size BYTES] [--work PASSES] [--compute-only]\n", argv[0]);
      std::exit(2);
    }
  }
  if (f.iterations < 1 || f.size < 4 || f.work < 0) {
    std::fprintf(stderr, "%s: expected --iterations of 1 or more, --size of 4 or more, --work of 0 or more\n", argv[0]);
    std::exit(2);
  }
  return f;
}

inline double at(std::vector<double> sorted, double p) { return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1))]; }

/// Runs the loop and prints "NAME median_us p10_us p90_us" on rank 0. Of each iteration the slowest rank counts. With `aligned` the ranks start each
/// iteration together (for parts that do not talk); else they run as they do in a program, and only the whole loop is in step.
inline void run_loop(const char* name, const Flags& flags, bool aligned, const std::function<void()>& iteration) {
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) iteration();
  MPI_Barrier(MPI_COMM_WORLD);
  double last = MPI_Wtime();
  for (int i = 0; i < flags.iterations; ++i) {
    iteration();
    double now = MPI_Wtime();
    seconds.push_back(now - last);
    if (aligned) {
      MPI_Barrier(MPI_COMM_WORLD);
      now = MPI_Wtime();
    }
    last = now;
  }
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::sort(seconds.begin(), seconds.end());
  if (rank == 0) std::printf("%s %.3f %.3f %.3f\n", name, at(seconds, 0.5) * 1e6, at(seconds, 0.1) * 1e6, at(seconds, 0.9) * 1e6);
}

}  // namespace example
