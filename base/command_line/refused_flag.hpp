// What is wrong with the flags of a command line, in our words: what was found, and what was expected.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace distsim {

/// As messages name a flag: the short spelling where there is one, or the name of a positional argument.
std::string spelling(const CLI::Option& option);

/// All spellings of the flags that --help of a command lists.
std::vector<std::string> flag_spellings(const CLI::App& command);

/// "--json: found nothing, expected FILE": what CLI11 says of a flag of this command or of `top`, restated. The text of the user
/// is quoted and cut.
Error refused_flag(const CLI::App& command, const CLI::App& top, const CLI::ParseError& error);

}  // namespace distsim
