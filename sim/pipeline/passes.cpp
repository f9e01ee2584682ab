#include "sim/pipeline/passes.hpp"

#include <fmt/format.h>

#include "base/log.hpp"

namespace distsim::pipeline {

void log_time(std::string_view pass, double ms) {
  log_debug([&] { return fmt::format("{}: {:.3f} ms", pass, ms); });
}

}  // namespace distsim::pipeline
