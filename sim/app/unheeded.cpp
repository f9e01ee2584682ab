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

}  // namespace distsim::app
