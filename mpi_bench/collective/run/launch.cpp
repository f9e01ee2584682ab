#include "mpi_bench/collective/run/launch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/fnv.hpp"

namespace distsim::bench {
namespace {

constexpr int kDefaultPort = 18515;

struct Dialect {
  const char *rank, *size, *local_size, *job;
};
constexpr Dialect kDialects[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_JOBID"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_JOB_ID"},
    {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
};

std::optional<int> number(const char* text) {
  if (text == nullptr || *text == '\0') return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < 0 || value > (1 << 24)) return std::nullopt;
  return static_cast<int>(value);
}

/// Concurrent jobs on one machine get different ports, most of the time.
int port_of(const std::string& job) {
  if (job.empty()) return kDefaultPort;
  return 20000 + static_cast<int>(fnv32(job) % 10000);
}

std::string host_name() {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

std::optional<LaunchFacts> launch_facts(const Environment& environment) {
  for (const Dialect& d : kDialects) {
    const auto rank = number(environment(d.rank)), size = number(environment(d.size));
    if (!rank || !size || *rank >= *size) continue;
    LaunchFacts facts{.rank = *rank, .size = *size, .local_size = number(environment(d.local_size)).value_or(0)};
    if (const char* job = environment(d.job)) facts.job = job;
    if (const char* root = environment("MASTER_ADDR")) facts.root = root;
    return facts;
  }
  return std::nullopt;
}

Result<TcpPlaces> tcp_places(const Options& o, const std::optional<LaunchFacts>& launch, const std::string& host_name) {
  TcpPlaces places{.port = o.launch.port != 0 ? o.launch.port : port_of(launch ? launch->job : ""),
                   .my_host = host_name};
  if (!o.launch.hosts.empty()) {
    const int said = o.launch.rank >= 0 ? o.launch.rank : launch ? launch->rank : -1;
    if (said < 0) return Error{"found none, expected the number of this rank in --hosts", "--rank", ""};
    if (said >= static_cast<int>(o.launch.hosts.size()))
      return Error{
          "found rank " + std::to_string(said) + " from the launcher, expected a rank below the number of --hosts",
          "--hosts", ""};
    places.rank = said;
    places.size = static_cast<int>(o.launch.hosts.size());
    places.root_host = o.launch.hosts.front();
    places.my_host = o.launch.hosts[static_cast<std::size_t>(said)];
    places.hosts = o.launch.hosts;
    return places;
  }
  if (!launch) return places;
  places.rank = launch->rank;
  places.size = launch->size;
  if (!launch->root.empty())
    places.root_host = launch->root;
  else if (launch->local_size != launch->size && launch->size > 1)
    return Error{"found ranks on several hosts and no MPI in this build, expected the host of each rank", "--hosts",
                 "or MASTER_ADDR, the host of rank 0"};
  return places;
}

Result<std::unique_ptr<ProcessRanks>> start_ranks(const Options& o, int* argc, char*** argv) {
  const auto launch = launch_facts([](const char* name) -> const char* { return std::getenv(name); });
#ifdef DISTSIM_WITH_MPI
  if (o.launch.hosts.empty()) return make_mpi_ranks(argc, argv, o.load.kind == LoadKind::collective);
#else
  (void)argc;
  (void)argv;
#endif
  TRY_ASSIGN(TcpPlaces places, tcp_places(o, launch, host_name()));
  // Who is missing is said before StartGuard ends the program, which does not know it.
  if (o.stall_limit_s > 0) places.patience_s = std::max(o.stall_limit_s, kLeastStartSeconds) - 1;
  return make_tcp_ranks(places);
}

}  // namespace distsim::bench
