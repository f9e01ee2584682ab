// Recipes: studies that people run again and again, as files of configs/studies. A file names an experiment, what it varies, and
// what is to be found:
//
//   title: Batch sizes until memory ends
//   config: ../dgx_a100_4node.yaml              # relative to this file; --config replaces it
//   set: [framework.overlap=true]               # fixed
//   vary:                                       # the first varies slowest
//     model.global_batch: 4096..1048576:x2      # as in --set KEY=...
//   variants:                                   # named lists of settings: one more thing that varies, before the others
//     - {name: no overlap, set: [framework.overlap=false]}
//   scaling: weak                               # where vary or --set, not only variants, set the number of GPUs
//   find: knee                                  # knee, scaling, comparison: what is printed below the table
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/study/sweep/sweep.hpp"

namespace distsim::study {

enum class Find : std::uint8_t {
  nothing,
  knee,        ///< of the rate over batch sizes, and where memory ends
  scaling,     ///< efficiency, serial fraction, exposed communication over GPUs
  comparison,  ///< percentiles per rank, and speed-up over the first variant
};

struct Recipe {
  std::string title;
  SweepRequest request;
  Find find = Find::nothing;
};

/// A name of configs/studies, or a path that ends in .yaml. Errors: no such file (nearest name), unknown keys, no values.
Result<Recipe> load_recipe(const std::string& name_or_path);

/// What the recipe looks for, as lines below the table; "" where the points do not say it.
std::string findings(Find find, const SweepResult& result);

/// Of findings() that are "": "no point has a prediction".
std::string why_nothing(Find find, const SweepResult& result);

}  // namespace distsim::study
