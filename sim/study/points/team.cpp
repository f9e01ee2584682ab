#include "sim/study/points/team.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/text/number_text.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/study/points/mpi_calls.hpp"

namespace distsim::study {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libdistsim_mpi.so";
constexpr std::size_t kMostMessage = std::size_t{1} << 30;

std::optional<int> environment_number(const char* variable) {
  const char* text = std::getenv(variable);
  const auto value = parse_integer(text ? text : "");
  if (!value.ok() || *value < 0 || *value > 1'000'000) return std::nullopt;
  return static_cast<int>(*value);
}

/// Beside an installed program in lib, beside a built one in the same folder.
std::vector<std::string> library_paths() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<std::string> paths;
  if (!error)
    paths = {(program / kLibrary).string(), (program / "../lib/distsim" / kLibrary).lexically_normal().string()};
  return paths;
}

Result<const MpiCalls*> load_calls(const Launched& as) {
  std::string why = std::string("no ") + kLibrary;
  for (const std::string& path : library_paths()) {
    if (::access(path.c_str(), R_OK) != 0) continue;
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);  // Open MPI's own parts look for its symbols there
    void* entry = library != nullptr ? ::dlsym(library, "distsim_mpi_calls") : nullptr;
    const MpiCalls* calls = entry != nullptr ? reinterpret_cast<const MpiCalls* (*)()>(entry)() : nullptr;
    if (calls != nullptr && calls->version == kMpiCalls) return calls;
    const char* reason = calls == nullptr ? ::dlerror() : nullptr;
    why = reason != nullptr ? reason : path + " is of another version";
  }
  return Error{"found " + std::to_string(as.size) +
                   " processes started together, but this distsim was built without MPI (" + why + ")",
               "", "install MPI (libopenmpi-dev) and build again, or start one process with --jobs"};
}

class MpiTeam : public Team {
 public:
  explicit MpiTeam(const MpiCalls& calls)
      : calls_(calls), rank_(calls.rank()), size_(calls.size()), neighbours_(calls.neighbours()) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int neighbours() const override { return neighbours_; }

  Result<void> send(int to, int kind, const std::string& bytes) override {
    if (bytes.size() <= kMostMessage && calls_.send(to, kind, bytes.data(), static_cast<int>(bytes.size())) == 0)
      return {};
    return Error{"process " + std::to_string(to) + " cannot be reached", "", ""};
  }

  std::optional<Message> receive() override {
    Message message;
    int size = 0;
    if (calls_.look(&message.from, &message.kind, &size) == 0) return std::nullopt;
    message.bytes.resize(static_cast<std::size_t>(size));
    if (calls_.take(message.from, message.kind, message.bytes.data(), size) != 0) return std::nullopt;
    return message;
  }

  /// Where a process died in these last moments, MPI waits for it for ever: all is written by now.
  void finish() override {
    constexpr unsigned kMostSeconds = 20;
    ::signal(SIGALRM, [](int) { ::_exit(0); });
    ::alarm(kMostSeconds);
    calls_.finish();
    ::alarm(0);
  }

 private:
  const MpiCalls& calls_;
  int rank_, size_, neighbours_;
};

}  // namespace

std::optional<Launched> launched() {
  struct Launcher {
    const char *rank, *size;
    bool knows_others;
  };
  constexpr std::array<Launcher, 4> kLaunchers{{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
                                                {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", true},
                                                {"PMI_RANK", "PMI_SIZE", true},
                                                {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", false}}};
  for (const Launcher& l : kLaunchers) {
    const std::optional<int> rank = environment_number(l.rank), size = environment_number(l.size);
    if (!rank || !size || *rank >= *size) continue;
    return *size > 1 ? std::optional(Launched{*rank, *size, l.knows_others}) : std::nullopt;
  }
  return std::nullopt;
}

Result<std::unique_ptr<Team>> join_team() {
  const std::optional<Launched> as = launched();
  if (!as) return std::unique_ptr<Team>();
  if (!as->knows_others)
    return Error{
        "found " + std::to_string(as->size) + " processes that srun started without MPI, expected one job of MPI", "",
        "srun --mpi=pmix, or for runs of their own unset SLURM_STEP_NUM_TASKS"};
  TRY_ASSIGN(const MpiCalls* const calls, load_calls(*as));
  if (calls->start() != 0) return Error{"MPI cannot be started", "", ""};
  std::unique_ptr<Team> team = std::make_unique<MpiTeam>(*calls);
  log_info([&] { return "process " + std::to_string(team->rank()) + " of " + std::to_string(team->size()); });
  if (team->size() == 1)
    return Error{"found " + std::to_string(as->size) + " processes that MPI does not join, expected one job of MPI", "",
                 ""};
  return team;
}

}  // namespace distsim::study
