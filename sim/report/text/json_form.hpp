// The JSON report for readers that want it short.
#pragma once

#include <cstddef>
#include <string>

#include "sim/report/report.hpp"

namespace distsim::report {

struct JsonForm {
  int indent = 2;                                         ///< -1: one line
  std::size_t most_ranks = static_cast<std::size_t>(-1);  ///< with more, ranks.times is empty
  std::size_t most_steps =
      static_cast<std::size_t>(-1);  ///< of critical_path, which ends there; with more, path_steps is their number
};

std::string to_json(const Report& report, const JsonForm& form);

}  // namespace distsim::report
