#include "sim/app/completion/value_names.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>

namespace distsim::app {
namespace {

struct Word {
  std::string_view word;
  Completes completes;
};

/// A word that is not here completes nothing.
constexpr std::array kWords{
    Word{"FILE", Completes::files},          Word{"PREFIX", Completes::files},
    Word{"NAME=FILE,...", Completes::files}, Word{"STUDY|FILE", Completes::files},
    Word{"FOLDER", Completes::folders},      Word{"SYSTEM", Completes::systems},
    Word{"GPU", Completes::devices},         Word{"SYSTEM|GPU", Completes::systems_or_devices},
    Word{"KEY=VALUE", Completes::settings},  Word{"SERVING_KEY=VALUE", Completes::serving_settings}};

struct Named {
  std::string_view command;  ///< "calibrate ops"; empty: any
  std::string_view name;
  std::string_view word;
};

/// Where a name means something else in one command, that line comes first.
constexpr std::array kValueNames{Named{"calibrate ops", "--out", "FOLDER"},
                                 Named{"calibrate graph", "--out", "FOLDER"},
                                 Named{"generate dlrm", "--out", "FOLDER"},
                                 Named{"generate dlrm", "--tables", "FILE"},
                                 Named{"serving", "--set", "SERVING_KEY=VALUE"},
                                 Named{"", "--config", "FILE"},
                                 Named{"", "--set", "KEY=VALUE"},
                                 Named{"", "--curves", "FILE"},
                                 Named{"", "--curve", "FILE"},
                                 Named{"", "--json", "FILE"},
                                 Named{"", "--csv", "FILE"},
                                 Named{"", "--study", "STUDY|FILE"},
                                 Named{"", "--journal", "FILE"},
                                 Named{"", "--constraints", "FILE"},
                                 Named{"", "--placement", "FILE"},
                                 Named{"", "--sharding-plan", "FILE"},
                                 Named{"", "--columns", "COLUMNS"},
                                 Named{"", "--sort", "COLUMN"},
                                 Named{"", "--timeline", "FILE"},
                                 Named{"", "--html", "FILE"},
                                 Named{"", "--graph", "FILE"},
                                 Named{"", "--svg", "FILE"},
                                 Named{"", "--plot", "FILE"},
                                 Named{"", "--out", "FILE"},
                                 Named{"", "--input", "FILE"},
                                 Named{"", "--cases", "FILE"},
                                 Named{"", "--results", "FILE"},
                                 Named{"", "--events", "FILE"},
                                 Named{"", "--network", "FILE"},
                                 Named{"", "--network-system", "FILE"},
                                 Named{"", "--groups", "FILE"},
                                 Named{"", "--write-et", "PREFIX"},
                                 Named{"", "--run", "NAME=FILE,..."},
                                 Named{"", "--system", "SYSTEM"},
                                 Named{"", "--gpu", "GPU"},
                                 Named{"", "--device", "GPU"},
                                 Named{"", "--measured-on", "SYSTEM|GPU"},
                                 Named{"", "--kind", "KIND"},
                                 Named{"", "--bytes", "SIZES"},
                                 Named{"", "--algorithms", "NAME"},
                                 Named{"", "--protocols", "NAME"},
                                 Named{"", "--op", "OP"},
                                 Named{"", "--pass", "PASS"},
                                 Named{"", "--dtype", "DTYPE"},
                                 Named{"", "--dump-after", "PASS"},
                                 Named{"", "--explain", "CASE_ID"},
                                 Named{"", "--vary", "KEY=VALUES"},
                                 Named{"", "--gpus", "COUNTS"},
                                 Named{"", "--pareto", "A,B"},
                                 Named{"", "--write", "FILE"},
                                 Named{"", "--date", "DATE"},
                                 Named{"", "--table", "TABLE"},
                                 Named{"", "--unprofiled", "TIME"},
                                 Named{"", "--host-stacks", "FILE"},
                                 Named{"", "--record-cost", "TIME"},
                                 Named{"", "--steps", "REGEX"},
                                 Named{"", "--step-pattern", "REGEX"},
                                 Named{"", "--remove", "REGEX"},
                                 Named{"", "--fuse", "REGEX"},
                                 Named{"", "--kernel", "KERNEL"},
                                 Named{"", "traces", "FILE"},
                                 Named{"", "experiments", "FILE"},
                                 Named{"", "--port", "PORT"},
                                 Named{"", "--listen", "ADDRESS"},
                                 Named{"", "--resource", "RESOURCE"},
                                 Named{"", "--factors", "FACTORS"},
                                 Named{"", "logs", "FILE"},
                                 Named{"", "files", "FILE"},
                                 Named{"", "events", "FILE"},
                                 Named{"", "results", "FILE"},
                                 Named{"", "sizes", "NAME=VALUE"}};

std::string_view word_of(const std::string& command, const std::string& name) {
  const auto it = std::find_if(kValueNames.begin(), kValueNames.end(), [&](const Named& n) {
    return n.name == name && (n.command.empty() || n.command == command);
  });
  return it == kValueNames.end() ? std::string_view() : it->word;
}

/// CLI11 calls a value of text TEXT, whatever it is.
bool is_unnamed(const CLI::Option& option) {
  return option.get_expected_max() > 0 && option.get_type_name().starts_with("TEXT");
}

void name_values_of(CLI::App& app, const std::string& command) {
  for (CLI::Option* option : app.get_options({})) {
    const std::string_view word = is_unnamed(*option) ? word_of(command, option->get_name()) : std::string_view();
    if (!word.empty()) option->type_name(std::string(word));
  }
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) {
    name_values_of(*sub, command + (command.empty() ? "" : " ") + sub->get_name());
  }
}

}  // namespace

void name_values(CLI::App& app) { name_values_of(app, ""); }

Completes completes(std::string_view word) {
  const auto it = std::find_if(kWords.begin(), kWords.end(), [&](const Word& w) { return w.word == word; });
  return it == kWords.end() ? Completes::anything : it->completes;
}

}  // namespace distsim::app
