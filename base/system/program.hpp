// A program from its main on, so that it ends with one line whatever is short: memory, stack, threads, files.
#pragma once

#include <functional>

namespace distsim {

struct Program {
  const char* name;         ///< at the beginning of its lines
  const char* spends_less;  ///< what to do where there is too little memory: "use fewer nodes"
};

/// For a main: `run` and its exit code, after handle_signals(), and with enough stack whatever `ulimit -s` says, also on the
/// threads that it starts. What it throws is caught as by run_caught().
int run_program(const Program& program, const std::function<int()>& run);

/// `run`, and where it throws one line: without memory the exit code is 2, else kFailureExit.
int run_caught(const Program& program, const std::function<int()>& run);

}  // namespace distsim
