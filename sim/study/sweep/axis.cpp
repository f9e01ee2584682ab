#include "sim/study/sweep/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"

namespace distsim::study {
namespace {

constexpr std::size_t kMostInRange = 10'000'000;

std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
    if (c == ',' && depth == 0 && quote == 0)
      values.emplace_back();
    else
      values.back() += c;
  }
  return values;
}

struct Steps {
  double from = 0, to = 0, step = 1;
  bool factor = false;
  double count() const { return factor ? std::log(to / from) / std::log(step) : (to - from) / step; }
};

/// "A..B", "A..B:STEP", "A..B:xFACTOR"; nothing where the text is no such range. Errors: numbers that are written with
/// zeros in front or marks between digits.
Result<std::optional<Steps>> steps_in(const std::string& text, const std::string& where) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return std::optional<Steps>();
  const std::size_t colon = std::min(text.find(':', dots), text.size());
  std::string_view step = colon < text.size() ? std::string_view(text).substr(colon + 1) : "1";
  const bool factor = step.starts_with("x");
  if (factor) step.remove_prefix(1);
  const std::array<std::string_view, 3> parts{std::string_view(text).substr(0, dots),
                                              std::string_view(text).substr(dots + 2, colon - dots - 2), step};
  std::array<double, 3> numbers{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (const std::string hint = number_hint(parts[i]); !hint.empty())
      return Error{"found " + in_quotes(text) + ", expected numbers as in 1..8", where, hint};
    const auto number = plain_number(parts[i]);
    if (!number) return std::optional<Steps>();
    numbers[i] = *number;
  }
  return std::optional(Steps{numbers[0], numbers[1], numbers[2], factor});
}

/// Up to B, which belongs to them where a step ends there but for rounding.
Result<std::vector<std::string>> values_of(const Steps& steps, const std::string& text, const std::string& where) {
  const bool rises = steps.factor ? steps.from > 0 && steps.step > 1 : steps.step > 0;
  if (!rises || steps.to < steps.from)
    return Error{
        "found " + in_quotes(text) + ", expected A..B, A..B:STEP or A..B:xFACTOR with B at least A and steps that rise",
        where, ""};
  constexpr double kRounding = 1e-9;
  const double count = std::floor(steps.count() + kRounding) + 1;
  if (!(count <= static_cast<double>(kMostInRange)))
    return Error{"found " + in_quotes(text) + fmt::format(", {:.3g} values, expected at most {}", count, kMostInRange),
                 where, ""};
  std::vector<std::string> values;
  for (double i = 0; i < count; ++i) {
    const double value = steps.factor ? steps.from * std::pow(steps.step, i) : steps.from + i * steps.step;
    const double near = std::round(value * 1e9) / 1e9;  // 0.1 + 0.2 is 0.3
    values.push_back(std::abs(near) < 9e15 && near == std::floor(near) ? fmt::format("{:.0f}", near)
                                                                       : fmt::format("{}", near));
  }
  return values;
}

}  // namespace

bool counts_gpus(const SweepAxis& axis) { return axis.key == "cluster.nodes" || axis.key == "cluster.gpus_per_node"; }

Result<SweepAxis> parse_axis(const std::string& text, const std::string& flag) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return Error{"found '" + text + "', expected KEY=VALUE[,VALUE...]", flag, ""};
  SweepAxis axis{text.substr(0, equals), {}};
  for (std::string& value : split_values(text.substr(equals + 1))) {
    if (value.empty())
      return Error{"found an empty value in '" + text + "', expected KEY=V1,V2,...", flag + " " + axis.key, ""};
    const std::string where = flag + " " + printable(axis.key);
    TRY_ASSIGN(const std::optional<Steps> steps, steps_in(value, where));
    if (!steps) {
      axis.values.push_back(std::move(value));
      continue;
    }
    TRY_ASSIGN(const std::vector<std::string> values, values_of(*steps, value, where));
    axis.values.insert(axis.values.end(), values.begin(), values.end());
  }
  TRY(check_repeats(axis, flag));
  return axis;
}

Result<void> check_repeats(const SweepAxis& axis, const std::string& flag) {
  std::vector<std::string_view> sorted(axis.values.begin(), axis.values.end());
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return {};
  return Error{"found " + in_quotes(*twice) + " twice, expected each value once", flag + " " + printable(axis.key), ""};
}

std::vector<std::string> short_names(const std::vector<SweepAxis>& axes) {
  std::vector<std::string> names;
  for (const SweepAxis& axis : axes) {
    std::string name = axis.key;
    for (std::size_t dot = axis.key.rfind('.'); dot != std::string::npos;
         dot = dot == 0 ? std::string::npos : axis.key.rfind('.', dot - 1)) {
      const std::string_view end = std::string_view(axis.key).substr(dot);
      const auto same =
          std::ranges::count_if(axes, [&](const SweepAxis& other) { return ("." + other.key).ends_with(end); });
      if (same > 1) continue;
      name = end.substr(1);
      break;
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace distsim::study
