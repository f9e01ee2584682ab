#include "collectives/curves/curve_set.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/file.hpp"
#include "base/system/inputs/open_input.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "collectives/logs/line_source.hpp"
#include "collectives/logs/log_readers.hpp"

namespace distsim::collectives {

namespace {

constexpr std::size_t kSniffed = std::size_t{64} << 10;

/// A line that begins with the first fields of curve.proto. A log of nccl-tests has none above its tables; a comment of a
/// curve file may well mention nccl-tests.
bool begins_curve_file(std::string_view line) { return line.starts_with("version:") || line.starts_with("system:"); }

/// An object, or a list of them. A log may begin with "[1,0]<stdout>:".
bool begins_json(std::string_view text) {
  const auto from = [&](std::size_t at) { return std::min(text.find_first_not_of(" \t\r\n", at), text.size()); };
  const std::size_t first = from(0), inner = from(first + 1);
  return text.substr(first, 1) == "{" || (text.substr(first, 1) == "[" && text.substr(inner, 1) == "{");
}

/// By its first line that is of one for certain.
LogFormat format_of(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  if (begins_json(head)) return LogFormat::json;
  for (std::size_t begin = 0; begin < head.size();) {
    const std::size_t end = std::min(head.find('\n', begin), head.size());
    const std::string_view line = head.substr(begin, end - begin);
    if (begins_curve_file(line)) return LogFormat::curve_file;
    if (const LogFormat format = format_of_line(without_prefix(line)); format != LogFormat::none) return format;
    begin = end + 1;
  }
  return LogFormat::nccl_tests;
}

/// The first bytes. A pipe would have lost them to the reader that follows.
Result<std::string> head_of(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_fifo(path, unknown))
    return Error{"found a pipe, expected a file: it is read twice", path, "write it to a file first"};
  TRY_ASSIGN(const auto in, open_input_stream(path));
  std::string head(kSniffed, '\0');
  in->read(head.data(), static_cast<std::streamsize>(head.size()));
  if (in->bad()) return Error{"cannot be read", path, ""};
  head.resize(static_cast<std::size_t>(in->gcount()));
  return head;
}

Result<CurveSet> read_log(const std::string& path, Result<CurveSet> (*read)(LineSource&, const LogHints&),
                          const LogHints& hints) {
  TRY_ASSIGN(const auto in, open_input_stream(path));
  LineSource lines(*in, path);
  return read(lines, hints);
}

/// More than versions and machines of one group differ by, as those of one op do; chosen.
constexpr double kContradicts = 3;

/// More than repeated runs of a size differ by; chosen.
constexpr double kFallsNotably = 1.25;

/// Which larger size took less time, as prices never fall (Blend): those measured sizes get a mean. Empty: none notably less.
std::string falling_times(const Curve& c, const std::string& path) {
  const CurvePoint *before = nullptr, *from = nullptr, *to = nullptr;
  double worst = kFallsNotably;
  for (const CurvePoint& p : c.points) {
    if (before != nullptr && before->time_us > worst * p.time_us) {
      worst = before->time_us / p.time_us;
      from = before;
      to = &p;
    }
    if (before == nullptr || p.time_us > before->time_us) before = &p;
  }
  if (to == nullptr) return "";
  const auto measured = [](const CurvePoint& p) {
    char text[80];
    std::snprintf(text, sizeof text, "%.15g B in %.6g us", p.bytes, p.time_us);
    return std::string(text);
  };
  return path + ": " + std::string(graph::name_of(c.kind)) + " of " + counted(c.ranks, "rank") + ": found " +
         measured(*from) + " and " + measured(*to) +
         ", expected no larger size in less time; sizes between them are priced at a mean";
}

Result<CurveSet> read_as_it_is(const std::string& path, const LogHints& hints) {
  TRY_ASSIGN(const std::string head, head_of(path));
  if (head.empty())
    return Error{"found an empty file, expected a curve file or a log (nccl-tests, OSU, PARAM)", path, ""};
  if (begins_binary_curve_file(head)) {
    TRY_ASSIGN(const std::string bytes, read_file(path, kMaxCurveFileBytes));
    return parse_curve_binary(bytes, path);
  }
  switch (format_of(head)) {
    case LogFormat::curve_file: {
      TRY_ASSIGN(const std::string text, read_file(path, kMaxCurveFileBytes));
      return parse_curve_text(text, path);
    }
    case LogFormat::json: {
      TRY_ASSIGN(const std::string text, read_file(path, kMaxJsonBytes));
      return parse_json_log(text, path, hints);
    }
    case LogFormat::osu:
      return read_log(path, parse_osu, hints);
    case LogFormat::param:
      return read_log(path, parse_param, hints);
    case LogFormat::nccl_tests:
    case LogFormat::none:
      break;
  }
  return read_log(path, parse_nccl_tests, hints);
}

std::string microseconds(double us) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", us);
  return text;
}

std::string bytes_text(double bytes) { return std::to_string(std::llround(bytes)) + " B"; }

/// A curve at a size within its range, `before` and `after` the measured sizes around it; both are one where it was measured.
struct TimeWithin {
  double low_us = 0, high_us = 0;
  const CurvePoint *before = nullptr, *after = nullptr;

  double times_apart(double us) const { return std::max(us / high_us, low_us / us); }
  /// "at most 20 us between 1048576 B and 4194304 B", of a time that is more.
  std::string text(double us) const {
    if (before == after) return microseconds(low_us) + " us";
    return (us > high_us ? "at most " + microseconds(high_us) : "at least " + microseconds(low_us)) + " us between " +
           bytes_text(before->bytes) + " and " + bytes_text(after->bytes);
  }
};

/// Time rises with size, and no faster than it: a message may be sent in parts.
TimeWithin time_within(const CurvePoint& before, const CurvePoint& after, double bytes) {
  const double least = std::max(before.time_us, after.time_us * bytes / after.bytes),
               most = std::min(after.time_us, before.time_us * bytes / before.bytes);
  return {std::min(least, most), std::max(least, most), &before, &after};  // a measured curve may do neither
}

/// The measured time that is farthest from what another curve says of its size.
struct Apart {
  double times = kContradicts;
  const CurvePoint* point = nullptr;
  TimeWithin other;
};

/// Whether one of `timed` is farther from the curve through `others`. REQUIRES: both ascend in bytes.
bool take_farther(const std::vector<CurvePoint>& timed, const std::vector<CurvePoint>& others, Apart& worst) {
  bool found = false;
  auto after = others.begin();
  for (const CurvePoint& p : timed) {
    while (after != others.end() && after->bytes < p.bytes) ++after;
    if (after == others.end()) break;
    const bool measured = after->bytes == p.bytes;
    if (!measured && after == others.begin()) continue;
    const TimeWithin there = time_within(measured ? *after : *(after - 1), *after, p.bytes);
    const double times = there.times_apart(p.time_us);
    if (times <= worst.times) continue;
    worst = {times, &p, there};
    found = true;
  }
  return found;
}

}  // namespace

bool same_measurement(const Curve& a, const Curve& b) {
  return a.kind == b.kind && a.ranks == b.ranks && a.nodes == b.nodes &&
         std::ranges::equal(a.points, b.points, [](const CurvePoint& x, const CurvePoint& y) {
           return x.bytes == y.bytes && x.time_us == y.time_us;
         });
}

void KnownCurves::take(CurveSet& set, const std::string& file, const std::string& system) {
  std::vector<Curve> kept;
  for (Curve& c : set.curves) {
    const auto stands_for_it = [&](const Curve& other) {  // one that is not used stands for none that is
      return same_measurement(c, other) && (other.not_used.empty() || !c.not_used.empty());
    };
    if (std::ranges::any_of(curves_, stands_for_it)) {
      set.remarks.push_back(printable(file, 200) + ": left out: a curve of " + std::string(graph::name_of(c.kind)) +
                            " with the times of another, measured once");
      continue;
    }
    curves_.push_back(c);
    from_.push_back(printable(file, 200) + (c.label.empty() ? "" : " (" + printable(c.label) + ")"));
    if (c.not_used.empty()) {
      Measured& group = groups_[{system, c.kind, c.ranks, c.nodes, c.single_process, c.cuda_graph, c.groups_at_once > 1,
                                 c.timed_by, c.settings}];
      std::string line = contradiction(curves_.size() - 1, group);
      if (!line.empty()) set.remarks.push_back(std::move(line));
      group.curves.push_back(curves_.size() - 1);
    }
    kept.push_back(std::move(c));
  }
  set.curves = std::move(kept);
}

std::string KnownCurves::contradiction(std::size_t curve, Measured& group) const {
  if (group.named) return "";
  Apart worst;
  std::size_t of_time = 0, of_other = 0;
  for (const std::size_t known : group.curves) {
    for (const auto& [timed, other] : {std::pair(curve, known), std::pair(known, curve)}) {
      if (take_farther(curves_[timed].points, curves_[other].points, worst)) of_time = timed, of_other = other;
    }
  }
  if (worst.point == nullptr) return "";
  group.named = true;
  const Curve& c = curves_[curve];
  const std::string time = microseconds(worst.point->time_us) + " us in " + from_[of_time],
                    other = worst.other.text(worst.point->time_us) + " in " + from_[of_other];
  const bool time_first = of_time < of_other;
  return std::string(graph::name_of(c.kind)) + " of " + bytes_text(worst.point->bytes) + ", " +
         counted(c.ranks, "rank") + (c.nodes == 0 ? "" : " on " + counted(c.nodes, "node")) + ": found " +
         (time_first ? time : other) + " and " + (time_first ? other : time) +
         ", expected at most three times as much; such curves are priced at a mean";
}

Result<void> check_range(const CurvePoint& p) {
  const auto wrong = [](const char* name, double us, const std::string& expected) {
    return Error{std::string(name) + ": found " + microseconds(us) + ", expected " + expected, "", ""};
  };
  for (const auto& [name, us] : {std::pair("low_us", p.low_us), std::pair("high_us", p.high_us)}) {
    if (!(us >= 0 && us < kLongestCurveUs)) return wrong(name, us, "0 or a positive number below 1e12");
    if (us > 0 && !(us < kWidestRange * p.time_us && us > p.time_us / kWidestRange))
      return wrong(name, us, "less than a factor of a million from time_us, " + microseconds(p.time_us));
  }
  if (p.low_us > p.time_us) return wrong("low_us", p.low_us, "at most time_us, " + microseconds(p.time_us));
  if (p.high_us > 0 && p.high_us < p.time_us)
    return wrong("high_us", p.high_us, "at least time_us, " + microseconds(p.time_us));
  return {};
}

Result<void> check_quantiles(std::span<const Quantile> ascending) {
  constexpr double kRounding = 1e-2;  // of figures that are written with a few digits
  Quantile last{"", 0};
  for (const Quantile& q : ascending) {
    const bool is_time = q.us >= 0 && q.us < kLongestCurveUs;
    if (is_time && (q.us == 0 || q.us >= last.us * (1 - kRounding))) {
      if (q.us > 0) last = q;
      continue;
    }
    return Error{std::string(q.name) + ": found " + microseconds(q.us) + ", expected " +
                     (is_time ? "at least " + std::string(last.name) + ", " + microseconds(last.us) : "microseconds"),
                 "", ""};
  }
  return {};
}

Result<CurveSet> read_curve_file(const std::string& path, const LogHints& hints) {
  TRY_ASSIGN(CurveSet set, read_as_it_is(path, hints));
  for (const Curve& c : set.curves) {
    constexpr std::size_t kMostSaid = 10;
    const std::string falls = c.not_used.empty() ? falling_times(c, path) : "";
    if (!falls.empty() && set.remarks.size() < kMostSaid) set.remarks.push_back(falls);
  }
  return set;
}

}  // namespace distsim::collectives
