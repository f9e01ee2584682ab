// The subcommands, flags and arguments as plain values, read from what CLI11 was told: shell completion and the manual
// page are printed from them, and cannot fall behind the program.
#pragma once

#include <string>
#include <vector>

#include "sim/app/completion/value_names.hpp"

namespace CLI {
class App;
}

namespace distsim::app {

/// A flag, or an argument where it has no flags.
struct FlagEntry {
  std::vector<std::string> flags;  ///< "-v", "--verbose"
  std::string argument;            ///< "traces"
  std::string description;
  std::string value;                 ///< "FILE", "N", "strong|weak"; empty: takes none
  std::vector<std::string> choices;  ///< all values there are; empty: not a choice
  Completes completes = Completes::anything;
  bool required = false, repeats = false;
};

struct CommandEntry {
  std::string path;  ///< "cost collective"; empty for the program itself
  std::string description;
  std::vector<FlagEntry> flags, arguments;
  std::vector<CommandEntry> commands;

  std::string name() const;  ///< last word of the path
};

CommandEntry command_table(const CLI::App& app);

/// The command at the path and all below it, in order.
std::vector<const CommandEntry*> all_commands(const CommandEntry& top);

/// The completion script of a shell.
std::string bash_completion(const CommandEntry& program);
std::string zsh_completion(const CommandEntry& program);

/// distsim.1, as roff with the man macros.
std::string man_page(const CommandEntry& program, const std::string& version);

}  // namespace distsim::app
