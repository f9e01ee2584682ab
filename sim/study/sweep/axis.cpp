#include "sim/study/sweep/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "sim/config/flag_sets.hpp"

namespace distsim::study {
namespace {

std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;
  bool escaped = false;  // by a backslash within "..."
  for (const char c : text) {
    if (quote != 0) {
      quote = c == quote && !escaped ? 0 : quote;
      escaped = quote == '"' && c == '\\' && !escaped;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    }
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
  bool rise() const { return (factor ? from > 0 && step > 1 : step > 0) && to >= from; }
  /// Up to `to`, which belongs to them where a step ends there but for rounding.
  double count() const {
    constexpr double kRounding = 1e-9;
    const double steps = factor ? std::log(to / from) / std::log(step) : (to - from) / step;
    return std::floor(steps + kRounding) + 1;
  }
};

/// A value as it is given, or the numbers that it stands for.
struct Piece {
  std::string text;
  std::optional<Steps> steps;
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

void add_numbers(const Steps& steps, std::vector<std::string>& values) {
  const double count = steps.count();
  for (double i = 0; i < count; ++i) {
    const double value = steps.factor ? steps.from * std::pow(steps.step, i) : steps.from + i * steps.step;
    const double near = std::round(value * 1e9) / 1e9;  // 0.1 + 0.2 is 0.3
    values.push_back(std::abs(near) < 9e15 && near == std::floor(near) ? fmt::format("{:.0f}", near)
                                                                       : fmt::format("{}", near));
  }
}

struct AxisText {
  std::string key, values;
  std::vector<Piece> pieces;
  double count = 0;  ///< of all values
};

Result<AxisText> axis_text(const std::string& text, const std::string& flag) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return Error{"found " + in_quotes(text, 80) + ", expected KEY=VALUE[,VALUE...]", flag, ""};
  AxisText out{text.substr(0, equals), text.substr(equals + 1), {}};
  const std::string where = flag + " " + printable(out.key);
  for (std::string& value : split_values(out.values)) {
    if (value.empty())
      return Error{"found an empty value in " + in_quotes(text, 80) + ", expected KEY=V1,V2,...", where, ""};
    TRY_ASSIGN(const std::optional<Steps> steps, steps_in(value, where));
    if (steps && !steps->rise())
      return Error{"found " + in_quotes(value) +
                       ", expected A..B, A..B:STEP or A..B:xFACTOR with B at least A and steps that rise",
                   where, ""};
    out.count += steps ? steps->count() : 1;
    out.pieces.push_back({std::move(value), steps});
  }
  return out;
}

/// What is given by all that is laid on so far.
class GivenPlaces {
 public:
  void add(const std::string& set) {
    for (std::string& place : config::places_of(set)) places_.insert(std::move(place));
  }
  void add(const SweepAxis& axis) {
    for (const std::vector<std::string>& sets : axis.sets) {
      for (const std::string& set : sets) add(set);
    }
    if (!axis.sets.empty()) return;
    add(axis.key);
    for (const std::string& value : axis.values) {
      if (config::may_hold_keys(value)) add(axis.key + "=" + value);
    }
  }
  bool has(const SweepAxis& axis) const {
    return places_.contains(std::string(config::plain_key(axis.key))) || has_layout_of(axis);
  }

 private:
  /// The layout is apart from the model that may give it.
  bool has_layout_of(const SweepAxis& axis) const {
    return axis.key == "model" && std::ranges::any_of(axis.values, [&](const std::string& value) {
             return std::ranges::any_of(config::places_of("model=" + value), [&](const std::string& place) {
               return place.starts_with("parallel.") && places_.contains(place);
             });
           });
  }

  std::unordered_set<std::string> places_;
};

}  // namespace

std::string as_one_value(const std::string& text) {
  const std::vector<std::string> values = split_values(text + ",");
  return values.size() == 2 && values[0] == text ? text : config::single_quoted(text);
}

std::vector<std::string> values_of(const std::vector<std::string>& sets, const std::vector<SweepAxis>& axes) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& set) {
    out.push_back(set.substr(std::min(set.size(), config::key_of_set(set).size() + 1)));
  };
  std::ranges::for_each(sets, add);
  for (const SweepAxis& axis : axes) {
    if (axis.sets.empty()) out.insert(out.end(), axis.values.begin(), axis.values.end());
    for (const std::vector<std::string>& variant : axis.sets) std::ranges::for_each(variant, add);
  }
  return out;
}

bool counts_gpus(const SweepAxis& axis) {
  return axis.sets.empty() && (gives(axis, "cluster.nodes") || gives(axis, "cluster.gpus_per_node"));
}

std::vector<bool> count_gpus(const std::vector<SweepAxis>& axes) {
  std::vector<bool> out;
  for (const SweepAxis& axis : axes) out.push_back(counts_gpus(axis));
  return out;
}

bool gives(const SweepAxis& axis, std::string_view key) {
  for (const std::vector<std::string>& sets : axis.sets) {
    if (config::any_gives(sets, key)) return true;
  }
  if (!axis.sets.empty()) return false;
  const std::string_view own = config::plain_key(axis.key), plain = config::plain_key(key);
  if (config::is_of_key(axis.key, key) || config::is_of_key(own, plain)) return true;
  const bool may_hold = config::is_of_key(plain, own) || (own == "model" && config::is_of_key(plain, "parallel"));
  return may_hold && std::ranges::any_of(axis.values, [&](const std::string& value) {
           return config::gives(axis.key + "=" + value, key);
         });
}

std::string key_given_twice(const std::vector<SweepAxis>& axes, const std::vector<std::string>& sets) {
  GivenPlaces before;
  for (const std::string& set : sets) before.add(set);
  for (const SweepAxis& axis : axes) {
    if (axis.sets.empty() && before.has(axis)) return axis.key;  // named variants replace what is set for all
    before.add(axis);
  }
  return "";
}

Result<double> count_values(const std::string& text, const std::string& flag) {
  TRY_ASSIGN(const AxisText axis, axis_text(text, flag));
  return axis.count;
}

Result<SweepAxis> parse_axis(const std::string& text, const std::string& flag, std::size_t most) {
  TRY_ASSIGN(AxisText given, axis_text(text, flag));
  if (!(given.count <= static_cast<double>(most)))
    return Error{
        fmt::format("found {}, {:.3g} values, expected at most {}", in_quotes(given.values, 80), given.count, most),
        flag + " " + printable(given.key), ""};
  SweepAxis axis{std::move(given.key), {}};
  axis.values.reserve(static_cast<std::size_t>(given.count));
  for (Piece& piece : given.pieces) {
    if (piece.steps)
      add_numbers(*piece.steps, axis.values);
    else
      axis.values.push_back(std::move(piece.text));
  }
  TRY(check_repeats(axis, flag));
  return axis;
}

Result<void> check_repeats(const SweepAxis& axis, const std::string& flag) {
  std::unordered_set<std::string_view> before;
  for (const std::string& value : axis.values) {
    if (!before.insert(value).second)
      return Error{"found " + in_quotes(value) + " twice, expected each value once", flag + " " + printable(axis.key),
                   ""};
  }
  return {};
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
