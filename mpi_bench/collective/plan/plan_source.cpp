#include "mpi_bench/collective/plan/plan.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"

namespace distsim::bench {
namespace {

constexpr std::size_t kMostPlan = 16u << 20;

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The one next to this program, else the one in PATH.
std::string simulator() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto neighbour = self.parent_path() / "distsim";
  return !failed && std::filesystem::exists(neighbour, failed) ? neighbour.string() : "distsim";
}

/// Every rank asks for itself: to distsim it must not look as if it were one of several processes that share the work.
constexpr const char* kAlone = "env -u OMPI_COMM_WORLD_SIZE -u PMI_SIZE -u SLURM_STEP_NUM_TASKS ";

/// Files of the run that the experiment names are refused before the run: distsim knows what it reads.
Result<std::string> simulate(const std::string& config, const OutputFiles& files) {
  std::string command = quoted(simulator()) + " curves plan --config " + quoted(config);
  for (const std::string& path : {files.out, files.json}) {
    if (!path.empty()) command += " --results=" + quoted(path);
  }
  FILE* pipe = ::popen((kAlone + command).c_str(), "r");
  if (pipe == nullptr) return Error{"cannot start distsim", "--plan simulate", ""};
  std::string text;
  char part[4096];
  for (std::size_t got = 0; text.size() <= kMostPlan && (got = std::fread(part, 1, sizeof part, pipe)) > 0;)
    text.append(part, got);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  return Error{"`" + command + "` failed", "--plan simulate", "see its message above"};
}

}  // namespace

Result<std::vector<PlannedCurve>> load_plan(const Options& options) {
  if (options.selected.plan != "simulate") {
    TRY_ASSIGN(const std::string text, read_file(options.selected.plan, kMostPlan));
    return parse_plan(text, options.selected.plan);
  }
  TRY_ASSIGN(const std::string text, simulate(options.selected.config, options.files));
  return parse_plan(text, "plan of " + options.selected.config);
}

}  // namespace distsim::bench
