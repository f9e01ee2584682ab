#include "mpi_bench/collective/run/ranks.hpp"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "base/check.hpp"

namespace distsim::bench {
namespace {

void host_group(int& local_rank, int& local_size, int& nodes) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &local_rank);
  MPI_Comm_size(host, &local_size);
  MPI_Comm_free(&host);
  const int first = local_rank == 0 ? 1 : 0;
  MPI_Allreduce(&first, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

}  // namespace

Ranks::Ranks(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(name, &length);
  host_.assign(name, static_cast<std::size_t>(length));
  host_group(local_rank_, local_size_, nodes_);
}

Ranks::~Ranks() { MPI_Finalize(); }

void Ranks::barrier() const { MPI_Barrier(MPI_COMM_WORLD); }

std::vector<double> Ranks::max(std::vector<double> values) const {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return values;
}

double Ranks::report(double value, Report which) const {
  double result = value;
  switch (which) {
    case Report::rank0: MPI_Bcast(&result, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); return result;
    case Report::average: MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); return result / size_;
    case Report::minimum: MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD); return result;
    case Report::maximum: MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); return result;
  }
  CHECK(false) << "unknown report";
  return 0;
}

std::uint64_t Ranks::sum(std::uint64_t value) const {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

bool Ranks::any(bool value) const {
  int flag = value ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &flag, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return flag != 0;
}

std::vector<std::string> Ranks::gather(const std::string& text) const {
  int length = static_cast<int>(text.size());
  std::vector<int> lengths(size_), starts(size_, 0);
  MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);
  std::string all(static_cast<std::size_t>(starts.back() + lengths.back()), '\0');
  MPI_Allgatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (int r = 0; r < size_; ++r) texts.push_back(all.substr(starts[r], lengths[r]));
  return texts;
}

std::string Ranks::from_root(const std::string& text) const {
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::string result = text;
  result.resize(static_cast<std::size_t>(length));
  MPI_Bcast(result.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  return result;
}

Result<void> Ranks::agree(const Result<void>& mine) const {
  if (!any(!mine.ok())) return {};
  const auto errors = gather(mine.ok() ? "" : mine.error().text());
  for (int r = 0; r < size_; ++r) {
    if (!errors[r].empty()) return Error{"rank " + std::to_string(r) + ": " + errors[r], "", ""};
  }
  CHECK(false) << "a rank failed without saying why";
  return {};
}

void Ranks::abort(const std::string& why) const {
  std::fprintf(stderr, "collective_bench: rank %d on %s: %s\n", rank_, host_.c_str(), why.c_str());
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

}  // namespace distsim::bench
