#include "sim/app/completion/command_table.hpp"

#include <CLI/CLI.hpp>

#include "sim/pipeline/pipeline.hpp"

namespace distsim::app {
namespace {

/// "TEXT:{strong,weak}" is how CLI11 shows a value that is checked by IsMember.
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  std::vector<std::string> choices{""};
  for (const char c : type.substr(begin + 1, end - begin - 1)) {
    if (c == ',')
      choices.emplace_back();
    else
      choices.back() += c;
  }
  return choices;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// "N" for "UINT:UINT in [1 - 256]".
std::string value_of(const std::string& type, const std::vector<std::string>& choices) {
  if (!choices.empty()) return joined(choices, "|");
  const std::string word = type.substr(0, type.find(':'));
  if (word == "UINT" || word == "INT") return "N";
  return word == "FLOAT" ? "X" : word;
}

/// Passes are checked when the command runs, so that the error can name the nearest one; their names are known all the
/// same.
std::vector<std::string> choices_of(const CLI::Option& option, const std::string& type) {
  if (option.get_name() == "--dump-after") return pipeline::dumpable_passes();
  return choices_of(type);
}

FlagEntry flag_entry(const CLI::Option& option) {
  FlagEntry entry;
  for (const std::string& name : option.get_snames()) entry.flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.flags.push_back("--" + name);
  if (entry.flags.empty()) entry.argument = option.get_name();
  entry.description = option.get_description();
  entry.required = option.get_required();
  entry.repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll || option.get_expected_max() > 1;
  if (option.get_expected_max() == 0) return entry;
  const std::string type = option.get_type_name();
  entry.choices = choices_of(option, type);
  entry.value = value_of(type, entry.choices);
  if (entry.choices.empty()) entry.completes = completes(entry.value);
  return entry;
}

bool is_hidden(const CLI::App& app) { return app.get_group().empty(); }

CommandEntry entry_of(const CLI::App& app, const std::string& path) {
  CommandEntry entry{path, app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    FlagEntry flag = flag_entry(*option);
    (flag.flags.empty() ? entry.arguments : entry.flags).push_back(std::move(flag));
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App* s) { return !is_hidden(*s); })) {
    entry.commands.push_back(entry_of(*sub, path + (path.empty() ? "" : " ") + sub->get_name()));
  }
  return entry;
}

void append(const CommandEntry& entry, std::vector<const CommandEntry*>& out) {
  out.push_back(&entry);
  for (const CommandEntry& sub : entry.commands) append(sub, out);
}

}  // namespace

std::string CommandEntry::name() const { return path.substr(path.rfind(' ') + 1); }

CommandEntry command_table(const CLI::App& app) { return entry_of(app, ""); }

std::vector<const CommandEntry*> all_commands(const CommandEntry& top) {
  std::vector<const CommandEntry*> out;
  append(top, out);
  return out;
}

}  // namespace distsim::app
