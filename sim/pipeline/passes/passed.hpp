// Passed: what a pass returns where its result rests on assumptions: the new value, and what was assumed.
#pragma once

#include <vector>

#include "sim/graph/assumption.hpp"

namespace distsim::pipeline {

template <class T>
struct Passed {
  T value;
  std::vector<graph::Assumption> assumptions;
};

}  // namespace distsim::pipeline
