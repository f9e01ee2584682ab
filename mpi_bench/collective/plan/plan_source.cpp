#include "mpi_bench/collective/plan/plan.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"
#include "base/system/descriptor.hpp"

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

/// What a program of ours says, whose process has it as /proc/self/fd/N.
class Said {
 public:
  Said() : file_(::memfd_create("said", 0)) {}
  std::string redirection() const {
    return file_.valid() ? " 2>/proc/self/fd/" + std::to_string(file_.get()) : std::string();
  }
  std::string text() const {
    constexpr std::size_t kMost = 64u << 10;
    std::string out(kMost, '\0');
    const ssize_t got = file_.valid() ? ::pread(file_.get(), out.data(), out.size(), 0) : 0;
    out.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
    while (out.ends_with('\n')) out.pop_back();
    return out;
  }

  std::string last_line() const {
    const std::string all = text();
    return all.substr(all.rfind('\n') + 1);
  }

 private:
  Descriptor file_;
};

/// Files of the run that the experiment names are refused before the run: distsim knows what it reads. What it says besides is
/// said by who speaks for all ranks.
Result<LoadedPlan> simulate(const std::string& config, const OutputFiles& files) {
  std::string command = quoted(simulator()) + " curves plan --config " + quoted(config);
  for (const std::string& path : {files.out, files.json}) {
    if (!path.empty()) command += " --results=" + quoted(path);
  }
  const Said said;
  FILE* pipe = ::popen((kAlone + command + said.redirection()).c_str(), "r");
  if (pipe == nullptr) return Error{"cannot start distsim", "--plan simulate", ""};
  std::string text;
  char part[4096];
  for (std::size_t got = 0; text.size() <= kMostPlan && (got = std::fread(part, 1, sizeof part, pipe)) > 0;)
    text.append(part, got);
  const int status = ::pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{"`" + command + "` failed", "--plan simulate", said.last_line()};
  LoadedPlan plan;
  TRY_ASSIGN(plan.curves, parse_plan(text, "plan of " + config));
  plan.remarks = said.text();
  return plan;
}

}  // namespace

Result<LoadedPlan> load_plan(const Options& options) {
  if (options.selected.plan == "simulate") return simulate(options.selected.config, options.files);
  LoadedPlan plan;
  TRY_ASSIGN(const std::string text, read_file(options.selected.plan, kMostPlan));
  TRY_ASSIGN(plan.curves, parse_plan(text, options.selected.plan));
  return plan;
}

}  // namespace distsim::bench
