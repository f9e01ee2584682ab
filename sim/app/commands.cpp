#include "sim/app/commands.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/output.hpp"
#include "base/system/signals.hpp"
#include "base/text/number_text.hpp"
#include "sim/app/completion/value_names.hpp"
#include "sim/app/diagnostics.hpp"
#include "sim/app/usage_error.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/study/points/team.hpp"

namespace distsim::app {
namespace {

#define COMMAND(name) &name##_command,
constexpr std::array kCommands{DISTSIM_COMMANDS(COMMAND)};
#undef COMMAND

#define COMMAND(name) std::string_view(#name),
constexpr std::array kNames{DISTSIM_COMMANDS(COMMAND)};
#undef COMMAND

constexpr bool all_different() {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kNames[i] == kNames[j] || kCommands[i] == kCommands[j]) return false;
    }
  }
  return true;
}
static_assert(kCommands.size() == kNames.size() && all_different(), "every subcommand is listed once");

constexpr const char* kDescription =
    "distsim predicts how long one training iteration takes on a GPU cluster, and why.\n"
    "\n"
    "  distsim --config configs/dgx_a100_4node.yaml\n"
    "  distsim --config configs/dgx_a100_4node.yaml --set cluster.nodes=8 --html report.html\n"
    "  distsim sweep --config configs/dgx_a100_4node.yaml --set cluster.nodes=1,2,4,8,16\n"
    "  distsim cost collective --system dgx_a100_80gb --kind all_reduce --nodes 4 --bytes 1MiB,64MiB\n";

/// Where the command stands: behind flags that go with every command.
std::size_t command_place(const std::vector<std::string>& args) {
  std::size_t at = 0, words = 0;
  while (at < args.size() && is_log_flag(args[at], words)) at += words;
  return std::min(at, args.size());
}

/// `distsim --config X` means `distsim predict --config X`.
std::vector<std::string> with_default_command(int argc, const char* const* argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  const auto command = args.begin() + static_cast<std::ptrdiff_t>(command_place(args));
  const bool bare_flag = command != args.end() && command->starts_with("-") && *command != "--help" &&
                         *command != "-h" && *command != "--help-all" && *command != "--version";
  if (bare_flag) args.insert(command, "predict");
  return args;
}

/// An empty line was said before.
int fail(const std::string& line) {
  if (!line.empty()) remark(line);
  return end_asked() ? kFailureExit : 2;
}

/// Of all flags that take a value: numbers, by the type that CLI11 gives them, and nothing where something belongs, as
/// `--steps "$UNSET"` gives it.
void check_values(CLI::App& app) {
  constexpr std::pair<std::string_view, FlagNumber> kTypes[] = {
      {"UINT", FlagNumber::natural}, {"INT", FlagNumber::whole}, {"FLOAT", FlagNumber::real}};
  for (CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty() || option->get_items_expected_max() == 0) continue;
    if (option->get_name() != "--set")  // what it takes is said by who reads it
      option->check([](const std::string& text) { return text.empty() ? "found nothing, expected a value" : ""; });
    const std::string type = option->get_type_name();
    for (const auto& [name, kind] : kTypes) {
      if (type != name && !type.starts_with(std::string(name) + ":")) continue;
      option->transform(
          CLI::Validator([kind = kind](std::string& text) { return plain_flag_number(text, kind); }, std::string()));
      option->check([kind = kind](const std::string& text) { return refuse_odd_number(text, kind); });
    }
  }
  for (CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) check_values(*below);
}

}  // namespace

std::span<const Command* const> commands() { return kCommands; }

namespace {

/// Prints a text that is all there is to do; the exit code.
int show(const std::string& text) {
  const Result<void> printed = print(text);
  return printed ? 0 : fail(printed.error().text());
}

int parse_and_run(int argc, const char* const* argv) {
  CLI::App app(kDescription, "distsim");
  app.set_version_flag("--version", std::string("distsim ") + DISTSIM_VERSION);
  app.require_subcommand(1);
  const auto log_flags = add_log_flags(app);
  Action action;
  for (const Command* command : commands())
    command->declare(*app.add_subcommand(command->name, command->description), action);
  check_values(app);
  name_values(app);

  const std::vector<std::string> args = with_default_command(argc, argv);
  if (args.empty()) return show(app.help());
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::Success& e) {  // help or the version was asked for
    std::ostringstream text;
    app.exit(e, text, text);
    return show(text.str());
  } catch (const CLI::ParseError& e) {
    return fail(usage_error(app, std::span(args).subspan(command_place(args)), e));
  }
  start_log(*log_flags);
  protect_inputs();
  const Result<void> folders = config::check_config_folders();
  const Result<void> done = folders ? action() : folders;
  return done ? 0 : fail(done.error().text());
}

/// The command that runs; null where none is named like the word in its place.
const Command* named_command(int argc, const char* const* argv) {
  const std::vector<std::string> args = with_default_command(argc, argv);
  const std::size_t at = command_place(args);
  const auto it = std::ranges::find(kCommands, at < args.size() ? args[at] : std::string(),
                                    [](const Command* c) { return c->name; });
  return it == kCommands.end() ? nullptr : *it;
}

void be_silent() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0 && ::dup2(nowhere, STDOUT_FILENO) >= 0 && ::dup2(nowhere, STDERR_FILENO) >= 0) ::close(nowhere);
}

/// What is left to do for a process of mpirun or srun: that of a command whose work they share says nothing if it is not the
/// first; of another command the first does all, and says so. False: nothing.
bool has_part(int argc, const char* const* argv) {
  const std::optional<study::Launched> as = study::launched();
  if (!as) return true;
  const Command* command = named_command(argc, argv);
  if (command != nullptr && command->joins_teams) {
    if (as->rank > 0) be_silent();
    return true;
  }
  if (as->rank == 0) remark("process 0 of " + std::to_string(as->size) + " does all the work, the others end at once");
  return as->rank == 0;
}

}  // namespace

int run_command(int argc, const char* const* argv) {
  return run_caught(kProgram, [&] { return has_part(argc, argv) ? parse_and_run(argc, argv) : 0; });
}

}  // namespace distsim::app
