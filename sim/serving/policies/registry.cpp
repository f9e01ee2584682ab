#include "sim/serving/policies/registry.hpp"

#include <vector>

#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"

namespace distsim::serving {

std::span<const PolicyEntry* const> policies() {
#define POLICY(name) &name##_policy,
  static constexpr const PolicyEntry* kAll[] = {DISTSIM_SERVING_POLICIES(POLICY)};
#undef POLICY
  return kAll;
}

Result<const PolicyEntry*> find_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const PolicyEntry* entry : policies()) {
    if (name == entry->name) return entry;
    names.emplace_back(entry->name);
  }
  return Error{"found " + in_quotes(name) + ", expected a policy of `distsim list policies`", "",
               spelling_hint(name, names)};
}

}  // namespace distsim::serving
