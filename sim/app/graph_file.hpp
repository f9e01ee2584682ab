// --graph FILE: the op graph of an iteration as a picture.
#pragma once

#include <string>

#include "base/file.hpp"
#include "base/result.hpp"
#include "sim/graph/costed_graph.hpp"

namespace distsim::app {

/// Before any work is done. Errors: a name that ends neither in .dot nor in .svg ("-" is dot text on standard output);
/// an .svg where Graphviz's `dot` is not installed.
Result<void> check_graph_file(const std::string& path);

/// Writes dot text, or has Graphviz draw it. Tasks of rank 0, at most 2,000 of them; what is left out is named in the
/// log. Errors: Graphviz fails; the file cannot be written.
Result<void> write_graph_file(const std::string& path, const graph::CostedGraph& costed, const std::string& title,
                              FilesTogether& files);

}  // namespace distsim::app
