// Requests as lines of the online mode.
#include <sstream>

#include "fuzz_target.hpp"
#include "sim/serving/online/online.hpp"

FUZZ_TARGET(requests) {
  using namespace distsim;
  static const auto experiment = serving::parse_experiment(
      "gpus: [{name: a, count: 2}]\nmodels: [{name: m, layer_times: [1 ms, 2 ms]}, {name: n, layer_times: [5 ms]}]\n"
      "load: {rate_per_s: 1, requests: 1}\npolicies: [fifo]\n",
      "x.yaml", {});
  CHECK(experiment.ok());
  std::istringstream in{std::string(text)};
  std::ostringstream out;
  const auto result = serving::serve_online(*experiment, in, "input", out);
  fuzz::check_answer(result);
  if (result.ok()) CHECK(result->all.requests == result->sent);
}
