#include "sim/workload/opgraph/module_names.hpp"

#include <algorithm>

namespace distsim::workload {
namespace {

/// The beginning of a label that a pattern names; nothing where it names another module.
std::string_view module_in(std::string_view label, std::string_view pattern) {
  std::size_t at = 0;
  while (true) {
    const std::size_t part_end = std::min(label.find('.', at), label.size());
    const std::size_t pattern_end = std::min(pattern.find('.'), pattern.size());
    const std::string_view wanted = pattern.substr(0, pattern_end);
    if (part_end == at || (wanted != "*" && wanted != label.substr(at, part_end - at))) return "";
    if (pattern_end == pattern.size()) return label.substr(0, part_end);
    if (part_end == label.size()) return "";
    pattern.remove_prefix(pattern_end + 1);
    at = part_end + 1;
  }
}

}  // namespace

std::uint32_t ModuleNames::of(std::string_view label) {
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const std::string name(module_in(label, patterns_[i]));
    if (name.empty()) continue;
    used_[i] = true;
    const auto [at, is_new] = known_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return at->second;
  }
  return kNone;
}

std::vector<std::string> ModuleNames::unused() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (!used_[i]) out.push_back(patterns_[i]);
  }
  return out;
}

}  // namespace distsim::workload
