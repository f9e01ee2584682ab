// The subcommands of `distsim`. Each file command_<name>.cpp declares its flags and, when chosen, sets the action to
// run.
#pragma once

#include <functional>

#include "base/result.hpp"

namespace CLI {
class App;
}

namespace distsim::app {

/// What the chosen subcommand does. An Error becomes one line on standard error and exit code 2.
using Action = std::function<Result<void>()>;

void add_predict(CLI::App& app, Action& action);
void add_sweep(CLI::App& app, Action& action);
void add_cost(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_curves(CLI::App& app, Action& action);
void add_profile(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_hugectr(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_man(CLI::App& app, Action& action);

/// The whole command line; returns the exit code: 0 done, 2 bad input.
int run_command(int argc, const char* const* argv);

}  // namespace distsim::app
