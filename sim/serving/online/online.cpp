#include "sim/serving/online/online.hpp"

#include <fmt/format.h>

#include <cmath>
#include <istream>
#include <system_error>
#include <utility>

#include "base/json/json_text.hpp"
#include "base/system/signals.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "base/text/trimmed.hpp"

namespace distsim::serving {
namespace {

constexpr double kPsPerS = 1e12, kLatest = 4e6;  ///< 46 days, as of other loads
constexpr std::size_t kLongestLine = 4096;

double in_seconds(std::int64_t ps) { return static_cast<double>(ps) / kPsPerS; }

/// The lines of the input as arrivals; stops at the first that is wrong.
class Lines : public Arrivals {
 public:
  Lines(const Scenario& s, std::istream& in, std::string name) : in_(in), name_(std::move(name)) {
    for (const Model& m : s.models) models_.push_back(m.name);
  }
  bool next(TraceRow& out) override {
    std::string line;
    while (!failed_ && read_line(line)) {
      line = std::string(trimmed(line));
      if (line.empty() || line.front() == '#') continue;
      const auto row = parse(line);
      if (!row.ok()) {
        failed_ = row.error();
        return false;
      }
      out = *row;
      last_ps_ = out.time_ps;
      return true;
    }
    return false;
  }
  const std::optional<Error>& failed() const { return failed_; }

 private:
  /// A character at a time, so that a line without an end does not fill the memory.
  bool read_line(std::string& line) {
    line.clear();
    ++number_;
    if (end_asked()) return interrupted();
    try {
      std::streambuf& buffer = *in_.rdbuf();  // its errors have a reason
      for (int c = buffer.sbumpc(); c != std::istream::traits_type::eof(); c = buffer.sbumpc()) {
        if (c == '\n') return true;
        if (line.size() == kLongestLine)
          return fail(wrong("found a line of more than 4096 characters, expected TIME, TIME,MODEL or advance TIME"));
        line.push_back(static_cast<char>(c));
      }
    } catch (const std::system_error& e) {
      return end_asked() ? interrupted() : fail(wrong("cannot be read beyond this point (" + e.code().message() + ")"));
    }
    return end_asked() ? interrupted() : !line.empty();
  }
  bool fail(Error error) {
    failed_ = std::move(error);
    return false;
  }
  /// A signal ends the wait for a line as the end of the input does; what there is of the line is not taken for one.
  bool interrupted() { return fail(Error{"interrupted before the input ended", "", ""}); }
  Error wrong(const std::string& what, const std::string& hint = "") const {
    return Error{what, name_ + ":" + std::to_string(number_), hint};
  }
  Result<TraceRow> parse(const std::string& line) const {
    TraceRow row;
    constexpr std::string_view kAdvance = "advance ";
    row.tick = line.starts_with(kAdvance);
    const std::size_t comma = row.tick ? std::string::npos : line.find(',');
    const std::string time(trimmed(row.tick ? line.substr(kAdvance.size()) : line.substr(0, comma)));
    const auto seconds = parse_quantity(time, Dimension::none);
    if (!seconds.ok() || *seconds < 0 || *seconds > kLatest)
      return wrong("found " + in_quotes(line) +
                   ", expected TIME, TIME,MODEL or advance TIME, with seconds from 0 to 4e6");
    row.time_ps = std::llround(*seconds * kPsPerS);
    if (row.time_ps < last_ps_)
      return wrong("found " + in_quotes(time) + " after " + fmt::format("{:.12g}", in_seconds(last_ps_)) +
                   ", expected times in ascending order");
    if (comma == std::string::npos) return row;
    const std::string model(trimmed(std::string_view(line).substr(comma + 1)));
    for (std::size_t m = 0; m < models_.size(); ++m) {
      if (models_[m] == model) {
        row.model = static_cast<std::uint32_t>(m);
        return row;
      }
    }
    return wrong("found " + in_quotes(model) + ", expected a model of the experiment", spelling_hint(model, models_));
  }

  std::istream& in_;
  std::string name_;
  std::vector<std::string> models_;
  std::uint64_t number_ = 0;
  std::int64_t last_ps_ = 0;
  std::optional<Error> failed_;
};

/// Writes decisions as they are made, until a line is wrong or missing: what comes after it is not known.
class Decisions : public Observer {
 public:
  Decisions(const Scenario& s, const Lines& lines, std::ostream& out) : s_(s), lines_(lines), out_(out) {}
  void assigned(const Assigned& a) override {
    nlohmann::ordered_json line{{"time_s", in_seconds(a.time_ps)},
                                {"do", "assign"},
                                {"gpu", s_.gpus[a.gpu].name},
                                {"model", s_.models[a.model].name},
                                {"layers", {a.begin_layer, a.end_layer}},
                                {"requests", *a.requests}};
    write(line);
  }
  void answered(const Answered& a) override {
    nlohmann::ordered_json line{{"time_s", in_seconds(a.answer_ps)},
                                {"do", a.dropped ? "drop" : "answer"},
                                {"request", a.number},
                                {"model", s_.models[a.model].name},
                                {"latency_s", in_seconds(a.answer_ps - a.arrival_ps)}};
    write(line);
  }

 private:
  void write(const nlohmann::ordered_json& line) {
    if (!lines_.failed()) out_ << json_text(line) << std::endl;
  }
  const Scenario& s_;
  const Lines& lines_;
  std::ostream& out_;
};

}  // namespace

Result<RunResult> serve_online(const Experiment& e, std::istream& in, const std::string& name, std::ostream& out) {
  if (e.policies.size() != 1)
    return Error{"policies: found " + std::to_string(e.policies.size()) + ", expected one in the online mode", "",
                 "--set policies=[fifo]"};
  Lines lines(e.scenario, in, name);
  Decisions decisions(e.scenario, lines, out);
  RunOptions options = e.run;
  options.arrivals = &lines;
  options.warm_up = 0;
  Load load;
  load.kind = LoadKind::trace;
  load.seed = e.load.seed;
  auto result = emulate(e.scenario, *e.policies.front(), e.policy_options, load, options, &decisions);
  if (lines.failed()) return *lines.failed();
  return result;
}

}  // namespace distsim::serving
