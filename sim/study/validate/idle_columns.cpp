#include "sim/study/validate/idle_columns.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/study/idle/without_effect.hpp"
#include "sim/study/workers.hpp"

namespace distsim::study {
namespace {

/// The first case with that setting of each model, and the last: batches and nodes grow along a table.
std::vector<const Case*> cases_with(const CaseFile& file, const std::string& key) {
  std::map<std::string, std::pair<const Case*, const Case*>> of_model;
  for (const Case& c : file.cases) {
    if (!c.failure.empty() || c.setting(key).empty()) continue;
    of_model.emplace(c.setting("model.name"), std::pair(&c, &c)).first->second.second = &c;
  }
  std::vector<const Case*> out;
  for (const auto& [model, ends] : of_model) {
    out.push_back(ends.first);
    if (ends.second != ends.first) out.push_back(ends.second);
  }
  return out;
}

bool is_idle_column(const CaseFile& file, const std::string& key, pipeline::CostModelCache& cache) {
  bool idle = false;
  for (const Case* c : cases_with(file, key)) {
    const auto parsed = config_of(*c);
    if (!parsed.ok()) continue;
    const auto effect = has_effect(*parsed, key, cache);
    if (effect && *effect) return false;
    idle = idle || effect.has_value();
  }
  return idle;
}

}  // namespace

std::vector<std::string> columns_without_effect(const CaseFile& file, unsigned jobs) {
  if (file.table) return {};
  std::vector<char> idle(file.header.size(), 0);
  pipeline::CostModelCache cache;
  const auto look = [&](std::size_t i) { idle[i] = is_idle_column(file, file.header[i], cache) ? 1 : 0; };
  (void)for_each_index(idle.size(), jobs, look, [] {});  // nothing is said of those for which memory does not suffice
  std::vector<std::string> out;
  for (std::size_t i = 0; i < idle.size(); ++i) {
    if (idle[i] != 0) out.push_back(file.header[i]);
  }
  return out;
}

}  // namespace distsim::study
