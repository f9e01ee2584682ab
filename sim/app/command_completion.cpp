// distsim completion, distsim man: what an installation needs, printed by the program itself.
#include <CLI/CLI.hpp>

#include <memory>

#include "base/output.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/completion/command_table.hpp"
#include "sim/config/config.hpp"
#include "sim/config/reference.hpp"

namespace distsim::app {
namespace {

std::string lines_of(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += word + "\n";
  return out;
}

Result<void> print_completion(const CLI::App& app, const std::string& what) {
  if (what == "bash") return print(bash_completion(command_table(app)));
  if (what == "zsh") return print(zsh_completion(command_table(app)));
  return print(lines_of(what == "keys" ? config::config_keys() : config::names_in(what)));
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
  auto what = std::make_shared<std::string>();
  CLI::App* sub =
      app.add_subcommand("completion", "Print the completion script of a shell: source <(distsim completion bash)");
  sub->add_option("what", *what,
                  "bash or zsh: the script; systems, devices, models, frameworks, keys: the names that it offers")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "systems", "devices", "models", "frameworks", "keys"}));
  sub->callback([&app, what, &action] { action = [&app, what] { return print_completion(app, *what); }; });
}

void add_man(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("man", "Print the manual page: distsim man | man -l -");
  sub->callback([&app, &action] { action = [&app] { return print(man_page(command_table(app), DISTSIM_VERSION)); }; });
}

}  // namespace distsim::app
