// What the example programs share: their flags, and a timed loop of iterations. Each is an ordinary MPI program:
// nothing here belongs to distsim.
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
  bool compute_only = false;  ///< the computation without its collectives
  bool paired = false;        ///< both, in turns: what disturbs the machine then falls on both
  long size = 1 << 20;        ///< bytes of the collectives, as in the size column of collective_bench
  long work = 1;              ///< passes of the computation
};

inline Flags flags_of(int argc, char** argv) {
  Flags f;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--compute-only") == 0)
      f.compute_only = true;
    else if (std::strcmp(argv[i], "--paired") == 0)
      f.paired = true;
    else if (has_value && std::strcmp(argv[i], "--iterations") == 0)
      f.iterations = std::atoi(argv[++i]);
    else if (has_value && std::strcmp(argv[i], "--size") == 0)
      f.size = std::atol(argv[++i]);
    else if (has_value && std::strcmp(argv[i], "--work") == 0)
      f.work = std::atol(argv[++i]);
    else {
      std::fprintf(stderr, "usage: %s [--iterations N] [--size BYTES] [--work PASSES] [--compute-only | --paired]\n",
                   argv[0]);
      std::exit(2);
    }
  }
  if (f.iterations < 1 || f.size < 4 || f.work < 0) {
    std::fprintf(stderr, "%s: expected --iterations of 1 or more, --size of 4 or more, --work of 0 or more\n", argv[0]);
    std::exit(2);
  }
  return f;
}

inline double at(const std::vector<double>& sorted, double p) {
  return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1))];
}

/// Prints "NAME median_us p10_us p90_us" on rank 0; of each iteration the slowest rank counts.
inline void print(const char* name, std::vector<double> seconds) {
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::sort(seconds.begin(), seconds.end());
  if (rank == 0)
    std::printf("%s %.3f %.3f %.3f\n", name, at(seconds, 0.5) * 1e6, at(seconds, 0.1) * 1e6, at(seconds, 0.9) * 1e6);
}

/// `count` iterations after one that is not timed. Computation alone starts together on all ranks each time; with
/// collectives the ranks run as they do in a program, and only the block starts in step.
inline void run_block(int count, bool talk, const std::function<void(bool)>& iteration, std::vector<double>& seconds) {
  iteration(talk);
  MPI_Barrier(MPI_COMM_WORLD);
  double last = MPI_Wtime();
  for (int i = 0; i < count; ++i) {
    iteration(talk);
    double now = MPI_Wtime();
    seconds.push_back(now - last);
    if (!talk) {
      MPI_Barrier(MPI_COMM_WORLD);
      now = MPI_Wtime();
    }
    last = now;
  }
}

/// `iteration(talk)` is the program's loop body, with its collectives or without.
inline void run_loop(const Flags& flags, const std::function<void(bool)>& iteration) {
  constexpr int kBlock = 10, kWarm = 5;
  const bool whole = flags.paired || !flags.compute_only, compute = flags.paired || flags.compute_only;
  for (int i = 0; i < kWarm; ++i) iteration(whole);
  std::vector<double> whole_s, compute_s;
  for (int left = flags.iterations; left > 0; left -= kBlock) {
    const int count = std::min(left, kBlock);
    if (whole) run_block(count, true, iteration, whole_s);
    if (compute) run_block(count, false, iteration, compute_s);
  }
  if (whole) print("iteration", std::move(whole_s));
  if (compute) print("compute", std::move(compute_s));
}

}  // namespace example
