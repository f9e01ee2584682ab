#include "collectives/logs/log_readers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/text/counted.hpp"
#include "base/text/lower_case.hpp"
#include "base/text/printable.hpp"
#include "collectives/logs/log_tables.hpp"

namespace distsim::collectives {

namespace {

constexpr std::string_view kMark = "COMMS-RES";
constexpr std::size_t kFewest = 9, kMost = 10;  // numbers of a row: older versions have no total

/// PARAM's names of ours: each exchange of even parts, and the forms that take one tensor for a list of them.
constexpr std::pair<std::string_view, std::string_view> kForms[] = {{"all_to_allv", "all_to_all"},
                                                                    {"all_to_all_single", "all_to_all"},
                                                                    {"all_gather_base", "all_gather"},
                                                                    {"reduce_scatter_base", "reduce_scatter"}};

/// PyTorch's names of nccl-tests' types that are called otherwise there.
constexpr std::pair<std::string_view, std::string_view> kTorchTypes[] = {
    {"float32", "float"}, {"float64", "double"}, {"float16", "half"}, {"long", "int64"}};

template <std::size_t size>
std::string_view renamed(const std::pair<std::string_view, std::string_view> (&names)[size], std::string_view name) {
  const auto found = std::ranges::find(names, name, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(names) ? name : found->second;
}

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

/// What a run's tensors are on, in PyTorch's words.
enum class TensorsOn : std::uint8_t { unknown, gpu, amd_gpu, host, other };

/// Of "cuda:0" and "cpu". Builds for ROCm call their GPUs cuda, too.
TensorsOn tensors_on(std::string_view device) {
  const std::string name = lower_case(device.substr(0, device.find(':')));
  if (name == "cuda" || name == "gpu") return TensorsOn::gpu;
  if (name == "rocm" || name == "hip") return TensorsOn::amd_gpu;
  if (name == "cpu") return TensorsOn::host;
  constexpr std::string_view kOthers[] = {"xpu", "hpu", "tpu", "xla", "npu", "mtia", "mps", "ipu", "mlu", "musa"};
  return std::ranges::find(kOthers, name) == std::end(kOthers) ? TensorsOn::unknown : TensorsOn::other;
}

/// Of the backend of torch.distributed: "nccl" is that of builds for ROCm, too, and mpi and ucc serve any device.
TensorsOn tensors_of(std::string_view backend) {
  const std::string name = lower_case(backend);
  if (name == "nccl" || name == "mpi" || name == "ucc") return TensorsOn::gpu;
  if (name == "rccl") return TensorsOn::amd_gpu;
  if (name == "gloo") return TensorsOn::host;
  constexpr std::string_view kOthers[] = {"ccl", "oneccl", "xccl", "hccl", "xla", "cncl", "mccl", "eccl"};
  return std::ranges::find(kOthers, name) == std::end(kOthers) ? TensorsOn::unknown : TensorsOn::other;
}

/// Figures as those of a row, behind a name that is not that of one.
bool is_rest_of_param_row(const std::vector<std::string_view>& words) {
  std::size_t figures = 0;
  while (figures < words.size() && number_of(words[words.size() - 1 - figures])) ++figures;
  return figures >= kFewest && figures <= kMost + 1 && words.size() <= figures + 2;
}

/// What a cut has left of one: figures (outside of a table with a time among them), or a part of the mark.
bool is_piece_of_param_row(const std::vector<std::string_view>& words, bool in_table) {
  if (words.empty()) return false;
  if (words.size() == 1 && kMark.starts_with(words[0])) return true;
  const bool has_point = std::ranges::any_of(words, [](std::string_view w) { return w.find('.') != w.npos; });
  return (in_table || has_point) &&
         std::ranges::all_of(words, [](std::string_view w) { return number_of(w).has_value(); });
}

class Reader {
 public:
  Reader(LineSource& lines, const LogHints& hints) : lines_(lines), hints_(hints) {}

  Result<CurveSet> read() {
    TRY(each_of_format(LogFormat::param, lines_, [this](std::string_view line) { return scan(line); }));
    TRY(count_nodes());
    take_stated_shape(context_, lines_.name());
    context_.run.library = on_amd_ ? "PARAM comms, ROCm" : "PARAM comms";
    return curves_of(std::move(tables_), context_, lines_.name(), hints_);
  }

 private:
  Result<void> scan(std::string_view line) {
    const std::size_t at = line.find(kMark);
    if (at == std::string_view::npos) return read_around(line);
    if (is_rest_of_param_row(words_of(line.substr(0, at)))) return damaged(line);
    const auto words = words_of(line.substr(at));
    if (words[0].size() <= kMark.size()) return read_header(line.substr(at));
    return add(words);
  }

  Error damaged(std::string_view line) const {
    return Error{"found the row '" + std::string(line.substr(0, 60)) + "', expected " + std::string(kMark) +
                     " and a collective first",
                 lines_.position(), "the log may be damaged"};
  }

  Result<void> read_around(std::string_view line) {
    for (std::string_view key : {"world_size", "world-size", "WorldSize"}) {
      if (const auto n = count_behind(line, key))
        TRY(take_count(context_.ranks, n, "world_size", tables_, lines_.position()));
    }
    for (std::string_view key : {"local_size", "local-size"}) {
      const auto n = count_behind(line, key);
      if (n == 0) continue;
      TRY(take_count(ranks_of_node_, n, "local_size", tables_, lines_.position()));
      where_local_ = lines_.position();
    }
    const bool of_library = line.find(" INFO ") != line.npos || line.find(" WARN ") != line.npos;  // NCCL's, UCX's
    if (!of_library) take_tensors(word_behind(line, "device"), tensors_on, device_);
    if (!of_library) take_tensors(word_behind(line, "backend"), tensors_of, backend_);
    take_failure(context_, line);
    const auto words = words_of(line);
    const bool in_table = has_header_ || !tables_.empty();
    return is_rest_of_param_row(words) || is_piece_of_param_row(words, in_table) ? damaged(line) : Result<void>();
  }

  /// Another accelerator is named as a GPU in a list of ranks is, and is held against that of a system like one.
  void take_tensors(std::string_view word, TensorsOn (*meaning)(std::string_view), TensorsOn& state) {
    const TensorsOn found = meaning(word);
    if (found == TensorsOn::unknown) return;
    state = found;
    on_amd_ = on_amd_ || found == TensorsOn::amd_gpu;
    const bool says_more = meaning == tensors_on || context_.gpus.empty();  // a device than a backend
    if (found == TensorsOn::other && says_more) context_.gpus = {lower_case(word)};
  }

  /// local_size ranks run on the node of the rank that says so. Where that leaves a rest, nodes are of several sizes, and their
  /// number is not known.
  Result<void> count_nodes() {
    const std::uint32_t all = context_.ranks, local = ranks_of_node_;
    if (all == 0 || local == 0) return {};
    if (local > all)
      return Error{
          "local_size: found " + std::to_string(local) + ", expected at most the world_size, " + std::to_string(all),
          where_local_, ""};
    if (all % local == 0)
      context_.nodes = all / local;
    else
      context_.remarks.push_back(where_local_ + ": local_size: found " + std::to_string(local) + " of " +
                                 std::to_string(all) + " ranks, which are no whole number of nodes");
    return {};
  }

  /// "total-size (B)", "Latency(us):p50", "AlgBW(GB/s)"
  Result<void> check_units(std::string_view header) const {
    for (const auto& [column, expected] : {std::pair("size", "B"),
                                           {"Latency", "us"},
                                           {"Time", "us"},
                                           {"p50", "us"},
                                           {"p75", "us"},
                                           {"p95", "us"},
                                           {"Min", "us"},
                                           {"Max", "us"},
                                           {"AlgBW", "GB/s"},
                                           {"BusBW", "GB/s"}}) {
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
    const auto words = words_of(header);
    if (std::ranges::any_of(words, [](std::string_view w) { return number_of(w).has_value(); }) ||
        header.find(kMark, kMark.size()) != header.npos || words.size() == 1)
      return damaged(header);
    has_header_ = true;
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

  /// Of the rows "COMMS-RES-all_to_allv-float32{tag}": all_to_all, or the name of another test.
  Result<LogTable> table_of(std::string_view name) const {
    if (name == "QUANT" || name == "pt2pt" || name == "multi") {
      return Error{"found '" + std::string(name.substr(0, 60)) +
                       "', expected a plain collective: quantised and point-to-point lines have different columns",
                   lines_.position(), ""};
    }
    LogTable table;
    if (const auto kind = graph::parse_collective(renamed(kForms, name)); kind.ok())
      table.kind = *kind;
    else
      table.other_test = name;
    if (backend_ == TensorsOn::host || device_ == TensorsOn::host) table.not_used = "host buffers, not GPU memory";
    return table;
  }

  Result<void> add(const std::vector<std::string_view>& words) {
    const std::string_view name = words[0].substr(kMark.size() + 1);
    const std::size_t end = std::min(name.find('-'), name.size());
    TRY_ASSIGN(LogTable table, table_of(name.substr(0, end)));
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
    if (std::exchange(numbers_, v.size()) != v.size() && !tables_.empty())
      return Error{"found a row of " + counted(v.size(), "number") + " below others, expected as many in all rows",
                   lines_.position(), "the log may be damaged"};
    enum { kSize, kElements, kP50, kP75, kP95, kMin, kMax, kAlgbw, kBusbw };
    const auto value = [&](std::size_t column) { return v[column_[column]]; };
    const auto text = [&](std::size_t column) { return words[1 + column_[column]]; };
    NcclRow row;
    const std::string_view type = name.substr(std::min(end + 1, name.size()));
    row.type = renamed(kTorchTypes, type.substr(0, type.find('-')));
    row.count = value(kElements);
    row.counts_all = true;
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
    if (fresh) tables_.push_back(std::move(table));
    return add_row(tables_[it->second], std::move(row), lines_.number(), lines_.position());
  }

  LineSource& lines_;
  LogHints hints_;
  LogContext context_;
  std::vector<LogTable> tables_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::array<std::size_t, 9> column_{0, 1, 2, 3, 4, 5, 6, 7, 8};          ///< where each column stands
  TensorsOn backend_ = TensorsOn::unknown, device_ = TensorsOn::unknown;  ///< what they say of the runs
  bool on_amd_ = false;
  std::uint32_t ranks_of_node_ = 0;  ///< local_size; 0: not said
  bool has_header_ = false;
  std::size_t numbers_ = 0;  ///< of the row before
  std::string where_local_;  ///< the line that says it
};

}  // namespace

Result<CurveSet> parse_param(LineSource& lines, const LogHints& hints) { return Reader(lines, hints).read(); }

}  // namespace distsim::collectives
