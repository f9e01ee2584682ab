// distsim as a library: how long one iteration of distributed training takes, and why. docs/cpp_library.md
//
//   #include <distsim/distsim.hpp>
//   const auto p = distsim::api::predict(distsim::api::Experiment::of_file("dgx_a100_4node.yaml"));
//   std::printf("%.3f ms\n", p.figures().iteration_ms);
#pragma once

#include "costs.hpp"
#include "experiment.hpp"
#include "prediction.hpp"
#include "replay.hpp"
#include "serving.hpp"
#include "studies.hpp"
