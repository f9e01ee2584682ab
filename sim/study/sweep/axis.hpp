// The keys that a study varies, and their values.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace distsim::study {

struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
  /// Of named variants: the settings of each value. Empty: each value is a setting of the key.
  std::vector<std::vector<std::string>> sets = {};
};

/// Parses "KEY=V1,V2,..."; commas inside [], {} and quotes do not split. A single value is an axis of length one. A value
/// A..B, A..B:STEP or A..B:xFACTOR stands for the numbers from A to B, whole ones or decimals, by 1, STEP or FACTOR.
Result<SweepAxis> parse_axis(const std::string& text, const std::string& flag = "--set");

/// Error: a value that comes twice.
Result<void> check_repeats(const SweepAxis& axis, const std::string& flag);

/// True for axes that change how many GPUs there are.
bool counts_gpus(const SweepAxis& axis);

/// True for axes that give the samples of a GPU.
bool gives_batch_per_gpu(const SweepAxis& axis);

/// Keys as heads of columns: the last part of each, with as many before it as tell it from the others.
std::vector<std::string> short_names(const std::vector<SweepAxis>& axes);

}  // namespace distsim::study
