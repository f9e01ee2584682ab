#include "collectives/logs/log_readers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/text/printable.hpp"
#include "collectives/logs/log_tables.hpp"

namespace distsim::collectives {

namespace {

struct Test {
  const char* words;  ///< of the title line between the library and "Latency Test"
  graph::CollectiveKind kind;
  bool per_rank;  ///< the size is a rank's or destination's part
};

// All of them, and no others: a Scan, a Put or a non-blocking Iallreduce is a different test with a similar title.
constexpr Test kTests[] = {{"Allreduce", graph::CollectiveKind::all_reduce, false},
                           {"Reduce_scatter", graph::CollectiveKind::reduce_scatter, false},
                           {"Reduce-Scatter", graph::CollectiveKind::reduce_scatter, false},
                           {"Allgather", graph::CollectiveKind::all_gather, true},
                           {"All-to-All Personalized Exchange", graph::CollectiveKind::all_to_all, true},
                           {"All-to-All", graph::CollectiveKind::all_to_all, true},
                           {"Alltoall", graph::CollectiveKind::all_to_all, true},
                           {"Broadcast", graph::CollectiveKind::broadcast, false},
                           {"Bcast", graph::CollectiveKind::broadcast, false},
                           {"Gather", graph::CollectiveKind::gather, true},
                           {"Scatter", graph::CollectiveKind::scatter, true},
                           {"Reduce", graph::CollectiveKind::reduce, false},
                           {"", graph::CollectiveKind::send_recv, false},
                           {"Multi", graph::CollectiveKind::send_recv, false}};

/// One-sided tests have titles as "# OSU MPI_Put Latency Test v5.6.2", without a word between library and test.
bool is_osu_library(std::string_view word) {
  return word == "MPI" || word.starts_with("MPI-") || word == "NCCL" || word == "RCCL" || word == "XCCL";
}

/// "Allreduce" of "# OSU MPI-CUDA Allreduce Latency Test v5.7"; nothing where the title is of another form.
std::optional<std::string_view> test_named(std::string_view line) {
  constexpr std::string_view kBegin = "# OSU ", kEnd = "Latency Test";
  const std::size_t begin = line.find(kBegin), end = line.rfind(kEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin + kBegin.size())
    return std::nullopt;
  std::string_view rest = line.substr(begin + kBegin.size(), end - begin - kBegin.size());
  const std::size_t library = rest.find(' ');
  if (library == std::string_view::npos || !is_osu_library(rest.substr(0, library))) return std::nullopt;
  rest.remove_prefix(library + 1);
  while (rest.ends_with(' ')) rest.remove_suffix(1);
  return rest;
}

std::optional<double> osu_number(std::string_view word) {
  double v = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return v;
}

std::uint32_t count_after(const std::vector<std::string_view>& words, std::string_view key) {
  const auto it = std::find(words.begin(), words.end(), key);
  if (it == words.end() || it + 1 == words.end()) return 0;
  const auto v = osu_number(*(it + 1));
  return v && *v >= 1 && *v <= kMaxCurveRanks ? static_cast<std::uint32_t>(*v) : 0;
}

class OsuReader {
 public:
  OsuReader(LineSource& lines, const LogHints& hints) : lines_(lines), hints_(hints) {}

  Result<CurveSet> read() {
    TRY(lines_.each([this](std::string_view line) { return scan(without_prefix(line)); }));
    take_shape();
    TRY(scale_sizes());
    TRY_ASSIGN(CurveSet set, curves_of(std::move(tables_), context_, lines_.name(), hints_));
    for (Curve& c : set.curves) {
      c.settings = "MPI";
      if (!on_device_) c.not_used = "host buffers, not GPU memory";
    }
    return set;
  }

 private:
  Result<void> scan(std::string_view line) {
    if (line.find("# OSU ") != std::string_view::npos) return start(line);
    const auto words = words_of(line);
    if (words.empty()) return {};
    if (words[0] == "#") {
      return read_comment(line, words);
    }
    if (!osu_number(words[0])) {
      if (context_.failure.empty() && line.find("rror") != std::string_view::npos)
        context_.failure = std::string(line.substr(0, 120));
      return {};
    }
    return add(words);
  }

  Result<void> read_comment(std::string_view line, const std::vector<std::string_view>& words) {
    if (const auto n = count_after(words, "nodes:"))
      TRY(take_count(context_.nodes, n, "nodes", tables_, lines_.position()));
    for (std::string_view key : {"ranks:", "gpus:", "processes:"}) {
      if (const auto n = count_after(words, key))
        TRY(take_count(context_.ranks, n, "ranks", tables_, lines_.position()));
    }
    if (line.find("Buffer on DEVICE") != std::string_view::npos) on_device_ = true;
    for (const auto& [key, text] : {std::pair("hardware:", &context_.hardware), {"source:", &context_.source}}) {
      if (words.size() > 2 && words[1] == key)
        *text = std::string(words[2].data(), words.back().data() + words.back().size());
    }
    const bool header = words.size() > 2 && words[1] == "Size";
    if (header) full_ = line.find("Min Latency") != std::string_view::npos;
    if (const std::size_t unit = line.find("Latency("); header && unit != std::string_view::npos) {
      const std::string_view stated = line.substr(unit + 8, line.find(')', unit) - unit - 8);
      if (stated != "us" && stated != "usec")
        return Error{"Latency: found the unit " + in_quotes(stated, 20) + ", expected us", lines_.position(), ""};
    }
    return {};
  }

  Result<void> start(std::string_view line) {
    for (std::string_view other : {"Bandwidth", "Message Rate", "Barrier"}) {
      if (line.find(other) != std::string_view::npos) {
        return Error{"found '" + std::string(line.substr(0, 80)) + "', expected a test that reports latency by size",
                     lines_.position(), ""};
      }
    }
    const auto named = test_named(line);
    const auto test =
        std::find_if(std::begin(kTests), std::end(kTests), [&](const Test& t) { return named && *named == t.words; });
    if (test == std::end(kTests))
      return Error{"found '" + std::string(line.substr(0, 80)) +
                       "', expected a blocking collective or a latency test between two ranks",
                   lines_.position(), ""};
    for (std::string_view device : {"MPI-CUDA", "MPI-ROCM", "MPI-ROCm", "NCCL"})
      on_device_ = on_device_ || line.find(device) != std::string_view::npos;
    const std::size_t version = line.rfind(" v");
    context_.library =
        "OSU" + (version == std::string_view::npos ? "" : std::string(line.substr(version + 1, 12))) + ", MPI";
    context_.library.insert(3, " ");
    tables_.push_back({test->kind, {}});
    per_rank_.push_back(test->per_rank);
    full_ = false;
    return {};
  }

  Result<void> add(const std::vector<std::string_view>& words) {
    if (tables_.empty()) return {};
    NcclRow row;
    row.no_bandwidth = true;
    row.bytes = *osu_number(words[0]);
    const auto time = words.size() > 1 ? osu_number(words[1]) : std::nullopt;
    const std::size_t least = full_ ? 4 : 2;
    if (words.size() < least || !time || row.bytes < 0 || row.bytes != std::floor(row.bytes)) {
      return Error{"found a row of " + std::to_string(words.size()) + " fields, expected size and latency",
                   lines_.position(), "the table may be truncated"};
    }
    if (row.bytes == 0) return {};  // an empty message has no place in a curve
    row.time_us = *time;
    if (words.back() == "Fail")
      return Error{"found a row whose validation failed, expected results without errors", lines_.position(),
                   "the run computed wrong values: its times are of no use"};
    if (full_) {
      row.low_us = osu_number(words[2]).value_or(0);
      row.high_us = osu_number(words[3]).value_or(0);
      if (!(row.low_us > 0 && row.low_us <= row.time_us && row.high_us >= row.time_us && row.high_us < 1e12)) {
        return Error{"latency: found an average outside its minimum and maximum, expected " +
                         std::string(words[2].substr(0, 20)) + " .. " + std::string(words[3].substr(0, 20)),
                     lines_.position(), ""};
      }
      const auto iterations = words.size() > 4 ? osu_number(words[4]) : std::nullopt;
      if (iterations && *iterations < 1)
        return Error{"Iterations: found " + std::string(words[4].substr(0, 20)) + ", expected at least 1",
                     lines_.position(), "the time is of no call"};
    }
    return add_row(tables_.back(), std::move(row), lines_.number(), lines_.position());
  }

  void take_shape() {
    if (hints_.ranks != 0) context_.ranks = hints_.ranks;
    if (const auto named = shape_of_file_name(lines_.name())) {
      if (context_.ranks == 0) context_.ranks = named->ranks;
      if (context_.nodes == 0) context_.nodes = named->nodes;
    }
    const bool pair = !tables_.empty() && std::all_of(tables_.begin(), tables_.end(), [](const LogTable& t) {
      return t.kind == graph::CollectiveKind::send_recv;
    });
    if (pair && context_.ranks == 0) context_.ranks = 2;
  }

  Result<void> scale_sizes() {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      if (!per_rank_[i]) continue;
      for (NumberedRow& r : tables_[i].rows) {
        r.row.bytes *= std::max(1u, context_.ranks);
        TRY(check_size(r.row.bytes, lines_.name() + ":" + std::to_string(r.line)));
      }
    }
    return {};
  }

  LineSource& lines_;
  LogHints hints_;
  LogContext context_;
  std::vector<LogTable> tables_;
  std::vector<bool> per_rank_;
  bool on_device_ = false, full_ = false;
};

}  // namespace

Result<CurveSet> parse_osu(LineSource& lines, const LogHints& hints) { return OsuReader(lines, hints).read(); }

}  // namespace distsim::collectives
