#include "sim/app/graph_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/system/descriptor.hpp"
#include "base/text/printable.hpp"
#include "sim/report/picture/graph_dot.hpp"

namespace distsim::app {
namespace {

constexpr const char *kDotName = "graph.dot", *kSvgName = "graph.svg";
constexpr std::size_t kMostTasks = 2000;  // of a picture: Graphviz takes seconds for them, and nobody reads more
constexpr std::size_t kMostSvgBytes = std::size_t{256} << 20;

bool has_graphviz() { return std::system("command -v dot >/dev/null 2>&1") == 0; }

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
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// In single quotes for the shell.
std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Result<std::string> drawn_by_graphviz(const std::string& dot) {
  TRY_ASSIGN(const std::unique_ptr<ScratchFolder> scratch, ScratchFolder::create());
  TRY(write_file_atomically(scratch->file(kDotName), dot));
  const std::string command = "cd " + shell_word(scratch->path()) + " && dot -Tsvg -o graph.svg graph.dot 2>/dev/null";
  if (std::system(command.c_str()) == 0) return read_file(scratch->file(kSvgName), kMostSvgBytes);
  return Error{"--graph: Graphviz (dot) failed to draw the graph", "", "write a .dot file and draw it yourself"};
}

}  // namespace

Result<void> check_graph_file(const std::string& path) {
  if (path.empty() || path == "-" || path.ends_with(".dot")) return {};
  if (!path.ends_with(".svg"))
    return Error{"--graph: found " + in_quotes(path) + ", expected a name that ends in .dot or .svg", "", ""};
  if (has_graphviz()) return {};
  return Error{"--graph: found no Graphviz (dot) to draw " + in_quotes(path) +
                   ", expected it to be installed, or a name that ends in .dot",
               "", ""};
}

Result<void> write_graph_file(const std::string& path, const graph::CostedGraph& costed, const std::string& title) {
  const report::GraphPicture picture = report::graph_dot(costed, title, 0, kMostTasks);
  if (picture.left_out > 0) {
    log_warn([&] {
      return path + ": the first " + std::to_string(picture.drawn) + " tasks of " +
             std::to_string(picture.drawn + picture.left_out);
    });
  }
  if (!path.ends_with(".svg")) return write_file_atomically(path, picture.dot);
  TRY_ASSIGN(const std::string svg, drawn_by_graphviz(picture.dot));
  return write_file_atomically(path, svg);
}

}  // namespace distsim::app
