// The text of an experiment as a target takes it. What follows a line "--set" are overrides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz_target.hpp"
#include "sim/config/config.hpp"

namespace distsim::fuzz {

/// Parsed, merged and resolved.
inline Result<config::Experiment> experiment_in(std::string_view text) {
  constexpr std::string_view kMark = "\n--set ";
  std::vector<std::string> sets;
  for (std::size_t at = text.rfind(kMark); at != std::string_view::npos && sets.size() < 4; at = text.rfind(kMark)) {
    sets.emplace_back(text.substr(at + kMark.size()));
    text = text.substr(0, at);
  }
  TRY_ASSIGN(const ConfigNode parsed, config::parse_experiment_text(text, "fuzz.yaml", sets));
  return config::resolve(parsed);
}

}  // namespace distsim::fuzz
