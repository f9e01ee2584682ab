// The keys that a study varies, and their values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace distsim::study {

struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
  /// Of named variants: the settings of each value. Empty: each value is a setting of the key.
  std::vector<std::vector<std::string>> sets = {};
};

/// More values of a key than any study has time for.
inline constexpr std::size_t kMostValues = 10'000'000;

/// Parses "KEY=V1,V2,..."; commas inside [], {} and quotes do not split. A single value is an axis of length one. A value
/// A..B, A..B:STEP or A..B:xFACTOR stands for the numbers from A to B, whole ones or decimals, by 1, STEP or FACTOR. More
/// than `most` values are an Error before one of them is made.
Result<SweepAxis> parse_axis(const std::string& text, const std::string& flag = "--set",
                             std::size_t most = kMostValues);

/// A text as one of those values: in quotes where commas, brackets or quotes in it would split it or join it to the next.
std::string as_one_value(const std::string& text);

/// How many values that text stands for, without making them. Errors: of parse_axis, except for too many or equal values.
Result<double> count_values(const std::string& text, const std::string& flag = "--set");

/// Error: a value that comes twice.
Result<void> check_repeats(const SweepAxis& axis, const std::string& flag);

/// Whether one of its values says what `key` is (config::gives).
bool gives(const SweepAxis& axis, std::string_view key);

/// A key that two of the axes give, or one and one of `sets`, which are laid on before them: what comes later would replace
/// it, unseen. Empty: there is none.
std::string key_given_twice(const std::vector<SweepAxis>& axes, const std::vector<std::string>& sets = {});

/// The values of settings and axes, without their keys.
std::vector<std::string> values_of(const std::vector<std::string>& sets, const std::vector<SweepAxis>& axes);

/// True for axes whose values say how many GPUs there are. Named variants are not: they are compared as a whole.
bool counts_gpus(const SweepAxis& axis);
/// The same of each.
std::vector<bool> count_gpus(const std::vector<SweepAxis>& axes);

/// The number of the point with the first value on all axes that `first` chooses.
template <class Chooses>
std::size_t index_with_first(const std::vector<SweepAxis>& axes, std::size_t index, const Chooses& first) {
  std::size_t out = 0, stride = 1;
  for (std::size_t a = axes.size(); a-- > 0;) {
    const std::size_t length = axes[a].values.size();
    if (!first(a)) out += index % length * stride;
    index /= length;
    stride *= length;
  }
  return out;
}

/// Keys as heads of columns: the last part of each, with as many before it as tell it from the others.
std::vector<std::string> short_names(const std::vector<SweepAxis>& axes);

}  // namespace distsim::study
