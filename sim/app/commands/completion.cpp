// distsim completion, distsim man: what an installation needs, printed by the program itself.
#include <CLI/CLI.hpp>

#include <memory>

#include "base/output.hpp"
#include "base/text/printable.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/completion/command_table.hpp"
#include "sim/config/config.hpp"
#include "sim/config/reference.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::app {
namespace {

/// Without names that no line can hold.
std::string lines_of(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!find_bad_byte(word) && word.find_first_of("\t\r\n") == std::string::npos) out += word + "\n";
  }
  return out;
}

Result<void> print_completion(const CLI::App& app, const std::string& what) {
  if (what == "bash") return print(bash_completion(command_table(app)));
  if (what == "zsh") return print(zsh_completion(command_table(app)));
  if (what == "serving_keys") return print(lines_of(serving::serving_keys()));
  return print(lines_of(what == "keys" ? config::config_keys() : config::names_in(what)));
}

void declare_completion(CLI::App& self, Action& action) {
  const CLI::App& app = *self.get_parent();
  auto what = std::make_shared<std::string>();
  self.add_option(
          "what", *what,
          "bash or zsh: the script; systems, devices, models, frameworks, keys, serving_keys: the names that it offers")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "systems", "devices", "models", "frameworks", "keys", "serving_keys"}));
  self.callback([&app, what, &action] { action = [&app, what] { return print_completion(app, *what); }; });
}

constexpr Refusal kCompletionRefuses[] = {
    {"fish", "fish"},
};

void declare_man(CLI::App& self, Action& action) {
  const CLI::App& app = *self.get_parent();
  self.callback([&app, &action] { action = [&app] { return print(man_page(command_table(app), DISTSIM_VERSION)); }; });
}

constexpr Refusal kManRefuses[] = {
    {"loudly", "loudly"},
};

}  // namespace

const Command completion_command{
    .name = "completion",
    .description = "Print the completion script of a shell: source <(distsim completion bash)",
    .refuses = kCompletionRefuses,
    .declare = declare_completion,
};

const Command man_command{
    .name = "man",
    .description = "Print the manual page: distsim man | man -l -",
    .refuses = kManRefuses,
    .declare = declare_man,
};

}  // namespace distsim::app
