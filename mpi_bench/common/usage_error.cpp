#include "mpi_bench/common/usage_error.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"

namespace distsim::bench {
namespace {

Error unknown_word(const CLI::App& app, const std::string& word) {
  if (!word.starts_with('-')) return {"found " + in_quotes(word) + ", expected a flag", "", ""};
  const std::string flag = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // left out by --help
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    for (const std::string& name : option->get_snames()) known.push_back("-" + name);
  }
  const std::string near = nearest_spelling(flag, known);
  return {"found " + in_quotes(flag) + ", expected a flag of " + app.get_name(), "",
          near.empty() ? "" : "did you mean '" + near + "'?"};
}

/// What CLI11 says of one flag, behind its name.
std::string restated(const CLI::Option& option, std::string_view said) {
  constexpr std::string_view kTwice = ": At Most 1 required but received ", kValue = " = ", kColon = ": ";
  const std::string type = option.get_type_name();
  if (said.starts_with(kTwice)) {
    const std::string times(said.substr(kTwice.size()));
    return "found " + (times == "2" ? "twice" : times + " times") + ", expected once";
  }
  if (said.starts_with(kColon) && said.ends_with(" missing"))
    return "found nothing, expected " + (type.empty() ? "a value" : type);
  if (said.starts_with(" excludes")) {
    for (const CLI::Option* other : option.get_excludes()) {
      if (other->count() > 0) return "found together with " + spelling(*other) + ", expected one of them";
    }
  }
  if (said.starts_with(kValue))
    return "found " + in_quotes(said.substr(kValue.size())) + ", expected " +
           (option.get_items_expected_max() == 0 ? "no value" : type);
  return printable(said.starts_with(kColon) ? said.substr(kColon.size()) : said, 400);
}

/// What follows the flag's name in what CLI11 says; nothing where it is about another flag.
std::optional<std::string_view> behind_name(std::string_view said, std::string_view name) {
  constexpr std::string_view kConvert = "Could not convert: ";
  if (said.starts_with(kConvert)) said.remove_prefix(kConvert.size());
  if (name.empty() || !said.starts_with(name)) return std::nullopt;
  said.remove_prefix(name.size());
  return said.starts_with(':') || said.starts_with(' ') ? std::optional(said) : std::nullopt;
}

}  // namespace

std::string spelling(const CLI::Option& option) {
  return option.get_snames().empty() ? "--" + option.get_lnames().front() : "-" + option.get_snames().front();
}

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::string hint = "see " + app.get_name() + " --help";
  const auto words = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !words.empty()) {
    Error unknown = unknown_word(app, words.front());
    unknown.hint += (unknown.hint.empty() ? "" : "; ") + hint;
    return unknown;
  }
  std::string said = error.what();
  std::ranges::replace(said, '\n', ' ');
  for (const CLI::Option* option : app.get_options()) {
    if (const auto rest = behind_name(said, option->get_name()))
      return {restated(*option, *rest), spelling(*option), hint};
  }
  return {printable(said, 400), "", hint};
}

Result<std::vector<std::string>> list_words(const std::string& flag, const std::vector<std::string>& values) {
  std::vector<std::string> words;
  for (const std::string& value : values) {
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(',', begin), value.size());
      if (end == begin)
        return Error{"found an empty word in " + in_quotes(value) + ", expected a word before and after each comma",
                     flag, ""};
      words.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return words;
}

}  // namespace distsim::bench
