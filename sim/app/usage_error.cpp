#include "sim/app/usage_error.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/command_line/refused_flag.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"

namespace distsim::app {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) names.push_back(sub->get_name());
  return names;
}

/// The command that the words name, and how it is written: "cost collective".
struct NamedCommand {
  const CLI::App* app;
  std::string words = "distsim";
};
NamedCommand named_command(const CLI::App& top, std::span<const std::string> args) {
  NamedCommand out{&top};
  for (const std::string& word : args) {
    const auto below = out.app->get_subcommands(nullptr);
    const auto at = std::ranges::find_if(below, [&](const CLI::App* sub) { return sub->get_name() == word; });
    if (at == below.end()) break;
    out.words += " " + word;
    out.app = *at;
  }
  return out;
}

/// All flags of a command, and those that go with every command.
std::vector<std::string> flags_of(const NamedCommand& command, const CLI::App& top) {
  std::vector<std::string> out = flag_spellings(*command.app);
  for (const std::string& flag : flag_spellings(top)) out.push_back(flag);
  return out;
}

/// The first word that looks like a flag and is none.
std::optional<std::string> unknown_flag(std::span<const std::string> args, const std::vector<std::string>& flags) {
  for (const std::string& word : args) {
    if (word == "--") return std::nullopt;
    if (!word.starts_with("--") || word.size() < 3) continue;
    const std::string name = word.substr(0, word.find('='));
    if (std::ranges::find(flags, name) == flags.end()) return name;
  }
  return std::nullopt;
}

}  // namespace

std::string usage_error(const CLI::App& app, std::span<const std::string> args, const CLI::ParseError& error) {
  const auto names = command_names(app);
  if (!args.empty() && std::ranges::find(names, args.front()) == names.end())
    return "found " + in_quotes(args.front()) + ", expected a command; " + spelling_hint(args.front(), names);
  const NamedCommand command = named_command(app, args);
  const std::string help = "; see `" + command.words + " --help`";
  const auto flags = flags_of(command, app);
  if (const auto flag = unknown_flag(args, flags)) {
    const std::string near = nearest_spelling(*flag, flags);
    return "found " + in_quotes(*flag) + ", expected a flag of `" + command.words + "`" +
           (near.empty() ? "" : "; did you mean '" + near + "'?") + help;
  }
  const Error refused = refused_flag(*command.app, app, error);
  if (!refused.where.empty()) return refused.text() + help;
  const auto extra = app.remaining(true);
  const auto below = command_names(*command.app);
  if (!extra.empty())
    return "found " + in_quotes(extra.front()) +
           (below.empty() ? ", expected no such word"
                          : ", expected a command of `" + command.words + "`; " + spelling_hint(extra.front(), below)) +
           help;
  if (!below.empty())
    return "found no command after `" + command.words + "`, expected " + spelling_hint("", below) + help;
  return refused.text() + help;
}

}  // namespace distsim::app
