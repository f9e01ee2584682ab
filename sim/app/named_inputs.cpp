#include "sim/app/named_inputs.hpp"

#include <algorithm>
#include <filesystem>

#include "base/output.hpp"
#include "sim/config/config.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/points/identity.hpp"

namespace distsim::app {

Result<void> check_named_inputs(const std::vector<std::pair<std::string, std::string>>& flag_and_path,
                                const Studied& studied) {
  const bool any = std::ranges::any_of(flag_and_path, [](const auto& output) {
    std::error_code error;
    return !output.second.empty() && std::filesystem::is_regular_file(output.second, error);
  });
  if (!any) return {};
  if (studied.config.empty()) {
    study::note_named_files(ConfigNode(), studied.values);
    return check_outputs(flag_and_path);
  }
  if (const auto text = parse_yaml_file(studied.config); text.ok()) study::note_named_files(*text, studied.values);
  if (const auto experiment = config::load_experiment(studied.config, studied.sets); experiment.ok()) {
    pipeline::CostModelCache cache;
    (void)pipeline::predict_figures(*experiment, cache);
  }
  return check_outputs(flag_and_path);
}

}  // namespace distsim::app
