// distsim.1, from the same table as the help.
#include <fmt/format.h>

#include "sim/app/completion/command_table.hpp"

namespace distsim::app {
namespace {

/// Text as roff prints it: no request at the start of a line, no escape, and a - that can be copied.
std::string roff(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    line_start = c == '\n';
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string value_text(const FlagEntry& f) {
  if (f.choices.empty()) return italic(f.value);
  return fmt::format("{}", fmt::join(f.choices, "|\\:"));  // a line may break behind each |
}

std::string heading_of(const FlagEntry& f) {
  if (f.flags.empty()) return italic(f.argument) + (f.repeats ? " ..." : "");
  std::string out;
  for (const std::string& flag : f.flags) out += (out.empty() ? "" : ", ") + bold(flag);
  return f.value.empty() ? out : out + " " + value_text(f);
}

std::string entry_text(const FlagEntry& f) {
  const std::string required = f.required && !f.flags.empty() ? " (required)" : "";
  return ".TP\n" + heading_of(f) + "\n" + roff(f.description) + required + "\n";
}

/// "distsim cost op [OPTIONS] [sizes ...]"
std::string call_of(const CommandEntry& c) {
  std::string out = ".B distsim " + roff(c.path) + "\n";
  for (const FlagEntry& f : c.flags) {
    if (f.required) out += bold(f.flags.back()) + " " + value_text(f) + "\n";
  }
  out += "[options]\n";
  for (const FlagEntry& f : c.arguments)
    out += (f.required ? "" : "[") + heading_of(f) + (f.required ? "" : "]") + "\n";
  return out;
}

std::string section_of(const CommandEntry& c) {
  std::string out = ".SS \"distsim " + roff(c.path) + "\"\n" + roff(c.description) + "\n.PP\n" + call_of(c);
  for (const FlagEntry& f : c.arguments) out += entry_text(f);
  for (const FlagEntry& f : c.flags) {
    if (f.flags.front() != "-h") out += entry_text(f);
  }
  return out;
}

/// The program's description is a sentence, an empty line, and examples.
std::pair<std::string, std::string> sentence_and_examples(const std::string& description) {
  const std::size_t gap = description.find("\n\n");
  return gap == std::string::npos ? std::pair(description, std::string())
                                  : std::pair(description.substr(0, gap), description.substr(gap + 2));
}

std::string without_program(const std::string& sentence) {
  return sentence.starts_with("distsim ") ? sentence.substr(8) : sentence;
}

std::string without_stop(std::string sentence) {
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

constexpr const char* kFiles = R"roff(.SH ENVIRONMENT
.TP
.B DISTSIM_CONFIGS
Folders with files of your own, separated by colons, laid out as the shipped ones: systems, devices, models, frameworks, curves, op_models. They are searched in
this order and before the shipped ones, file by file.
.SH FILES
.TP
.I ../share/distsim/configs
Beside the folder of the program: systems, devices, models, frameworks, measured curves and op models, and example experiments.
.SH EXIT STATUS
.TP
0
Done.
.TP
2
Bad input: the reason is one line on standard error.
)roff";

}  // namespace

std::string man_page(const CommandEntry& program, const std::string& version) {
  const auto [sentence, examples] = sentence_and_examples(program.description);
  std::string out = fmt::format(
      ".\\\" Printed by `distsim man`.\n.TH DISTSIM 1 \"\" \"distsim {}\" \"User Commands\"\n.ad l\n", roff(version));
  out += ".SH NAME\ndistsim \\- " + roff(without_stop(without_program(sentence))) +
         "\n.SH SYNOPSIS\n.B distsim\n[\\fIcommand\\fR]\n[options]\n";
  out +=
      ".SH DESCRIPTION\n" + roff(sentence) + "\nWithout a command,\n.B distsim\ndoes what\n.B distsim predict\ndoes.\n";
  out += ".SH OPTIONS\nThese go with every command.\n";
  for (const FlagEntry& f : program.flags) out += entry_text(f);
  out += ".SH COMMANDS\n";
  for (const CommandEntry* c : all_commands(program)) {
    if (!c->path.empty() && c->commands.empty()) out += section_of(*c);
  }
  out += kFiles;
  if (!examples.empty()) out += ".SH EXAMPLES\n.nf\n" + roff(examples) + ".fi\n";
  return out;
}

}  // namespace distsim::app
