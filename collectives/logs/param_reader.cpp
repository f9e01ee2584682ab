#include "collectives/logs/log_readers.hpp"

#include <algorithm>
#include <array>
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

/// The word behind "key:" or "--key", over quotes and blanks; empty: there is none.
std::string_view word_behind(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != line.npos; at = line.find(key, at + 1)) {
    const std::string_view before = line.substr(0, at);
    const bool begins = before.empty() || before.find_last_of(" \t'\"{,-") + 1 == before.size();
    std::string_view rest = line.substr(at + key.size());
    if (!begins || rest.empty() || std::string_view("'\":= ").find(rest.front()) == rest.npos) continue;
    const std::size_t word = rest.find_first_not_of("'\":= \t");
    if (word == rest.npos) return {};
    rest.remove_prefix(word);
    return rest.substr(0, rest.find_first_of("'\",} \t\r"));
  }
  return {};
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
    context_.stated_ranks = context_.ranks;
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
      for (const auto& [key, host] : {std::pair("backend", "gloo"), {"device", "cpu"}}) {
        if (const std::string_view word = word_behind(line, key); !word.empty())
          (key[0] == 'b' ? gloo_ : cpu_) = word == host;
      }
      if (is_rest_of_param_row(words_of(line)))
        return Error{
            "found the row '" + std::string(line.substr(0, 60)) + "', expected " + std::string(kMark) + " first",
            lines_.position(), "the log may be damaged"};
      return {};
    }
    const auto words = words_of(line.substr(at));
    if (words[0].size() <= kMark.size()) return read_header(line.substr(at));
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

  /// The columns in the order of the header; that of PARAM where it does not name all.
  Result<void> read_header(std::string_view header) {
    TRY(check_units(header));
    constexpr std::array<std::string_view, 9> kColumns{"size", "nElements", "p50",   "p75",  "p95",
                                                       "Min",  "Max",       "AlgBW", "BusBW"};
    std::array<std::pair<std::size_t, std::size_t>, 9> places;
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      const std::size_t at = header.find(kColumns[i]);
      if (at == header.npos) return {};
      places[i] = {at, i};
    }
    std::ranges::sort(places);
    for (std::size_t i = 0; i < places.size(); ++i) column_[places[i].second] = i;
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
    enum { kSize, kElements, kP50, kP75, kP95, kMin, kMax, kAlgbw, kBusbw };
    const auto value = [&](std::size_t column) { return v[column_[column]]; };
    const auto text = [&](std::size_t column) { return words[1 + column_[column]]; };
    NcclRow row;
    row.bytes = value(kSize);
    row.time_us = value(kP50);
    row.low_us = value(kMin);
    row.high_us = value(kP95);
    row.algbw = value(kAlgbw);
    row.busbw = value(kBusbw);
    row.algbw_digit = last_digit_of(text(kAlgbw));
    row.busbw_digit = last_digit_of(text(kBusbw));
    TRY(check_size(row.bytes, lines_.position()));
    const bool ascending = value(kMin) > 0 && value(kMin) <= value(kP50) && value(kP50) <= value(kP75) &&
                           value(kP75) <= value(kP95) && value(kP95) <= value(kMax) && value(kMax) < kLongestCurveUs;
    if (row.time_us > 0 && !ascending)
      return Error{"time: found a minimum of " + std::string(text(kMin).substr(0, 20)) + ", p50, p75 and p95 of " +
                       std::string(text(kP50).substr(0, 20)) + ", " + std::string(text(kP75).substr(0, 20)) + " and " +
                       std::string(text(kP95).substr(0, 20)) + ", and a maximum of " +
                       std::string(text(kMax).substr(0, 20)) + ", expected ascending times",
                   lines_.position(), ""};
    const auto [it, fresh] = index_.try_emplace(std::string(words[0]), tables_.size());
    if (fresh && tables_.size() >= kMaxCurves)
      return Error{"found more than 1000 collectives and tags", lines_.position(), ""};
    if (fresh) tables_.push_back({kind, {}});
    if (fresh && (gloo_ || cpu_)) tables_.back().not_used = "host buffers, not GPU memory";
    return add_row(tables_[it->second], std::move(row), lines_.number(), lines_.position());
  }

  LineSource& lines_;
  LogHints hints_;
  LogContext context_;
  std::vector<LogTable> tables_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::array<std::size_t, 9> column_{0, 1, 2, 3, 4, 5, 6, 7, 8};  ///< where each column stands
  bool gloo_ = false, cpu_ = false;                               ///< backend and device of the runs
};

}  // namespace

Result<CurveSet> parse_param(LineSource& lines, const LogHints& hints) { return Reader(lines, hints).read(); }

}  // namespace distsim::collectives
