#include "sim/app/commands.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "base/text/spelling.hpp"

namespace distsim::app {
namespace {

constexpr const char* kDescription =
    "distsim predicts how long one training iteration takes on a GPU cluster, and why.\n"
    "\n"
    "  distsim --config configs/dgx_a100_4node.yaml\n"
    "  distsim --config configs/dgx_a100_4node.yaml --set cluster.nodes=8 --html report.html\n"
    "  distsim sweep --config configs/dgx_a100_4node.yaml --set cluster.nodes=1,2,4,8,16\n"
    "  distsim cost collective --system dgx_a100_80gb --kind all_reduce --nodes 4 --bytes 1MiB,64MiB\n";

/// `distsim --config X` means `distsim predict --config X`.
std::vector<std::string> with_default_command(int argc, const char* const* argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  const bool bare_flag = !args.empty() && args[0].starts_with("-") && args[0] != "--help" && args[0] != "-h" &&
                         args[0] != "--help-all" && args[0] != "--version";
  if (bare_flag) args.insert(args.begin(), "predict");
  return args;
}

int fail(const std::string& line) {
  std::fprintf(stderr, "distsim: %s\n", line.c_str());
  return 2;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) names.push_back(sub->get_name());
  return names;
}

/// One line for a broken command line, with the nearest subcommand or flag.
std::string usage_error(const CLI::App& app, const std::vector<std::string>& args, const CLI::ParseError& e) {
  std::string what = e.what();
  for (char& c : what) {
    if (c == '\n') c = ' ';
  }
  const auto names = command_names(app);
  if (!args.empty() && std::find(names.begin(), names.end(), args[0]) == names.end()) {
    return "found '" + args[0] + "', expected a command; " + spelling_hint(args[0], names);
  }
  std::string command = "distsim";
  const CLI::App* level = &app;
  for (const std::string& word : args) {  // cost, curves, hugectr and calibrate have commands of their own
    const auto below = level->get_subcommands(nullptr);
    const auto at =
        std::find_if(below.begin(), below.end(), [&](const CLI::App* sub) { return sub->get_name() == word; });
    if (at == below.end()) break;
    command += " " + word;
    level = *at;
  }
  return what + "; see `" + command + " --help`";
}

}  // namespace

int run_command(int argc, const char* const* argv) {
  CLI::App app(kDescription, "distsim");
  app.set_version_flag("--version", std::string("distsim ") + DISTSIM_VERSION);
  app.require_subcommand(1);
  Action action;
  add_predict(app, action);
  add_sweep(app, action);
  add_cost(app, action);
  add_validate(app, action);
  add_list(app, action);
  add_curves(app, action);
  add_profile(app, action);
  add_replay(app, action);
  add_hugectr(app, action);
  add_calibrate(app, action);

  const std::vector<std::string> args = with_default_command(argc, argv);
  if (args.empty()) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return fail(usage_error(app, args, e));
  }
  try {
    const Result<void> done = action();
    return done ? 0 : fail(done.error().text());
  } catch (const std::bad_alloc&) {
    return fail("out of memory; use fewer nodes, micro-batches or outputs");
  }
}

}  // namespace distsim::app
