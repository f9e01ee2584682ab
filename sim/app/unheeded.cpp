#include "sim/app/unheeded.hpp"

#include <CLI/CLI.hpp>
#include <string>

#include "base/log.hpp"
#include "base/text/printable.hpp"

namespace distsim::app {

void name_unheeded(const CLI::App& command, std::initializer_list<const char*> flags, std::string_view because) {
  for (const char* flag : flags) {
    if (command.count(flag) > 0) log_warn([&] { return std::string(flag) + ": no effect, " + std::string(because); });
  }
}

void name_idle_sets(const std::vector<study::NamedExperiment>& experiments, const std::vector<std::string>& sets) {
  for (const std::string& set : study::sets_without_effect(experiments, sets))
    log_warn([&] { return "--set " + printable(set, 200) + ": no effect on the prediction"; });
}

}  // namespace distsim::app
