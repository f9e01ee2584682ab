// How an experiment scales: scaling EXPERIMENT.yaml [KEY=VALUE ...]
//   scaling --json EXPERIMENT.yaml [KEY=VALUE ...]     the JSON report instead
#include <distsim/distsim.hpp>

#include <cstdio>
#include <string>

namespace api = distsim::api;

namespace {

void print_scaling(const api::Experiment& experiment) {
  const api::Prediction prediction = api::predict(experiment);
  const api::Figures& f = prediction.figures();
  std::printf("%lld GPUs: %.3f ms (%.3f to %.3f), limited by %s\n", static_cast<long long>(f.ranks), f.iteration_ms,
              f.low_ms, f.high_ms, f.limited_by.c_str());

  const api::Sweep sweep = api::sweep({experiment, {{"cluster.nodes", {"1..8:x2"}}}, api::Scaling::weak});
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    const api::SweepPoint point = sweep.point(i);
    if (point.error.empty())
      std::printf("%3.0f GPUs: %8.3f ms, efficiency %.2f\n", point.gpus, point.iteration_ms, point.efficiency);
    else
      std::printf("%s nodes: %s\n", point.values.front().c_str(), point.error.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::string(argv[1]) == "--json";
  const int first = json ? 2 : 1;
  if (argc <= first) {
    std::fprintf(stderr, "usage: scaling [--json] EXPERIMENT.yaml [KEY=VALUE ...]\n");
    return 2;
  }
  api::Experiment experiment = api::Experiment::of_file(argv[first]);
  experiment.sets.assign(argv + first + 1, argv + argc);
  try {
    if (json)
      std::fputs(api::predict(experiment).json().c_str(), stdout);
    else
      print_scaling(experiment);
  } catch (const api::ConfigError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
