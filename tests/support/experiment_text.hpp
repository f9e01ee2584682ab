// Experiments that tests write down.
#pragma once

#include <string>
#include <vector>

#include "base/check.hpp"
#include "sim/config/config.hpp"

namespace distsim::test {

inline config::Experiment experiment_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  auto parsed = config::parse_experiment_text(text, "test.yaml", sets);
  CHECK(parsed.ok()) << parsed.error().text();
  auto experiment = config::resolve(*parsed);
  CHECK(experiment.ok()) << experiment.error().text();
  return std::move(experiment).value();
}

}  // namespace distsim::test
