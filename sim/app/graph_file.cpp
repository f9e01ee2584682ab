#include "sim/app/graph_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/signals.hpp"
#include "base/system/temporaries.hpp"
#include "base/text/printable.hpp"
#include "sim/report/picture/graph_dot.hpp"

namespace distsim::app {
namespace {

constexpr std::size_t kMostTasks = 2000;  // of a picture: Graphviz takes seconds for them, and nobody reads more
constexpr std::size_t kMostSvgBytes = std::size_t{256} << 20;

/// In a folder of $PATH, as posix_spawnp looks for it.
bool has_graphviz() {
  const char* folders = std::getenv("PATH");
  std::istringstream list(folders == nullptr ? "/bin:/usr/bin" : folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    const std::string program = (folder.empty() ? "." : folder) + "/dot";
    std::error_code error;
    if (std::filesystem::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0) return true;
  }
  return false;
}

/// Whether the child has ended, so that waitpid() tells its status; meanwhile looks whether an end is asked for, of which a
/// signal tells perhaps another thread alone.
bool ends_unasked(pid_t child) {
  constexpr timespec kLook{0, 2'000'000};  // ns
  for (;;) {
    siginfo_t info{};
    const bool looked = ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    if (looked ? info.si_pid == child : errno != EINTR) return true;
    if (end_asked()) return false;
    ::nanosleep(&kLook, nullptr);
  }
}

/// dot's exit status, with its messages dropped; nothing where it was ended because an end was asked for. Throws where the
/// system starts no program.
std::optional<int> run_dot(const std::string& dot, const std::string& svg) {
  const char* const words[] = {"dot", "-Tsvg", "-o", svg.c_str(), dot.c_str(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // to be ended with all that it starts
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, "dot", &files, &attributes, const_cast<char* const*>(words), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::system_error(failed, std::generic_category(), "cannot start Graphviz (dot)");
  bool done = false;
  {
    const EndedBySignal by_signal(pid);
    done = ends_unasked(pid);
    if (!done) ::kill(-pid, SIGKILL);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return done ? std::optional(status) : std::nullopt;
}

/// Where it may open too few files Graphviz says nothing useful, or draws without the fonts; whether that is so is known only
/// here.
void check_descriptors() {
  constexpr rlim_t kEnough = 16;  // of Graphviz 2.43: 8; with room
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kEnough)
    throw std::system_error(EMFILE, std::generic_category(), "--graph: Graphviz (dot) cannot draw");
}

Result<std::string> drawn_by_graphviz(const std::string& dot) {
  std::error_code failed;
  const std::string place = std::filesystem::temp_directory_path(failed).string();
  const Error none{"--graph: found no temporary folder to write to, expected one", place, "set TMPDIR"};
  if (failed) return none;
  TemporaryFolder scratch(place + "/distsim-");
  if (!scratch.made()) return none;
  const std::string &text = scratch.file("graph.dot"), &picture = scratch.file("graph.svg");
  TRY(write_file_atomically(text, dot));
  const EarlyEnd early;  // ends dot, and what lies here is removed
  const std::optional<int> status = run_dot(text, picture);
  if (!status || end_asked()) return Error{"interrupted: the graph is not drawn", "", ""};
  if (*status == 0) return read_file(picture, kMostSvgBytes);
  return Error{"--graph: Graphviz (dot) failed to draw the graph", "", "write a .dot file and draw it yourself"};
}

}  // namespace

Result<void> check_graph_file(const std::string& path) {
  if (path.empty() || takes_stdout({{"--graph", path}}) || path.ends_with(".dot")) return {};
  if (!path.ends_with(".svg"))
    return Error{"--graph: found " + in_quotes(path) + ", expected a name that ends in .dot or .svg", "", ""};
  if (has_graphviz()) {
    check_descriptors();
    return {};
  }
  return Error{"--graph: found no Graphviz (dot) to draw " + in_quotes(path) +
                   ", expected it to be installed, or a name that ends in .dot",
               "", ""};
}

Result<void> write_graph_file(const std::string& path, const graph::CostedGraph& costed, const std::string& title,
                              FilesTogether& files) {
  const report::GraphPicture picture = report::graph_dot(costed, title, 0, kMostTasks);
  if (picture.left_out > 0) {
    log_warn([&] {
      return path + ": the first " + std::to_string(picture.drawn) + " tasks of " +
             std::to_string(picture.drawn + picture.left_out);
    });
  }
  if (!path.ends_with(".svg")) return files.write(path, picture.dot);
  TRY_ASSIGN(const std::string svg, drawn_by_graphviz(picture.dot));
  return files.write(path, svg);
}

}  // namespace distsim::app
