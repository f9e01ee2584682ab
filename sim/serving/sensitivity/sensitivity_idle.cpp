// What is given of a serving experiment and changes nothing of its sensitivities.
#include <algorithm>

#include "sim/config/variants.hpp"
#include "sim/serving/sensitivity/sensitivity.hpp"
#include "sim/serving/spec/fingerprint.hpp"

namespace distsim::serving {
namespace {

/// With all other policies after the first, or none of them.
std::vector<const PolicyEntry*> policies_that_count(const PolicyEntry* first, bool with_others) {
  std::vector<const PolicyEntry*> out{first};
  for (const PolicyEntry* p : policies()) {
    if (with_others && p != first) out.push_back(p);
  }
  return out;
}

/// What is read of a description: its first rate and policy, and not the confidence of latencies. The changes have intervals
/// of their own.
void keep_what_counts(ServingSpec& spec, bool with_others) {
  if (spec.run.rates_per_s.size() > 1) spec.run.rates_per_s.resize(1);
  spec.policies = policies_that_count(spec.policies.front(), with_others);
  spec.run.confidence = RunSpec().confidence;
}

/// The file with the --set on it, for the places of keys.
Result<ConfigNode> text_with(const std::string& path, const std::vector<std::string>& sets) {
  TRY_ASSIGN(ConfigNode root, parse_yaml_file(path));
  for (const std::string& set : sets) {
    TRY_ASSIGN(const PathValue value, config::parse_set(set));
    TRY(set_config_path(root, value));
  }
  return root;
}

/// "x.yaml:7:11: policies: only the first counts here"
std::string line_of(const ConfigNode& root, const std::string& key, const std::string& says) {
  const std::string at = position_in(root, key).text();
  const bool names_key = at.starts_with("--") && at.ends_with(" " + key);
  return (names_key ? at : at + ": " + key) + ": " + says;
}

std::vector<std::string> lines_of_lists(const ServingSpec& given, const ConfigNode& root, bool with_others) {
  std::vector<std::string> out;
  if (given.run.rates_per_s.size() > 1) out.push_back(line_of(root, "run.rates_per_s", "only the first counts here"));
  if (given.policies.size() > 1)
    out.push_back(line_of(root, "policies",
                          with_others ? "only the first counts here; all of `distsim list policies` are tried beside it"
                                      : "only the first counts here"));
  if (given.run.confidence != RunSpec().confidence)
    out.push_back(line_of(root, "run.confidence", "no effect, the intervals of changes are of 95 %"));
  return out;
}

}  // namespace

std::vector<std::string> sensitivity_without_effect(const std::string& path, const std::vector<std::string>& sets,
                                                    const SensitivityRequest& request) {
  const bool with_others = tries_policies(request);
  const WithSets experiment = [&](const std::vector<std::string>& some) -> Result<Experiment> {
    ServingSpec given;
    const auto change = [&](ServingSpec& spec) {
      given = spec;
      keep_what_counts(spec, with_others);
    };
    TRY_ASSIGN(Experiment e, load_changed(path, some, change, request.prices));
    TRY_ASSIGN(const ConfigNode root, text_with(path, some));
    for (std::string& line : lines_of_lists(given, root, with_others)) e.idle_keys.push_back(std::move(line));
    return e;
  };
  return without_effect(experiment, sets);
}

}  // namespace distsim::serving
