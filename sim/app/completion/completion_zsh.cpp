// Completion for zsh: a function a command, each a call of zsh's own _arguments.
#include <fmt/format.h>

#include "sim/app/completion/command_table.hpp"

namespace distsim::app {
namespace {

constexpr const char* kZshHead = R"zsh(#compdef distsim
# Completion of distsim for zsh, printed by `distsim completion zsh`.

# Names that the program knows: _distsim_names systems|devices|models|frameworks|keys|serving_keys
_distsim_names() {
  local program=${commands[$distsim_program]:-$distsim_program}
  local folder=${program:h}
  [[ -e $folder/scripts/setup.sh ]] && program=$folder/build/bin/distsim  # the script of a source tree would build
  [[ -x $program ]] && $program completion $1 2>/dev/null </dev/null
}

# The array names of the caller. They may be names of files: in the form (${names}) of _alternative they would be evaluated.
_distsim_known() { compadd "$@" -a names }

_distsim_name() {
  local kind; local -a names
  for kind in $@; do names+=(${(f)"$(_distsim_names $kind)"}); done
  _alternative "names:$*:_distsim_known" 'files:file:_files'
}

# KEY=VALUE
_distsim_setting() {
  if compset -P '*='; then
    case ${IPREFIX##*--set=} in
      cluster.system=) compadd -- ${(f)"$(_distsim_names systems)"} ;;
      device.name= | cluster.device=) compadd -- ${(f)"$(_distsim_names devices)"} ;;
      model.name=) compadd -- ${(f)"$(_distsim_names models)"} ;;
      framework.name=) compadd -- ${(f)"$(_distsim_names frameworks)"} ;;
    esac
  else
    compadd -S = -- ${(f)"$(_distsim_names ${distsim_keys:-keys})"}
  fi
}
_distsim_serving_setting() {
  local distsim_keys=serving_keys
  _distsim_setting
}
)zsh";

constexpr const char* kTail = R"zsh(
_distsim() {
  local distsim_program=$words[1]
  while [[ $CURRENT -gt 2 && $words[2] == (-v|--verbose) ]]; do shift words; ((CURRENT--)); done
  if [[ $words[2] == -* && $words[2] != (-h|--help|--version|--log-level*) ]]; then _distsim_predict; else _distsim_; fi
}

if [[ $funcstack[1] == _distsim ]]; then _distsim "$@"; else compdef _distsim distsim; fi
)zsh";

/// Text inside single quotes, within [..] or between colons of an _arguments specification.
std::string escaped(const std::string& text, const std::string& special) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (special.find(c) != std::string::npos)
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string action_of(const FlagEntry& f) {
  if (!f.choices.empty()) return fmt::format("({})", fmt::join(f.choices, " "));
  switch (f.completes) {
    case Completes::anything:
      return " ";
    case Completes::files:
      return "_files";
    case Completes::folders:
      return "_files -/";
    case Completes::systems:
      return "_distsim_name systems";
    case Completes::devices:
      return "_distsim_name devices";
    case Completes::systems_or_devices:
      return "_distsim_name systems devices";
    case Completes::settings:
      return "_distsim_setting";
    case Completes::serving_settings:
      return "_distsim_serving_setting";
  }
  return " ";
}

std::string value_part(const FlagEntry& f, const std::string& message) {
  return ":" + escaped(message, ":\\") + ":" + escaped(action_of(f), "");
}

std::string zsh_flag_lines(const FlagEntry& f) {
  std::string out;
  for (const std::string& flag : f.flags) {
    const bool is_long = flag.starts_with("--"), takes_value = !f.value.empty();
    out += fmt::format("    '{}{}{}[{}]{}' \\\n", f.repeats ? "*" : "", flag, takes_value && is_long ? "=" : "",
                       escaped(f.description, "[]\\"), takes_value ? value_part(f, f.value) : "");
  }
  return out;
}

std::string argument_line(const FlagEntry& f) {
  return fmt::format("    '{}{}' \\\n", f.repeats ? "*" : "", value_part(f, f.argument));
}

std::string function_name(const CommandEntry& c) {
  std::string name = "_distsim_" + c.path;
  for (char& letter : name) {
    if (letter == ' ' || letter == '-') letter = '_';
  }
  return name;
}

/// A command with commands of its own: their names, then the one that was named.
std::string choice_of_command(const CommandEntry& c) {
  std::string names, calls;
  for (const CommandEntry& sub : c.commands) {
    names += fmt::format("        '{}:{}'\n", sub.name(), escaped(sub.description, ":\\"));
    calls += fmt::format("        {}) {} ;;\n", sub.name(), function_name(sub));
  }
  return fmt::format(
      "    '1: :->command' '*:: :->rest'\n"
      "  case $state in\n    command)\n      names=(\n{}      )\n      _describe command names\n      ;;\n"
      "    rest)\n      case $words[1] in\n{}      esac\n      ;;\n  esac\n",
      names, calls);
}

std::string function_of(const CommandEntry& program, const CommandEntry& c) {
  std::string lines;
  for (const FlagEntry& f : c.flags) lines += zsh_flag_lines(f);
  for (const FlagEntry& f : c.path.empty() ? std::vector<FlagEntry>() : program.flags) {
    if (f.flags.front() != "-h") lines += zsh_flag_lines(f);
  }
  for (const FlagEntry& f : c.arguments) lines += argument_line(f);
  const std::string rest = c.commands.empty() ? "    && return\n" : choice_of_command(c);
  const char* options =
      c.commands.empty() ? "" : " -C -A '-*'";  // flags behind the name of a command are that command's
  return fmt::format("\n{}() {{\n  local state line; local -a names; typeset -A opt_args\n  _arguments{} \\\n{}{}}}\n",
                     function_name(c), options, lines, rest);
}

}  // namespace

std::string zsh_completion(const CommandEntry& program) {
  std::string out = kZshHead;
  for (const CommandEntry* c : all_commands(program)) out += function_of(program, *c);
  return out + kTail;
}

}  // namespace distsim::app
