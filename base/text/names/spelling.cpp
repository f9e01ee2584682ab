#include "base/text/names/spelling.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text/lower_case.hpp"
#include "base/text/quantity_units.hpp"

namespace distsim {
namespace {

constexpr std::size_t kMaxLength = 64;  // longer words are not typing errors, and the distance is quadratic
constexpr std::size_t kMaxListed = 12;
constexpr std::size_t kMinPrefix = 3;

/// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, each 1. Three rows of the
/// table. What is `limit` or more is not worked out and given as `limit`. REQUIRES: both words have kMaxLength or less.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= limit) return limit;
  std::array<std::array<std::uint8_t, kMaxLength + 1>, 3> rows;
  std::uint8_t *before_last = rows[0].data(), *last = rows[1].data(), *row = rows[2].data();
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<std::uint8_t>(j);
  std::size_t least_of_last = 0;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<std::uint8_t>(i);
    std::size_t least = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      int cost = std::min({last[j] + 1, row[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost = std::min(cost, before_last[j - 2] + 1);
      row[j] = static_cast<std::uint8_t>(cost);
      least = std::min<std::size_t>(least, row[j]);
    }
    if (std::min(least, least_of_last) >= limit) return limit;  // a row is no less than the two before it
    least_of_last = least;
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return std::min<std::size_t>(last[b.size()], limit);
}

/// Names of which the word is the first part: h100_pcie and h100_nvl of h100.
std::vector<std::string> that_begin_with(std::string_view word, const std::vector<std::string>& candidates) {
  std::vector<std::string> out;
  if (word.size() < kMinPrefix) return out;
  const std::string part = lower_case(word) + "_";
  std::ranges::copy_if(candidates, std::back_inserter(out),
                       [&](const std::string& c) { return lower_case(c).starts_with(part); });
  return out;
}

std::string one_of(const std::vector<std::string>& names) {
  std::string list = "one of ";
  for (std::size_t i = 0; i < std::min(names.size(), kMaxListed); ++i) list += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMaxListed ? list + ", ..." : list;
}

/// The unit at the end of a name, in whatever case: of "sm_clock_mhz" MHz.
std::optional<Unit> unit_of_name(std::string_view name, Dimension dimension) {
  const std::size_t mark = name.rfind('_');
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view written = name.substr(mark + 1);
  if (auto unit = find_unit(written, dimension)) return unit;
  for (const std::string& unit : unit_names(dimension)) {
    if (lower_case(unit) == lower_case(written)) return find_unit(unit, dimension);
  }
  return std::nullopt;
}

bool differ_in_unit(std::string_view a, std::string_view b) {
  constexpr Dimension kWithUnits[] = {
      Dimension::bytes, Dimension::seconds, Dimension::bytes_per_second, Dimension::flops_per_second,
      Dimension::hertz, Dimension::watts};
  return std::ranges::any_of(kWithUnits, [&](Dimension dimension) {
    const auto one = unit_of_name(a, dimension), other = unit_of_name(b, dimension);
    return one && other && (one->decimal != other->decimal || one->binary != other->binary);
  });
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::string& nearest) {
  if (nearest.empty()) return "";
  if (differ_in_unit(word, nearest))
    return "'" + nearest + "' is in another unit: convert the numbers, not only the name";
  return "did you mean '" + nearest + "'?";
}

std::string nearest_spelling(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kMaxLength) return "";
  const std::string wanted = lower_case(word);
  std::size_t best = std::min(std::max<std::size_t>(2, word.size() / 3), word.size() - 1) + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kMaxLength) continue;
    const std::string lower = lower_case(candidate);
    const std::size_t distance = edit_distance(wanted, lower, best);
    // Of two as near, the one that is only longer: mi300x for mi300, not mi100.
    const bool only_longer = !nearest.empty() && lower.starts_with(wanted) &&
                             !lower_case(nearest).starts_with(wanted) && lower.size() - wanted.size() == best;
    if (distance < best || only_longer) {
      best = distance;
      nearest = candidate;
    }
  }
  if (!nearest.empty() || word.size() < kMinPrefix) return nearest;
  const auto longer = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const auto& c) { return lower_case(c).starts_with(wanted); });
  return longer == candidates.end() ? "" : *longer;
}

std::string spelling_hint(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_spelling(word, candidates);
  const std::vector<std::string> longer = that_begin_with(word, candidates);
  if (longer.size() > 1 && !lower_case(nearest).starts_with(lower_case(word))) return one_of(longer);
  if (!nearest.empty()) return did_you_mean(word, nearest);
  return candidates.empty() ? "" : one_of(candidates);
}

}  // namespace distsim
