#include "collectives/logs/checks/run_claims.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/text/printable.hpp"

namespace distsim::collectives {
namespace {

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Nothing but a number.
std::optional<double> whole_number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The number after a word; "iters:" is not that of "warmup iters:" and "agg iters:".
std::optional<double> stated(const std::vector<std::string_view>& words, std::string_view key) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool of_other = key == "iters:" && i > 0 && (words[i - 1] == "warmup" || words[i - 1] == "agg");
    if (words[i] == key && !of_other) return number_in(words[i + 1]);
  }
  return std::nullopt;
}

std::string claim_text(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", v);
  return text;
}

}  // namespace

std::string calls_at_once(double aggregated) {
  if (!(aggregated > 1)) return "";
  return "agg iters: found " + claim_text(aggregated) +
         ", expected 1: calls of a group start together, so a call of its own takes longer at small sizes";
}

std::string RunClaims::aggregated(const std::vector<std::string_view>& words) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (words[i] == "agg" && words[i + 1] == "iters:") return calls_at_once(number_in(words[i + 2]).value_or(1));
  }
  return "";
}

Result<void> RunClaims::read_launch(const std::vector<std::string_view>& words) {
  return read(stated(words, "iters:"), stated(words, "minBytes").value_or(0), stated(words, "maxBytes").value_or(0));
}

Result<void> RunClaims::read(std::optional<double> iterations, double least, double most) {
  begin();
  least_ = least, most_ = most;
  if (iterations && *iterations < 1)
    return Error{"iters: found " + claim_text(*iterations) + ", expected at least 1", "", "the times are of no call"};
  if (most_ > 0 && least_ > most_)
    return Error{"minBytes: found " + claim_text(least_) + ", expected at most maxBytes, " + claim_text(most_), "", ""};
  return {};
}

std::string RunClaims::add(const NcclRow& row) {
  ++rows_;
  has_gaps_ = has_gaps_ || row.no_busbw;
  filled_ += row.bytes > 0 ? 1 : 0;
  outside_ += row.busbw;
  both_ += row.busbw;
  if (row.in_place_busbw) {
    ++in_place_;
    both_ += *row.in_place_busbw;
  }
  // Sizes are rounded down to whole elements of all ranks, which may leave none.
  const bool out = most_ > 0 && (row.bytes > most_ || (row.bytes > 0 && 2 * row.bytes < least_));
  if (!out || out_of_range_) return "";
  out_of_range_ = true;
  return "size: found " + claim_text(row.bytes) + ", expected " + claim_text(least_) + " to " + claim_text(most_) +
         ", the minBytes and maxBytes of its run";
}

std::string RunClaims::end(std::string_view line) {
  const RunClaims run = *this;
  begin();
  if (run.rows_ == 0 || run.has_gaps_ || !std::isfinite(run.both_)) return "";
  const std::size_t colon = line.find(':');
  const auto words = words_of(colon == std::string_view::npos ? "" : line.substr(colon + 1));
  const std::optional<double> said = words.empty() ? std::nullopt : whole_number_in(words.front());
  // Versions differ in what they count where no in-place form is run, and rows of no bytes.
  const double rows = static_cast<double>(run.rows_), filled = static_cast<double>(run.filled_);
  const double in_place = static_cast<double>(run.in_place_);
  const double means[] = {run.both_ / (rows + in_place), run.both_ / (filled + in_place), run.outside_ / rows,
                          run.both_ / (2 * rows), run.outside_ / std::max(1.0, filled)};
  const auto agrees = [&](double mean) {
    constexpr double kRounded = 0.02, kShare = 0.01;  // rows have two decimals, this line six digits
    return said && std::abs(mean - *said) <= kRounded + kShare * mean;
  };
  if (std::ranges::any_of(means, agrees)) return "";
  const std::string found = said ? claim_text(*said) : words.empty() ? "nothing" : in_quotes(words.front(), 40);
  return "Avg bus bandwidth: found " + found + ", expected " + claim_text(std::round(100 * means[0]) / 100) +
         ", the mean of the run's rows";
}

}  // namespace distsim::collectives
