#include "opmodels/measured/op_calibration.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "opmodels/csv/op_row.hpp"
#include "opmodels/measured/possible_times.hpp"
#include "opmodels/measured/row_statements.hpp"

namespace distsim::opmodels {
namespace {

constexpr std::size_t kMaxLibraries = 4;
constexpr double kClearOfTail = 1.2;  // chosen: kernels that run so much longer than the host's tail show in the time

std::uint64_t hash_of(const OpPoint& point) {
  std::uint64_t hash = point.group;
  for (const float x : point.at) hash = (hash ^ std::bit_cast<std::uint32_t>(x)) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}

struct Hash {
  std::size_t operator()(const OpPoint& point) const { return static_cast<std::size_t>(hash_of(point)); }
};

/// The clock that times are taken for: 0 where they were carried from the one that the row states.
struct RowClock {
  Hertz stated{0};
  bool carried = false;
  Hertz held() const { return carried ? Hertz(0) : stated; }
};

/// Seconds of a row's first op, the least that the device's rates allow it, and those of the others.
struct Priced {
  double first = 0, least = 0, others = 0;
};

Result<Priced> price_all(const OpModels& models, const OpRow& row) {
  Priced priced;
  for (std::size_t i = 0; i < row.ops.size(); ++i) {
    TRY_ASSIGN(const graph::Cost cost, models.price(row.ops[i], row.warm));
    (i == 0 ? priced.first : priced.others) += cost.mean.seconds();
    if (i == 0) priced.least = least_time(models.rates(row.warm), row.ops[i], cost);
  }
  return priced;
}

/// "linear bf16 fwd": op, dtype and pass as in the file.
std::string kind_of(const OpFields& fields) {
  std::string kind(fields.text("op"));
  for (const std::string_view column : {"dtype", "pass"}) {
    if (!fields.text(column).empty()) kind.append(" ").append(fields.text(column));
  }
  return kind;
}

std::string joined(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : "; ") + name;
  return out.empty() ? "not stated" : out;
}

}  // namespace

/// Sums of logarithms by point, thinned when there are too many.
class OpPoints {
 public:
  struct Added {
    bool thinned = false;
    bool apart = false;         ///< the first time that the rows of the point differ by more than runs do
    bool other_clocks = false;  ///< the first time that their clocks do
    Hertz clock{0};             ///< then: that of a row before
    RowPlace place{};           ///< and where it is
    bool alike = false;   ///< the first time that a row names another kernel than the first one, with another time
    double first_us = 0;  ///< then: that of the first row
    RowPlace first{};     ///< and where it is
  };
  /// `clock.stated`: 0 where it is not stated. `named`: OpRow::named.
  Added add(const OpPoint& point, double measured_us, double models_us, RowPlace place, RowClock of_row,
            std::uint64_t named) {
    const Hertz clock = of_row.held();
    if (is_thinned(point)) return {.thinned = true};
    Sum& sum = sums_[point];
    const bool were_apart = sum.highest > kOpTimesApart * sum.lowest;
    if (sum.count == 0) sum.first = place, sum.first_us = measured_us, sum.named = named;
    sum.lowest = sum.count == 0 ? measured_us : std::min(sum.lowest, measured_us);
    sum.highest = std::max(sum.highest, measured_us);
    const bool are_apart = sum.highest > kOpTimesApart * sum.lowest;
    sum.log_measured += std::log(measured_us);
    sum.models_us = models_us;
    sum.scaled = sum.scaled || of_row.carried;
    ++sum.count;
    Added added{.apart = are_apart && !were_apart};
    const double longer = std::max(sum.first_us, measured_us), shorter = std::min(sum.first_us, measured_us);
    if (!sum.alike && named != sum.named && longer > kKernelsApart * shorter) {
      sum.alike = added.alike = true;
      added.first_us = sum.first_us, added.first = sum.first;
    }
    const double low = std::min(sum.clock.value(), clock.value()), high = std::max(sum.clock.value(), clock.value());
    if (!sum.other_clocks && low > 0 && high > kClocksApart * low) {
      sum.other_clocks = added.other_clocks = true;
      added.clock = sum.clock, added.place = sum.of_clock;
    }
    if (sum.clock.value() == 0) sum.clock = clock, sum.of_clock = place;
    if (sums_.size() > MeasuredTable::kMaxPoints) thin();
    return added;
  }
  std::vector<MeasuredPoint> take() const {
    std::vector<MeasuredPoint> out;
    for (const auto& [point, sum] : sums_) {
      const bool one_time = sum.lowest == sum.highest;
      const double mean = one_time ? sum.lowest : std::clamp(sum.mean_us(), sum.lowest, sum.highest);
      out.push_back({point, mean, sum.models_us, one_time ? 0 : sum.lowest, one_time ? 0 : sum.highest, sum.scaled});
    }
    return out;
  }
  std::vector<TimedPoint> timed() const {
    std::vector<TimedPoint> out;
    for (const auto& [point, sum] : sums_) out.push_back({point, sum.mean_us(), sum.models_us, sum.first});
    return out;
  }

 private:
  struct Sum {
    double log_measured = 0, models_us = 0, lowest = 0, highest = 0;
    std::size_t count = 0;
    RowPlace first;
    double first_us = 0;
    std::uint64_t named = 0;  ///< of the first row
    bool alike = false;       ///< a later row names another kernel
    Hertz clock{0};           ///< of the first row that states one
    RowPlace of_clock;
    bool other_clocks = false;
    bool scaled = false;  ///< a row's time was carried from another clock
    double mean_us() const { return std::exp(log_measured / static_cast<double>(count)); }
  };
  bool is_thinned(const OpPoint& point) const { return (hash_of(point) >> 8) % keep_one_of_ != 0; }
  void thin() {
    keep_one_of_ *= 2;
    std::erase_if(sums_, [&](const auto& entry) { return is_thinned(entry.first); });
  }
  std::unordered_map<OpPoint, Sum, Hash> sums_;
  std::uint64_t keep_one_of_ = 1;
};

struct OpCalibration::File {
  OpColumns columns;
  std::size_t latency = 0;
  std::optional<std::size_t> framework;
  RowStatements statements;
};

std::string megahertz(Hertz clock) { return format_quantity(clock.value() * 1e-6, Dimension::none) + " MHz"; }

OpCalibration::OpCalibration(const OpModels& models, std::function<bool(std::string_view)> is_device, bool keep_rows)
    : models_(models),
      clocks_(models),
      is_device_(std::move(is_device)),
      keep_rows_(keep_rows),
      points_(std::make_unique<OpPoints>()) {}

OpCalibration::~OpCalibration() = default;

std::string OpCalibration::position_of(RowPlace place) const {
  return files_[place.file] + ":" + std::to_string(place.line);
}

void OpCalibration::leave_out(std::size_t& counter, RowPlace place, const std::string& why) {
  ++counter;
  if (count_.first_unusable.empty()) count_.first_unusable = position_of(place) + ": " + why;
}

/// Each once, and a few.
void OpCalibration::note_unread(const OpRow& row, RowPlace place) {
  constexpr std::size_t kMostRemarks = 8;
  if (row.unread.empty() || count_.remarks.size() >= kMostRemarks) return;
  std::string text = printable(files_[place.file], 300) + ": " + row.unread;
  if (std::ranges::find(count_.remarks, text) == count_.remarks.end()) count_.remarks.push_back(std::move(text));
}

void OpCalibration::note_memory(Hertz memory, RowPlace place) {
  if (memory.value() == 0) return;
  if (memory_.value() == 0) memory_ = memory, of_memory_ = place;
  const double low = std::min(memory.value(), memory_.value()), high = std::max(memory.value(), memory_.value());
  if (high <= kClocksApart * low || ++count_.at_other_memory > 1) return;
  count_.first_other_memory = position_of(place) + ": memory_clock_mhz: found " + megahertz(memory) + ", where " +
                              position_of(of_memory_) + " states " + megahertz(memory_);
}

Result<void> OpCalibration::add_row(const File& file, const std::vector<std::string>& row, RowPlace place) {
  TRY_ASSIGN(const OpRow parsed, op_from_row(file.columns, row));
  note_unread(parsed, place);
  TRY_ASSIGN(const double measured, latency_of(row[file.latency]));
  TRY(file.statements.check(row, measured));
  TRY_ASSIGN(const Hertz clock, file.statements.clock(row));
  TRY_ASSIGN(const Hertz memory, file.statements.memory(row));
  const RowClock row_clock{clock, clocks_.is_low(clock)};
  TRY_ASSIGN(const OpModels* const free, clocks_.free());
  TRY_ASSIGN(const Priced priced, price_all(*free, parsed));
  Priced as_run = priced;
  if (row_clock.carried) {
    TRY_ASSIGN(const OpModels* const locked, clocks_.at(clock));
    TRY_ASSIGN(as_run, price_all(*locked, parsed));
  }
  const auto point = point_of(parsed.ops.front());
  const bool alike = parsed.ops.size() > 1 && parsed.ops[0].index() == parsed.ops[1].index();
  if (!point || alike) {
    leave_out(count_.several, place,
              alike ? "found one time for " + std::to_string(parsed.ops.size()) +
                          " kernels, expected a row for each (bwd_data and bwd_weight)"
                    : "found one time for unlike kernels, expected a row for each");
    return {};
  }
  const OpFields fields(file.columns, row);
  const HostShare host = host_share(parsed.timing, parsed.call, fields.text("gpu"), parsed.calls);
  const double kernels = measured * 1e-6 - host.launch;
  const double own = (kernels - as_run.others) * priced.first / as_run.first;
  if (kernels > 0) {
    auto possible =
        check_possible(models_.device(), parsed, fields.text("dtype"), priced.least, kernels, host.launch, clock);
    if (!possible.ok()) {
      ++count_.impossible;
      return possible;
    }
  }
  const double hidden = host.launch + host.tail * kClearOfTail;
  if (kernels <= host.tail * kClearOfTail || own <= 0) {
    const bool launch = kernels <= host.tail * kClearOfTail;
    leave_out(count_.hidden, place,
              "latency_us: found " + format_quantity(measured * 1e-6, Dimension::seconds) +
                  ", expected more than the " +
                  format_quantity(launch ? hidden : host.launch + as_run.others, Dimension::seconds) +
                  (launch ? " behind which the host's launch hides kernels"
                          : " of the launch and the kernels that come with the op"));
    return {};
  }
  const OpPoints::Added added = points_->add(*point, own * 1e6, priced.first * 1e6, place, row_clock, parsed.named);
  if (added.thinned) {
    ++count_.thinned;
    return {};
  }
  if (added.apart) ++count_.apart;
  if (added.alike && ++count_.alike == 1)
    count_.first_alike = position_of(place) + ": latency_us: found " + format_quantity(own, Dimension::seconds) +
                         " for " + printable(kind_of(fields)) + ", where " + position_of(added.first) +
                         ", which the models describe alike, took " +
                         format_quantity(added.first_us * 1e-6, Dimension::seconds);
  if (added.other_clocks && ++count_.at_other_clocks == 1)
    count_.first_other_clock = position_of(place) + ": sm_clock_mhz: found " + megahertz(clock) +
                               ", where the same op of " + position_of(added.place) + " ran at " +
                               megahertz(added.clock);
  note_memory(memory, place);
  ++count_.used;
  if (host.launch > 0 && ++count_.launched == 1)
    count_.first_launched = position_of(place) + ": latency_us: of " +
                            format_quantity(measured * 1e-6, Dimension::seconds) + " of " + printable(kind_of(fields)) +
                            ", " + launch_text(parsed.timing, host.launch) + " are taken off";
  count_.no_clock += clock.value() > 0 ? 0 : 1;
  if (row_clock.carried && ++count_.carried == 1)
    count_.first_carried = position_of(place) + ": sm_clock_mhz: found " + megahertz(clock) + ", where " +
                           models_.device().name + " holds " + megahertz(clocks_.usual()) + " at free clocks";
  if (own > kOpTimesTooLong * priced.first) {
    if (++count_.too_long == 1) count_.first_too_long = too_long_text(own, priced.first);
  }
  if (!keep_rows_) return {};
  if (rows_.size() == kMostRows) {
    ++count_.unreported;
    return {};
  }
  rows_.push_back({printable(kind_of(fields)), printable(shape_text(fields), 100), parsed.ops.front(), *point,
                   parsed.warm, own * 1e6, priced.first * 1e6});
  return {};
}

Result<void> OpCalibration::add(std::istream& in, const std::string& name) {
  files_.push_back(name);
  TRY_ASSIGN(CsvReader reader, CsvReader::open(in, name));
  TRY_ASSIGN(OpColumns columns, OpColumns::from(reader));
  for (const std::string& remark : columns.remarks()) count_.remarks.push_back(printable(name, 300) + ": " + remark);
  if (!columns.unused().empty())
    count_.remarks.push_back(printable(name, 300) + ": carried along, not used: " + columns.unused());
  TRY_ASSIGN(const std::size_t latency, require_latency(reader));
  const File file{std::move(columns), latency, reader.column("framework"), RowStatements(reader)};
  for (;;) {
    const std::size_t impossible = count_.impossible, apart = count_.apart, too_long = count_.too_long;
    TRY_ASSIGN(const auto fields, reader.next());
    if (!fields) return {};
    ++count_.rows;
    if (!is_device_((*fields)[*file.columns.index("gpu")])) {
      ++count_.other_gpu;
      if (count_.first_other.empty())
        count_.first_other = "the gpu column names " + in_quotes((*fields)[*file.columns.index("gpu")], 60) +
                             "; write " + models_.device().name + " or one of its aliases (distsim list devices)";
      continue;
    }
    const RowPlace place{static_cast<std::uint32_t>(files_.size() - 1), static_cast<std::uint32_t>(reader.line())};
    const auto added = add_row(file, *fields, place);
    if (apart == 0 && count_.apart > 0) count_.first_apart = reader.position();
    if (too_long == 0 && count_.too_long > 0) count_.first_too_long = reader.position() + ": " + count_.first_too_long;
    if (added.ok()) {
      if (file.framework && libraries_.size() < kMaxLibraries && !(*fields)[*file.framework].empty())
        libraries_.insert((*fields)[*file.framework]);
      continue;
    }
    const std::string problem = reader.position() + ": " + added.error().text();
    for (std::string* first : {&count_.first_problem, &count_.first_unusable}) {
      if (first->empty()) *first = problem;
    }
    if (count_.impossible == impossible) ++count_.unpriced;
  }
}

Result<MeasuredTable> OpCalibration::table() const {
  if (2 * count_.too_long > count_.used) return most_too_long(count_.first_too_long, count_.too_long, count_.used);
  if (count_.used > 0) return MeasuredTable(models_.device().name, joined(libraries_), points_->take());
  return Error{"found no usable row of " + models_.device().name + " among " + std::to_string(count_.rows) +
                   ", expected at least one",
               files_.empty() ? "" : files_.front(),
               count_.first_unusable.empty() ? count_.first_other : count_.first_unusable};
}

std::string OpCalibration::falling() const {
  const FallingTimes falling = falling_times(points_->timed());
  if (falling.series == 0) return "";
  const auto time = [](const TimedPoint& p) { return format_quantity(p.measured_us * 1e-6, Dimension::seconds); };
  return position_of(falling.smaller.place) + ": latency_us: found " + time(falling.smaller) +
         ", where the larger op of " + position_of(falling.larger.place) + " took " + time(falling.larger) +
         (falling.series == 1 ? "" : " (and so on, " + std::to_string(falling.series) + " series of sizes in all)");
}

std::string OpCalibration::last_above() const {
  const LastTimes last = last_times(points_->timed());
  if (last.points == 0) return "";
  return position_of(last.worst.place) + ": latency_us: found " +
         format_quantity(last.worst.measured_us * 1e-6, Dimension::seconds) + ", where the models say " +
         format_quantity(last.worst.models_us * 1e-6, Dimension::seconds) + " and no larger op was measured" +
         (last.points == 1 ? "" : " (and so on, " + std::to_string(last.points) + " rows in all)");
}

}  // namespace distsim::opmodels
