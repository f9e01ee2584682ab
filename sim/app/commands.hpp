// The subcommands of `distsim`: one entry per file commands/<name>.cpp, and one line of DISTSIM_COMMANDS here.
#pragma once

#include <functional>
#include <span>

#include "base/result.hpp"
#include "base/system/program.hpp"

namespace CLI {
class App;
}

namespace distsim::app {

/// What the chosen subcommand does. An Error becomes one line on standard error and exit code 2.
using Action = std::function<Result<void>()>;

/// A command line that the subcommand refuses with exit code 2; run by tests/app/commands_test.cpp.
struct Refusal {
  const char* arguments;  ///< behind the name, separated by spaces; paths are relative to the repository
  const char* names;      ///< words that the line on standard error contains
};

/// A subcommand: everything the program knows of it. Flags are what `declare` gives to CLI11, from which --help, shell
/// completion and the manual page are made.
struct Command {
  const char* name;
  const char* description;           ///< one sentence without a full stop, for --help
  std::span<const Refusal> refuses;  ///< at least one
  /// Declares flags, arguments and groups on its own CLI::App, and the callback that sets the action to run.
  void (*declare)(CLI::App& self, Action& action);
  bool joins_teams =
      false;  ///< processes of mpirun share its work (sim/study/points/team.hpp): only the first one prints
};

// In the order of --help.
#define DISTSIM_COMMANDS(COMMAND) \
  COMMAND(predict)                \
  COMMAND(sweep)                  \
  COMMAND(plan)                   \
  COMMAND(sensitivity)            \
  COMMAND(compare)                \
  COMMAND(serve)                  \
  COMMAND(cost)                   \
  COMMAND(validate)               \
  COMMAND(generate)               \
  COMMAND(list)                   \
  COMMAND(curves)                 \
  COMMAND(profile)                \
  COMMAND(replay)                 \
  COMMAND(serving)                \
  COMMAND(hugectr)                \
  COMMAND(calibrate)              \
  COMMAND(completion)             \
  COMMAND(man)

#define COMMAND(name) extern const Command name##_command;
DISTSIM_COMMANDS(COMMAND)
#undef COMMAND

std::span<const Command* const> commands();

inline constexpr Program kProgram{"distsim", "use fewer nodes, micro-batches, requests or outputs, or smaller files"};

/// The whole command line; returns the exit code: 0 done, 2 bad input or more than the memory holds, 3
/// (kFailureExit) interrupted or an internal error.
int run_command(int argc, const char* const* argv);

}  // namespace distsim::app
