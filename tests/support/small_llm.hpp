// A language model small enough to play all of its layouts.
#pragma once

#include <string>

#include "experiment_text.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/study/plan/layouts/layout_search.hpp"
#include "sim/study/plan/settled_layout.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::test {

inline std::string llm_text(const std::string& model, const std::string& framework, const std::string& system,
                            int nodes, int batch, const std::string& mode = "train") {
  return "cluster: {system: " + system + ", nodes: " + std::to_string(nodes) + "}\nmodel: {name: " + model +
         ", mode: " + mode + ", global_batch: " + std::to_string(batch) + "}\nframework: {name: " + framework + "}\n";
}

inline study::LayoutSite site_with(const config::Experiment& e, const study::HeldValues& held) {
  const workload::ClusterShape shape = pipeline::shape_of(e);
  const std::int64_t batch = workload::samples_of(e.model, shape.ranks());
  return {
      e,
      {},
      study::LayoutSpace(e.model, e.framework, shape, batch, study::layout_offer_of(e.framework.name).value(), held),
      static_cast<double>(shape.ranks()),
      static_cast<double>(batch)};
}

/// Values of keys: {"tensor", {"1", "2"}}.
inline study::HeldValues held_values(const std::vector<std::pair<std::string, std::vector<std::string>>>& keys) {
  study::HeldValues out;
  for (const auto& [name, texts] : keys) {
    const study::LayoutKey* key = study::find_layout_key(name);
    out[key->name] = study::read_layout_values(*key, texts).value();
  }
  return out;
}

}  // namespace distsim::test
