// One line for a command line that cannot be read: what was found, what was expected, and the nearest valid spelling.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace distsim::app {

/// `args` begins with the command, behind flags that go with every command. Text of the user is quoted and cut.
std::string usage_error(const CLI::App& app, std::span<const std::string> args, const CLI::ParseError& error);

}  // namespace distsim::app
