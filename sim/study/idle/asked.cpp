#include "sim/study/idle/asked.hpp"

#include <utility>

#include "sim/study/idle/key_values.hpp"

namespace distsim::study::idle {

Asked::Asked(ConfigNode parsed, pipeline::CostModelCache& cache)
    : parsed_(std::move(parsed)), whole_(config::resolve(parsed_)), cache_(cache) {}

Asked::Effect Asked::effect_of(const Path& path) {
  const ConfigNode* value = find_at(parsed_, path);
  if (!whole_.ok()) return Effect::unknown;
  if (value == nullptr || is_name(path)) return Effect::unasked;
  const auto rest = config::resolve(without(parsed_, path));
  if (!rest.ok() || repeats({path, value}, rest->merged)) return Effect::unasked;
  if (!is_predicted()) return Effect::unknown;
  return comparison_->is_idle(parsed_, {path, value}) ? Effect::none : Effect::some;
}

bool Asked::depends_on(const std::vector<Path>& paths) {
  if (!whole_.ok() || !is_predicted()) return false;
  ConfigNode rest = parsed_;
  for (const Path& path : paths) {
    if (find_at(rest, path) != nullptr) rest = without(rest, path);
  }
  return comparison_->differs(rest);
}

bool Asked::is_predicted() {
  const std::lock_guard lock(predicting_);
  if (!prediction_) {
    pipeline::Passes passes;
    prediction_ = pipeline::predict(*whole_, passes, cache_);
    if (prediction_->ok()) comparison_.emplace(*whole_, (*prediction_)->report, false, cache_);
  }
  return prediction_->ok();
}

}  // namespace distsim::study::idle
