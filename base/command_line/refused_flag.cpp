#include "base/command_line/refused_flag.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"

namespace distsim {
namespace {

constexpr std::size_t kLongest = 400;  // of a text of CLI11 that is passed on, characters

std::vector<std::string> words_between_commas(std::string_view list) {
  std::vector<std::string> out(1);
  for (const char c : list) {
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

std::string one_of_these(const std::vector<std::string>& words) {
  std::string out = "one of ", comma;
  for (const std::string& word : words) {
    out += comma + word;
    comma = ", ";
  }
  return out;
}

/// "UINT:UINT in [1 - 8]" as "a whole number", "TEXT:{a,b}" as "one of a, b", "FILE" as it stands.
std::string expected_value(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() == 0) return "no value";
  if (type.starts_with("UINT") || type.starts_with("INT")) return "a whole number";
  if (type.starts_with("FLOAT")) return "a number";
  if (const std::size_t list = type.find(":{"); list != std::string::npos && type.ends_with('}'))
    return one_of_these(words_between_commas(std::string_view(type).substr(list + 2, type.size() - list - 3)));
  return type.empty() ? "a value" : type;
}

/// "'foo', expected one of a, b; did you mean 'b'?" of the value in front of, and the list behind " not in {".
std::string not_a_choice(std::string_view value, std::string_view list) {
  const std::vector<std::string> words = words_between_commas(list);
  const std::string out = "found " + in_quotes(value) + ", expected " + one_of_these(words);
  const std::string near = nearest_spelling(std::string(value), words);
  return near.empty() ? out : out + "; did you mean '" + near + "'?";
}

/// Behind the flag's name: a value that is none of the choices, or out of its range.
std::optional<std::string> of_value(const CLI::Option& option, std::string_view said) {
  constexpr std::string_view kChoice = " not in {", kRange = " not in range ", kLead = "Value ";
  if (const std::size_t at = said.rfind(kChoice); at != std::string_view::npos && said.ends_with('}'))
    return not_a_choice(said.substr(0, at), said.substr(at + kChoice.size(), said.size() - at - kChoice.size() - 1));
  if (const std::size_t at = said.rfind(kRange); at != std::string_view::npos) {
    std::string_view value = said.substr(0, at);
    if (value.starts_with(kLead)) value.remove_prefix(kLead.size());
    return "found " + in_quotes(value) + ", expected " + expected_value(option) + " from " +
           std::string(said.substr(at + kRange.size()));
  }
  return std::nullopt;
}

std::string together_with(const CLI::Option& option) {
  for (const CLI::Option* other : option.get_excludes()) {
    if (other->count() > 0) return "found together with " + spelling(*other) + ", expected one of them";
  }
  return "found together with a flag that excludes it";
}

std::string without(const CLI::Option& option) {
  for (const CLI::Option* other : option.get_needs()) {
    if (other->count() == 0) return "found without " + spelling(*other) + ", expected both";
  }
  return "found without a flag that it needs";
}

/// What CLI11 says of one flag, behind its name.
std::string restated(const CLI::Option& option, std::string_view said) {
  constexpr std::string_view kTwice = ": At Most 1 required but received ", kValue = " = ", kColon = ": ";
  if (said.starts_with(kTwice)) {
    const std::string times(said.substr(kTwice.size()));
    return "found " + (times == "2" ? "twice" : times + " times") + ", expected once";
  }
  if (said.starts_with(kColon) && said.ends_with(" missing"))
    return "found nothing, expected " + expected_value(option);
  if (said == " is required") return "missing, expected " + expected_value(option);
  if (said.starts_with(" excludes")) return together_with(option);
  if (said.starts_with(" requires")) return without(option);
  if (said.starts_with(kValue))
    return "found " + in_quotes(said.substr(kValue.size())) + ", expected " + expected_value(option);
  if (said.starts_with(kColon)) said.remove_prefix(kColon.size());
  return of_value(option, said).value_or(printable(said, kLongest));
}

/// What follows the flag's name in what CLI11 says; nothing where it is about another flag.
std::optional<std::string_view> behind_name(std::string_view said, const CLI::Option& option) {
  constexpr std::string_view kConvert = "Could not convert: ";
  if (said.starts_with(kConvert)) said.remove_prefix(kConvert.size());
  const std::string name = option.get_name();  // empty for a flag that --help leaves out
  if (name.empty() || !said.starts_with(name)) return std::nullopt;
  said.remove_prefix(name.size());
  return said.starts_with(':') || said.starts_with(' ') ? std::optional(said) : std::nullopt;
}

}  // namespace

std::string spelling(const CLI::Option& option) {
  if (!option.get_snames().empty()) return "-" + option.get_snames().front();
  if (!option.get_lnames().empty()) return "--" + option.get_lnames().front();
  return option.get_name(true);
}

std::vector<std::string> flag_spellings(const CLI::App& command) {
  std::vector<std::string> out;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // left out by --help
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    for (const std::string& name : option->get_snames()) out.push_back("-" + name);
  }
  return out;
}

Error refused_flag(const CLI::App& command, const CLI::App& top, const CLI::ParseError& error) {
  std::string said = error.what();
  std::ranges::replace(said, '\n', ' ');
  for (const CLI::App* app : {&command, &top}) {
    for (const CLI::Option* option : app->get_options()) {
      if (const auto rest = behind_name(said, *option)) return {restated(*option, *rest), spelling(*option), ""};
    }
  }
  return {printable(said, kLongest), "", ""};
}

}  // namespace distsim
