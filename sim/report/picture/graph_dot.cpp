#include "sim/report/picture/graph_dot.hpp"

#include <array>

#include "base/check.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/report/text/format.hpp"

namespace distsim::report {
namespace {

constexpr std::size_t kLongestLine = 80;  // bytes of a label's line
// By StreamKind: host, compute, comm, copy, p2p. Light enough for black text.
constexpr std::array<std::string_view, 5> kFill{"#f2f2f2", "#d9ead3", "#fce5cd", "#d0e0f0", "#ead1dc"};

/// A quoted string of dot. printable() has made what is not text harmless; Graphviz reads "&#27;" as the character of that
/// number.
std::string dot_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '&' ? "&amp;" : std::string(1, c);
  }
  return out + '"';
}

/// Lines of a label in one quoted string: "\n" between them is dot's own.
std::string label_of(std::initializer_list<std::string> lines) {
  std::string out;
  for (const std::string& line : lines) {
    const std::string text = dot_quoted(printable(line, kLongestLine));
    out += (out.empty() ? "\"" : "\\n") + text.substr(1, text.size() - 2);
  }
  return out + '"';
}

class Picture {
 public:
  Picture(const graph::CostedGraph& costed, std::uint32_t rank, std::size_t most)
      : costed_(costed), graph_(costed.graph), rank_(rank), most_(most), drawn_(graph_.tasks.size(), false) {
    last_of_stream_.fill(TaskId());
  }

  GraphPicture draw(std::string_view title) && {
    for (std::uint32_t t = 0; t < graph_.tasks.size(); ++t) add(TaskId(t));
    out_.dot = "digraph iteration {\n  label=" +
               label_of({std::string(title),
                         "rank " + std::to_string(rank_) + ", " + counted(out_.drawn, "task") +
                             (out_.left_out > 0 ? " of " + std::to_string(out_.drawn + out_.left_out) : "")}) +
               ";\n  labelloc=t;\n  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];\n" + nodes_ +
               edges_ + "}\n";
    return std::move(out_);
  }

 private:
  void add(TaskId t) {
    const graph::Task& task = graph_.tasks[t];
    const OpId op(task.first_op.value() + graph_.variant_of(t, rank_));
    if (std::holds_alternative<graph::Absent>(graph_.ops[op])) return;
    if (out_.drawn == most_) {
      ++out_.left_out;
      return;
    }
    ++out_.drawn;
    drawn_[t.value()] = true;
    add_node(t, task, op);
    add_edges(t, task);
  }

  void add_node(TaskId t, const graph::Task& task, OpId op) {
    const graph::Cost& cost = costed_.costs[op];
    nodes_ += "  t" + std::to_string(t.value()) + " [label=" +
              label_of({graph_.names[task.name], graph::describe(graph_.ops[op]),
                        time_text(cost.mean) + ", " + std::string(graph::name_of(cost.basis))}) +
              ", fillcolor=" + dot_quoted(kFill[static_cast<std::size_t>(task.stream.kind())]) + ", tooltip=" +
              label_of({std::string(graph::name_of(task.stream)) + ", " + std::string(graph::name_of(task.phase))}) +
              "];\n";
  }

  void add_edges(TaskId t, const graph::Task& task) {
    TaskId& last = last_of_stream_[task.stream.number()];
    for (const TaskId dep : graph_.dependencies(t)) {
      if (drawn_[dep.value()] && dep != last) add_edge(dep, t, "");
    }
    if (last.valid()) add_edge(last, t, " [color=\"#999999\", arrowsize=0.6]");
    last = t;
  }

  void add_edge(TaskId from, TaskId to, std::string_view attributes) {
    (edges_ += "  t" + std::to_string(from.value()) + " -> t" + std::to_string(to.value())) += attributes;
    edges_ += ";\n";
  }

  const graph::CostedGraph& costed_;
  const graph::TaskGraph& graph_;
  std::uint32_t rank_;
  std::size_t most_;
  std::vector<bool> drawn_;
  std::array<TaskId, graph::kStreamCount> last_of_stream_{};
  std::string nodes_, edges_;
  GraphPicture out_;
};

}  // namespace

GraphPicture graph_dot(const graph::CostedGraph& costed, std::string_view title, std::uint32_t rank, std::size_t most) {
  CHECK(rank < costed.graph.ranks) << "rank " << rank;
  return Picture(costed, rank, most).draw(title);
}

}  // namespace distsim::report
