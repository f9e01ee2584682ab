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
    if (std::ranges::any_of(curves_, [&](const Curve& other) { return same_measurement(c, other); })) {
      set.remarks.push_back(printable(file, 200) + ": left out: a curve of " + std::string(graph::name_of(c.kind)) +
                            " with the times of another, measured once");
      continue;
    }
    curves_.push_back(c);
    from_.push_back(printable(file, 200) + (c.label.empty() ? "" : " (" + printable(c.label) + ")"));
    if (c.not_used.empty()) {
      Measured& group = groups_[{system, c.kind, c.ranks, c.nodes, c.single_process, c.cuda_graph, c.groups_at_once > 1,
                                 c.timed_by, c.settings}];
      std::string line = contradiction(c, from_.back(), group);
      if (!line.empty()) set.remarks.push_back(std::move(line));
      keep(c, group);
    }
    kept.push_back(std::move(c));
  }
  set.curves = std::move(kept);
}

std::string KnownCurves::contradiction(const Curve& curve, const std::string& from, Measured& group) const {
  if (group.named) return "";
  const CurvePoint* worst = nullptr;
  Extreme other;
  double apart = kContradicts;
  for (const CurvePoint& p : curve.points) {
    const auto known = group.by_size.find(p.bytes);
    if (known == group.by_size.end()) continue;
    for (const Extreme& e : {known->second.first, known->second.second}) {
      const double ratio = std::max(p.time_us, e.us) / std::min(p.time_us, e.us);
      if (ratio > apart) apart = ratio, worst = &p, other = e;
    }
  }
  if (worst == nullptr) return "";
  group.named = true;
  const auto measured = [](double us, const std::string& where) { return microseconds(us) + " us in " + where; };
  return std::string(graph::name_of(curve.kind)) + " of " + std::to_string(std::llround(worst->bytes)) + " B, " +
         counted(curve.ranks, "rank") + (curve.nodes == 0 ? "" : " on " + counted(curve.nodes, "node")) + ": found " +
         measured(other.us, from_[other.of]) + " and " + measured(worst->time_us, from) +
         ", expected at most three times as much; such curves are priced at a mean";
}

void KnownCurves::keep(const Curve& curve, Measured& group) const {
  for (const CurvePoint& p : curve.points) {
    const Extreme now{p.time_us, from_.size() - 1};
    const auto [it, fresh] = group.by_size.try_emplace(p.bytes, now, now);
    if (fresh) continue;
    auto& [least, most] = it->second;
    if (now.us < least.us) least = now;
    if (now.us > most.us) most = now;
  }
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
