#include "sim/app/graph_file.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <system_error>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/descriptor.hpp"
#include "base/system/signals.hpp"
#include "base/text/printable.hpp"
#include "sim/report/picture/graph_dot.hpp"

namespace distsim::app {
namespace {

constexpr const char *kDotName = "graph.dot", *kSvgName = "graph.svg";
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

/// dot's exit status, with its messages dropped. Throws where the system starts no program.
int run_dot(const std::string& dot, const std::string& svg) {
  const char* const words[] = {"dot", "-Tsvg", "-o", svg.c_str(), dot.c_str(), nullptr};
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, "dot", &files, nullptr, const_cast<char* const*>(words), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::system_error(failed, std::generic_category(), "cannot start Graphviz (dot)");
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Graphviz says nothing useful where it may open too few files; whether that is so is known only here.
void check_descriptors() {
  constexpr rlim_t kEnough = 16;  // of Graphviz 2.43: 8; with room
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kEnough)
    throw std::system_error(EMFILE, std::generic_category(), "--graph: Graphviz (dot) cannot draw");
}

/// A folder of its own under the temporary one, removed with what is in it.
class ScratchFolder {
 public:
  static Result<std::unique_ptr<ScratchFolder>> create() {
    std::error_code failed;
    std::string path = (std::filesystem::temp_directory_path(failed) / "distsim-XXXXXX").string();
    if (failed || ::mkdtemp(path.data()) == nullptr)
      return Error{"--graph: found no temporary folder to write to, expected one", path, "set TMPDIR"};
    return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(path)));
  }
  ~ScratchFolder() {  // without memory, of which there may be none
    {
      const Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      for (const char* name : {kDotName, kSvgName}) ::unlinkat(folder.get(), name, 0);
    }
    ::rmdir(path_.c_str());
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Result<std::string> drawn_by_graphviz(const std::string& dot) {
  TRY_ASSIGN(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::create());
  TRY(write_file_atomically(scratch->file(kDotName), dot));
  const EarlyEnd early;  // Ctrl-C ends dot, and what lies here is removed
  if (run_dot(scratch->file(kDotName), scratch->file(kSvgName)) == 0)
    return read_file(scratch->file(kSvgName), kMostSvgBytes);
  check_descriptors();
  return Error{"--graph: Graphviz (dot) failed to draw the graph", "", "write a .dot file and draw it yourself"};
}

}  // namespace

Result<void> check_graph_file(const std::string& path) {
  if (path.empty() || takes_stdout({{"--graph", path}}) || path.ends_with(".dot")) return {};
  if (!path.ends_with(".svg"))
    return Error{"--graph: found " + in_quotes(path) + ", expected a name that ends in .dot or .svg", "", ""};
  if (has_graphviz()) return {};
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
