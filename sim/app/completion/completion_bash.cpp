// Completion for bash: two tables made of the commands, and a function that reads the words typed so far.
#include <fmt/format.h>

#include "sim/app/completion/command_table.hpp"

namespace distsim::app {
namespace {

constexpr const char* kBashHead = R"bash(# Completion of distsim for bash, printed by `distsim completion bash`.
)bash";

constexpr const char* kFunctions = R"bash(
# Names that the program knows: _distsim_names PROGRAM systems|devices|models|frameworks|keys|serving_keys
_distsim_names() {
  local program folder
  program=$(type -P -- "$1") || return
  folder=${program%/*}
  [[ -e $folder/scripts/setup.sh ]] && program=$folder/build/bin/distsim  # the script of a source tree would build
  [[ -x $program ]] && "$program" completion "$2" 2>/dev/null </dev/null
}

# The command that the words before the cursor call.
_distsim_command() {
  local command='' word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
      -v | --verbose) continue ;;
      --log-level) [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++)); ((i++)); continue ;;
      -*) [[ -z $command ]] && command=predict; break ;;
    esac
    case " $(_distsim_words "$command") " in
      *" $word "*) command=${command:+$command }$word ;;
      *) break ;;
    esac
  done
  echo "$command"
}

_distsim_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen "$1" -- "$cur"); }

# Those of the lines $1 that start with what is typed. They may be names of files, so nothing in them is expanded (compgen -W
# would); what the shell would not read as one word is quoted.
_distsim_offer() {
  local word quoted typed=${cur#[\"\']}
  typed=${typed//\\/}
  COMPREPLY=()
  while IFS= read -r word; do
    [[ -n $word && $word == "$typed"* ]] || continue
    printf -v quoted %q "$word"
    [[ $cur == [\"\']* && $quoted != "$word" ]] || COMPREPLY+=("$quoted")
  done <<<"$1"
}
_distsim_offer_words() { _distsim_offer "${1// /$'\n'}"; }

# The key of KEY=VALUE, one of the names $2, or a value for the key $1.
_distsim_setting() {
  case $1 in
    '') _distsim_offer "$(_distsim_names "$program" "$2")"; [[ ${#COMPREPLY[@]} == 1 ]] && COMPREPLY[0]=${COMPREPLY[0]}=; compopt -o nospace 2>/dev/null ;;
    cluster.system) _distsim_offer "$(_distsim_names "$program" systems)" ;;
    device.name | cluster.device) _distsim_offer "$(_distsim_names "$program" devices)" ;;
    model.name) _distsim_offer "$(_distsim_names "$program" models)" ;;
    framework.name) _distsim_offer "$(_distsim_names "$program" frameworks)" ;;
  esac
}

_distsim() {
  local program=$1 cur=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) flag key='' split='' command value words
  COMPREPLY=()
  # bash splits words at =: `--flag=value` is three of them, and so is `key=value`.
  if [[ $cur == = ]]; then cur=''; split=yes; elif [[ ${COMP_WORDS[at]} == = ]]; then ((at--)); split=yes; fi
  flag=${COMP_WORDS[at]}
  if [[ -n $split && $flag != -* ]]; then
    key=$flag; ((at--)); [[ ${COMP_WORDS[at]} == = ]] && ((at--)); flag=${COMP_WORDS[at]}
  fi
  command=$(_distsim_command)
  value=''
  [[ $flag == -* ]] && value=$(_distsim_value "$command:$flag")
  if [[ -z $value && $cur != -* ]]; then
    words=$(_distsim_words "$command")
    [[ -n $words ]] && { _distsim_offer_words "$words"; return; }
    value=$(_distsim_value "$command:")
  fi
  case $value in
    '') _distsim_offer_words "$(_distsim_flags "$command")" ;;
    file) _distsim_files -f ;;
    folder) _distsim_files -d ;;
    setting\ *) _distsim_setting "$key" "${value#setting }" ;;
    word\ *) _distsim_offer_words "${value#word }" ;;
    name\ *)
      words=''
      for key in ${value#name }; do words+=$(_distsim_names "$program" "$key")$'\n'; done
      _distsim_offer "$words"
      [[ ${#COMPREPLY[@]} == 0 ]] && _distsim_files -f
      ;;
  esac
}

complete -F _distsim distsim
)bash";

/// As the function _distsim above takes it.
std::string completion_of(const FlagEntry& f) {
  if (!f.choices.empty()) return fmt::format("word {}", fmt::join(f.choices, " "));
  switch (f.completes) {
    case Completes::anything:
      return "any";
    case Completes::files:
      return "file";
    case Completes::folders:
      return "folder";
    case Completes::systems:
      return "name systems";
    case Completes::devices:
      return "name devices";
    case Completes::systems_or_devices:
      return "name systems devices";
    case Completes::settings:
      return "setting keys";
    case Completes::serving_settings:
      return "setting serving_keys";
  }
  return "any";
}

using Lines = std::vector<std::pair<std::string, std::string>>;  ///< pattern of a case, and what is printed there

/// Patterns with the same answer share a line.
std::string case_lines(const Lines& lines) {
  std::vector<std::pair<std::string, std::string>> merged;
  for (const auto& [pattern, answer] : lines) {
    auto it = merged.begin();
    while (it != merged.end() && it->second != answer) ++it;
    if (it == merged.end())
      merged.emplace_back(fmt::format("'{}'", pattern), answer);
    else
      it->first += fmt::format(" | '{}'", pattern);
  }
  std::string out;
  for (const auto& [patterns, answer] : merged) out += fmt::format("    {}) echo '{}' ;;\n", patterns, answer);
  return out;
}

std::string function(const char* name, const char* what, const Lines& lines) {
  return fmt::format("\n# {}\n{}() {{\n  case $1 in\n{}  esac\n}}\n", what, name, case_lines(lines));
}

/// Without --help, which all commands have from the program.
std::string names_of(const std::vector<FlagEntry>& flags) {
  std::string names;
  for (const FlagEntry& f : flags) {
    if (f.flags.back() == "--help") continue;
    for (const std::string& flag : f.flags) names += (names.empty() ? "" : " ") + flag;
  }
  return names;
}

Lines word_lines(const std::vector<const CommandEntry*>& commands) {
  Lines lines;
  for (const CommandEntry* c : commands) {
    std::string words;
    for (const CommandEntry& sub : c->commands) words += (words.empty() ? "" : " ") + sub.name();
    if (!words.empty()) lines.emplace_back(c->path, words);
  }
  return lines;
}

/// Flags of the program itself are valid behind each command; those of predict also where no command is named.
Lines flag_lines(const CommandEntry& program) {
  Lines lines;
  for (const CommandEntry* c : all_commands(program)) {
    std::string names = c->path.empty() ? "" : names_of(c->flags) + " ";
    for (const CommandEntry& sub : program.commands) {
      if (c->path.empty() && sub.path == "predict") names += names_of(sub.flags) + " ";
    }
    lines.emplace_back(c->path, names + names_of(program.flags) + " -h --help");
  }
  return lines;
}

void add_values(const std::string& path, const std::vector<FlagEntry>& flags, Lines& lines) {
  for (const FlagEntry& f : flags) {
    if (f.value.empty()) continue;
    if (f.flags.empty()) lines.emplace_back(path + ":", completion_of(f));
    for (const std::string& flag : f.flags) lines.emplace_back(path + ":" + flag, completion_of(f));
  }
}

Lines value_lines(const CommandEntry& program) {
  Lines lines;
  for (const CommandEntry* c : all_commands(program)) {
    add_values(c->path, c->flags, lines);
    add_values(c->path, c->arguments, lines);
    if (c != &program) add_values(c->path, program.flags, lines);
  }
  return lines;
}

}  // namespace

std::string bash_completion(const CommandEntry& program) {
  return kBashHead + function("_distsim_words", "Subcommands of a command.", word_lines(all_commands(program))) +
         function("_distsim_flags", "Flags of a command.", flag_lines(program)) +
         function("_distsim_value", "What COMMAND:FLAG takes, or COMMAND: as arguments.", value_lines(program)) +
         kFunctions;
}

}  // namespace distsim::app
