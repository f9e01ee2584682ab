#include "sim/app/usage_error.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

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
  std::vector<std::string> out;
  for (const CLI::App* app : {command.app, &top}) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
      for (const std::string& name : option->get_snames()) out.push_back("-" + name);
    }
  }
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

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> out(1);
  for (const char c : list) {
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

std::string comma_list(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

bool is_whole(const CLI::App& command, const std::string& flag) {
  const CLI::Option* option = command.get_option_no_throw(flag);
  const std::string type = option == nullptr ? "" : option->get_type_name();
  return type.starts_with("UINT") || type.starts_with("INT");
}

/// CLI11's "--flag: VALUE not in {a,b}" and "--flag: Value VALUE not in range A to B" as found and expected.
std::string restated(const std::string& what, const CLI::App& command) {
  const std::size_t colon = what.find(": "), choice = what.rfind(" not in {"), range = what.rfind(" not in range ");
  if (colon == std::string::npos) return what;
  const std::string flag = what.substr(0, colon + 2);
  if (what.ends_with("At Most 1 required but received 2")) return flag + "found twice, expected once";
  const auto value_before = [&](std::size_t end, std::string_view lead) {
    std::string value = what.substr(colon + 2, end - colon - 2);
    return in_quotes(value.starts_with(lead) ? value.substr(lead.size()) : value);
  };
  if (choice != std::string::npos && choice > colon && what.ends_with('}')) {
    const std::vector<std::string> words =
        words_of(std::string_view(what).substr(choice + 9, what.size() - choice - 10));
    const std::string near = nearest_spelling(what.substr(colon + 2, choice - colon - 2), words);
    return flag + "found " + value_before(choice, "") + ", expected one of " + comma_list(words) +
           (near.empty() ? "" : "; did you mean '" + near + "'?");
  }
  if (range != std::string::npos && range > colon)
    return flag + "found " + value_before(range, "Value ") + ", expected " +
           (is_whole(command, what.substr(0, colon)) ? "a whole number from " : "a number from ") +
           what.substr(range + 14);
  return what;
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
  const auto extra = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extra.empty())
    return "found " + in_quotes(extra.front()) + ", expected no such word" + help;
  return printable(restated(one_line(error.what()), *command.app), 400) + help;
}

}  // namespace distsim::app
