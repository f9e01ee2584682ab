// What both benchmarks make of a command line that CLI11 refuses, and of lists with commas.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace distsim::bench {

/// "-n: found twice, expected once; see collective_bench --help": what was found and expected, in our words.
Error usage_error(const CLI::App& app, const CLI::ParseError& error);

/// The words between commas, of all values of a list flag. Errors: an empty one, as in "node1,,node2".
Result<std::vector<std::string>> list_words(const std::string& flag, const std::vector<std::string>& values);

}  // namespace distsim::bench
