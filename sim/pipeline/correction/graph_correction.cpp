#include "sim/pipeline/correction/graph_correction.hpp"

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text/counted.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/pipeline/device_models.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::pipeline {
namespace {

constexpr std::size_t kMostCorrectionBytes = 1 << 20;

using Network = std::shared_ptr<const opmodels::GraphNetwork>;

Result<Network> read_graph_network() {
  const std::string path = config::config_file("op_models", kGraphCorrectionFile);
  if (path.empty())
    return Error{"model.correction: found graph, expected a file op_models/" + std::string(kGraphCorrectionFile) +
                     " in the folders of configurations",
                 "", "distsim calibrate graph writes it"};
  TRY_ASSIGN(const std::string text, read_file(path, kMostCorrectionBytes));
  auto network = opmodels::GraphNetwork::parse(text);
  if (!network.ok()) return Error{network.error().what, path, network.error().hint};
  return std::make_shared<const opmodels::GraphNetwork>(std::move(*network));
}

}  // namespace

Result<Network> shipped_graph_network() {
  static const Result<Network> network = read_graph_network();
  return network;
}

Result<opmodels::GraphFacts> graph_facts_of(const config::Experiment& e) {
  TRY_ASSIGN(workload::Workload work, workload::build_workload(e.model, e.framework, shape_of(e)));
  TRY_ASSIGN(const auto models, make_cost_models({e.cluster, e.device, collective_options_of(e)}));
  TRY_ASSIGN(const graph::CostedGraph costed, price(std::move(work.graph), models));
  return opmodels::graph_facts(costed, e.device);
}

std::string describe(const opmodels::GraphNetwork& network, const opmodels::GraphNetwork::Answer& answer) {
  const std::string from = counted(network.examples(), "measured iteration");
  if (!answer.inside) return std::string(kNoCorrection) + ": this one is unlike the " + from + " it was trained on";
  return fmt::format("kernel times x{:.3f} (learned graph, {})", answer.ratio, from);
}

}  // namespace distsim::pipeline
