// Ranks that mpirun started.
#include <mpi.h>

#include <cstdlib>
#include <exception>
#include <numeric>

#include "mpi_bench/collective/ranks/ranks.hpp"
#include "mpi_bench/common/pulse.hpp"

namespace distsim::bench {
namespace {

constexpr int kTag = 7;

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

std::string processor_name() {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(name, &length);
  return {name, static_cast<std::size_t>(length)};
}

class MpiRanks : public ProcessRanks {
 public:
  MpiRanks() : ProcessRanks(world_rank(), world_size()) { meet(processor_name()); }
  ~MpiRanks() override {
    if (std::uncaught_exceptions() == 0) MPI_Finalize();  // else the others are waiting somewhere: mpirun ends them
  }

  std::string carrier() const override { return "MPI"; }

  void barrier() const override {
    const Meeting meeting;
    MPI_Barrier(MPI_COMM_WORLD);
  }

  std::vector<std::string> gather(const std::string& text) const override {
    const Meeting meeting;
    const int length = static_cast<int>(text.size());
    std::vector<int> lengths(size()), starts(size(), 0);
    MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);
    std::string all(static_cast<std::size_t>(starts.back() + lengths.back()), '\0');
    MPI_Allgatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (int r = 0; r < size(); ++r) texts.push_back(all.substr(starts[r], lengths[r]));
    return texts;
  }

  std::string swap_with_root(int peer, const std::string& text) const override {
    if (rank() != 0 && rank() != peer) return "";
    const int other = rank() == 0 ? peer : 0;
    int length = static_cast<int>(text.size()), theirs = 0;
    MPI_Sendrecv(&length, 1, MPI_INT, other, kTag, &theirs, 1, MPI_INT, other, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::string received(static_cast<std::size_t>(theirs), '\0');
    MPI_Sendrecv(text.data(), length, MPI_CHAR, other, kTag, received.data(), theirs, MPI_CHAR, other, kTag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return received;
  }

  void end_job() const override {
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
  }
};

}  // namespace

std::unique_ptr<ProcessRanks> make_mpi_ranks(int* argc, char*** argv, bool several_threads) {
  int provided = 0;
  MPI_Init_thread(argc, argv, several_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
  return std::make_unique<MpiRanks>();
}

}  // namespace distsim::bench
