#include "collectives/logs/log_readers.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include "base/text/printable.hpp"
#include "collectives/logs/log_tables.hpp"

namespace distsim::collectives {

namespace {

constexpr std::string_view kMark = "COMMS-RES";
constexpr std::size_t kFewest = 9, kMost = 10;  // numbers of a row: older versions have no total

std::optional<double> number_of(std::string_view word) {
  double v = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return v;
}

/// The first whole number behind `key`, over quotes, colons and blanks.
std::uint32_t count_behind(std::string_view line, std::string_view key) {
  std::size_t at = line.find(key);
  if (at == std::string_view::npos) return 0;
  at = line.find_first_not_of("'\":= \t", at + key.size());
  if (at == std::string_view::npos) return 0;
  std::uint32_t v = 0;
  const auto [end, error] = std::from_chars(line.data() + at, line.data() + line.size(), v);
  return error == std::errc() && v <= kMaxCurveRanks ? v : 0;
}

/// Figures as those of a row, behind a name that is not that of one.
bool is_rest_of_param_row(const std::vector<std::string_view>& words) {
  std::size_t figures = 0;
  while (figures < words.size() && number_of(words[words.size() - 1 - figures])) ++figures;
  return figures >= kFewest && figures <= kMost + 1 && words.size() <= figures + 2;
}

class Reader {
 public:
  Reader(LineSource& lines, const LogHints& hints) : lines_(lines), hints_(hints) {}

  Result<CurveSet> read() {
    TRY(lines_.each([this](std::string_view line) { return scan(line); }));
    if (const auto named = shape_of_file_name(lines_.name())) {
      if (context_.ranks == 0) context_.ranks = named->ranks;
      if (context_.nodes == 0) context_.nodes = named->nodes;
    }
    context_.library = "PARAM comms";
    return curves_of(std::move(tables_), context_, lines_.name(), hints_);
  }

 private:
  Result<void> scan(std::string_view line) {
    const std::size_t at = line.find(kMark);
    if (at == std::string_view::npos) {
      for (std::string_view key : {"world_size", "world-size", "WorldSize"}) {
        if (const auto n = count_behind(line, key))
          TRY(take_count(context_.ranks, n, "world_size", tables_, lines_.position()));
      }
      if (is_rest_of_param_row(words_of(line)))
        return Error{
            "found the row '" + std::string(line.substr(0, 60)) + "', expected " + std::string(kMark) + " first",
            lines_.position(), "the log may be damaged"};
      return {};
    }
    const auto words = words_of(line.substr(at));
    if (words[0].size() <= kMark.size()) return check_units(line.substr(at));  // the header
    return add(words);
  }

  /// "total-size (B)", "Latency(us):p50", "AlgBW(GB/s)"
  Result<void> check_units(std::string_view header) const {
    for (const auto& [column, expected] :
         {std::pair("size", "B"), {"Latency", "us"}, {"Time", "us"}, {"AlgBW", "GB/s"}, {"BusBW", "GB/s"}}) {
      std::size_t at = header.find(column);
      if (at == std::string_view::npos) continue;
      at = header.find_first_not_of(" \t", at + std::string_view(column).size());
      if (at == std::string_view::npos || header[at] != '(') continue;
      const std::string_view unit = header.substr(at + 1, header.find(')', at) - at - 1);
      if (unit != expected)
        return Error{std::string(column) + ": found the unit " + in_quotes(unit, 20) + ", expected " + expected,
                     lines_.position(), ""};
    }
    return {};
  }

  /// "COMMS-RES-all_to_allv-float32{tag}" -> all_to_allv
  Result<graph::CollectiveKind> kind_of(std::string_view word) const {
    std::string_view name = word.substr(kMark.size() + 1);
    name = name.substr(0, name.find('-'));
    if (name == "QUANT" || name == "pt2pt" || name == "multi") {
      return Error{"found '" + std::string(word.substr(0, 60)) +
                       "', expected a plain collective: quantised and point-to-point lines have different columns",
                   lines_.position(), ""};
    }
    auto kind = graph::parse_collective(name == "all_to_allv"       ? "all_to_all"
                                        : name == "all_gather_base" ? "all_gather"
                                                                    : name);
    if (!kind.ok()) return Error{kind.error().what, lines_.position(), kind.error().hint};
    return *kind;
  }

  Result<void> add(const std::vector<std::string_view>& words) {
    TRY_ASSIGN(const graph::CollectiveKind kind, kind_of(words[0]));
    std::vector<double> v;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto n = number_of(words[i]);
      if (!n)
        return Error{"found '" + std::string(words[i].substr(0, 40)) + "', expected a number", lines_.position(), ""};
      v.push_back(*n);
    }
    if (v.size() < kFewest || v.size() > kMost) {
      return Error{"found " + std::to_string(v.size()) + " numbers, expected 9 or 10", lines_.position(),
                   v.size() < kFewest ? "the row may be truncated" : ""};
    }
    NcclRow row;
    row.bytes = v[0];
    row.time_us = v[2];
    row.low_us = v[5];
    row.high_us = v[4];
    row.algbw = v[7];
    row.busbw = v[8];
    row.algbw_digit = last_digit_of(words[8]);
    row.busbw_digit = last_digit_of(words[9]);
    TRY(check_size(row.bytes, lines_.position()));
    const bool ascending =
        v[5] > 0 && v[5] <= v[2] && v[2] <= v[3] && v[3] <= v[4] && v[4] <= v[6] && v[6] < kLongestCurveUs;
    if (row.time_us > 0 && !ascending)
      return Error{"time: found a minimum of " + std::string(words[6].substr(0, 20)) + ", p50, p75 and p95 of " +
                       std::string(words[3].substr(0, 20)) + ", " + std::string(words[4].substr(0, 20)) + " and " +
                       std::string(words[5].substr(0, 20)) + ", and a maximum of " +
                       std::string(words[7].substr(0, 20)) + ", expected ascending times",
                   lines_.position(), ""};
    const auto [it, fresh] = index_.try_emplace(std::string(words[0]), tables_.size());
    if (fresh && tables_.size() >= kMaxCurves)
      return Error{"found more than 1000 collectives and tags", lines_.position(), ""};
    if (fresh) tables_.push_back({kind, {}});
    return add_row(tables_[it->second], std::move(row), lines_.number(), lines_.position());
  }

  LineSource& lines_;
  LogHints hints_;
  LogContext context_;
  std::vector<LogTable> tables_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace

Result<CurveSet> parse_param(LineSource& lines, const LogHints& hints) { return Reader(lines, hints).read(); }

}  // namespace distsim::collectives
