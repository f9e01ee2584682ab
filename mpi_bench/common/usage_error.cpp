#include "mpi_bench/common/usage_error.hpp"

#include <CLI/CLI.hpp>

#include "base/command_line/refused_flag.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"

namespace distsim::bench {
namespace {

Error unknown_word(const CLI::App& app, const std::string& word) {
  if (!word.starts_with('-')) return {"found " + in_quotes(word) + ", expected a flag", "", ""};
  const std::string flag = word.substr(0, word.find('='));
  const std::string near = nearest_spelling(flag, flag_spellings(app));
  return {"found " + in_quotes(flag) + ", expected a flag of " + app.get_name(), "",
          near.empty() ? "" : "did you mean '" + near + "'?"};
}

}  // namespace

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::string hint = "see " + app.get_name() + " --help";
  const auto words = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !words.empty()) {
    Error unknown = unknown_word(app, words.front());
    unknown.hint += (unknown.hint.empty() ? "" : "; ") + hint;
    return unknown;
  }
  Error refused = refused_flag(app, app, error);
  refused.hint = hint;
  return refused;
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
