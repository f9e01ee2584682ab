#include "sim/study/points/mpi_calls.hpp"

#include <mpi.h>

#include <list>
#include <string>

namespace distsim::study {
namespace {

struct Sending {
  std::string bytes;
  MPI_Request request;
};
std::list<Sending> sendings;

/// Forgets what has left.
void sweep_sendings() {
  for (auto it = sendings.begin(); it != sendings.end();) {
    int over = 0;
    const bool failed = MPI_Test(&it->request, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    it = over != 0 || failed ? sendings.erase(it) : std::next(it);
  }
}

int start() {
  int given = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS) return 1;
  return MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS ? 0 : 1;
}

int rank() {
  int value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &value);
  return value;
}

int size() {
  int value = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &value);
  return value;
}

int neighbours() {
  MPI_Comm near = MPI_COMM_NULL;
  int value = 1;
  if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near) != MPI_SUCCESS) return 1;
  MPI_Comm_size(near, &value);
  MPI_Comm_free(&near);
  return value;
}

int send(int to, int kind, const char* bytes, int count) {
  sweep_sendings();
  Sending& one = sendings.emplace_back(Sending{std::string(bytes, static_cast<std::size_t>(count)), MPI_REQUEST_NULL});
  const int code = MPI_Isend(one.bytes.data(), count, MPI_BYTE, to, kind, MPI_COMM_WORLD, &one.request);
  if (code != MPI_SUCCESS) sendings.pop_back();
  return code == MPI_SUCCESS ? 0 : 1;
}

int look(int* from, int* kind, int* count) {
  sweep_sendings();
  MPI_Status status;
  int there = 0;
  if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || there == 0) return 0;
  *from = status.MPI_SOURCE;
  *kind = status.MPI_TAG;
  return MPI_Get_count(&status, MPI_BYTE, count) == MPI_SUCCESS ? 1 : 0;
}

int take(int from, int kind, char* bytes, int count) {
  return MPI_Recv(bytes, count, MPI_BYTE, from, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS ? 0 : 1;
}

void finish() {
  for (Sending& one : sendings) MPI_Wait(&one.request, MPI_STATUS_IGNORE);
  sendings.clear();
  MPI_Finalize();
}

}  // namespace
}  // namespace distsim::study

extern "C" const distsim::study::MpiCalls* distsim_mpi_calls() {
  using namespace distsim::study;
  static const MpiCalls calls{kMpiCalls, start, rank, size, neighbours, send, look, take, finish};
  return &calls;
}
