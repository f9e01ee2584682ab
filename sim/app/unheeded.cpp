#include "sim/app/unheeded.hpp"

#include <CLI/CLI.hpp>
#include <string>

#include "base/log.hpp"

namespace distsim::app {

void name_unheeded(const CLI::App& command, std::initializer_list<const char*> flags, std::string_view because) {
  for (const char* flag : flags) {
    if (command.count(flag) > 0) log_warn([&] { return std::string(flag) + ": no effect, " + std::string(because); });
  }
}

void name_idle(const CLI::App& command, const std::vector<study::IdleArgument>& arguments) {
  for (const study::IdleArgument& idle : arguments) {
    const bool has_value = idle.argument.find(' ') != std::string::npos;
    if (has_value || command.count(idle.argument) > 0) log_warn([&] { return idle.text(); });
  }
}

void name_idle(const std::vector<study::IdleArgument>& arguments) {
  for (const study::IdleArgument& idle : arguments) log_warn([&] { return idle.text(); });
}

}  // namespace distsim::app
