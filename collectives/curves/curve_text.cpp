// Curve files: protobuf text format in and out, with positions in every error.
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "base/text/counted.hpp"
#include "base/text/lower_case.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "collectives/algorithms/algorithm.hpp"
#include "collectives/collective_options.hpp"
#include "collectives/curve_file/curve.pb.h"
#include "collectives/curve_file/curve_checksum.hpp"
#include "collectives/curve_file/curve_strings.hpp"
#include "collectives/curves/curve_provenance.hpp"
#include "collectives/curves/curve_set.hpp"
#include "collectives/curves/curve_tables.hpp"
#include "topology/devices/device_names.hpp"

namespace distsim::collectives {

namespace {

using google::protobuf::TextFormat;

/// Keeps the first error; protobuf counts lines and columns from 0.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (!message_) {
      line_ = line;
      column_ = column;
      message_ = message;
    }
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
  Error error(const std::string& file, bool at_end) const {
    const std::string where =
        line_ < 0 ? file : file + ":" + std::to_string(line_ + 1) + ":" + std::to_string(column_ + 1);
    return Error{message_.value_or("not a curve file"), where, at_end ? "the file ends here: is it truncated?" : ""};
  }
  int line() const { return line_; }

 private:
  int line_ = -1, column_ = -1;
  std::optional<std::string> message_;
};

/// Positions of messages in the text: "file:line:col" of field `index` of a repeated field.
class Positions {
 public:
  Positions(const std::string& file, const TextFormat::ParseInfoTree* tree) : file_(file), tree_(tree) {}
  std::string of(const google::protobuf::Message& m, const char* field, int index = -1) const {
    const auto at =
        tree_ ? tree_->GetLocation(m.GetDescriptor()->FindFieldByName(field), index) : TextFormat::ParseLocation();
    return at.line < 0 ? file_ : file_ + ":" + std::to_string(at.line + 1) + ":" + std::to_string(at.column + 1);
  }
  Positions inside(const google::protobuf::Message& m, const char* field, int index) const {
    return {file_, tree_ ? tree_->GetTreeForNested(m.GetDescriptor()->FindFieldByName(field), index) : nullptr};
  }

 private:
  const std::string& file_;
  const TextFormat::ParseInfoTree* tree_;
};

std::string number(double v) { return format_quantity(v, Dimension::none); }

/// No rank's median is above the largest sample of the slowest; a mean, timed around its whole loop, holds little more.
Result<void> check_statistics(const curves::Statistics& s, const Positions& at) {
  const auto wrong = [&](const char* field, double found, const std::string& expected) {
    return Error{std::string(field) + ": found " + number(found) + ", expected " + expected, at.of(s, field), ""};
  };
  constexpr double kRounding = 1 + 1e-6;  // of a time in decimal digits
  constexpr double kAroundLoop = 2;       // what lies between the samples, of a sample; chosen
  const struct {
    const char* field;
    double us, of_largest;
  } times[] = {{"mean_us", s.mean_us(), kAroundLoop},
               {"mad_us", s.mad_us(), kRounding},
               {"rank_min_us", s.rank_min_us(), kRounding},
               {"rank_max_us", s.rank_max_us(), kRounding},
               {"arrival_skew_us", s.arrival_skew_us(), kLongestCurveUs}};
  for (const auto& t : times) {
    if (!(t.us >= 0 && t.us < kLongestCurveUs)) return wrong(t.field, t.us, "0 or a positive number");
    if (s.max_us() > 0 && t.us > s.max_us() * t.of_largest)
      return wrong(t.field, t.us, "at most what max_us says, " + number(s.max_us()));
  }
  if (s.rank_min_us() > s.rank_max_us() * kRounding)
    return wrong("rank_min_us", s.rank_min_us(), "at most rank_max_us, " + number(s.rank_max_us()));
  return {};
}

Result<CurvePoint> read_point(const curves::Point& p, double previous, const Positions& at) {
  if (!(p.time_us() >= kShortestCurveUs && p.time_us() < kLongestCurveUs)) {
    return Error{"time_us: found " + number(p.time_us()) + ", expected a positive number, 0.001 .. 1e12",
                 at.of(p, "time_us"), ""};
  }
  const CurvePoint point{static_cast<double>(p.bytes()), p.time_us(), p.low_us(), p.high_us()};
  if (const auto range = check_range(point); !range.ok())
    return Error{range.error().what, at.of(p, range.error().what.starts_with("low") ? "low_us" : "high_us"), ""};
  if (static_cast<double>(p.bytes()) <= previous) {
    return Error{
        "bytes: found " + std::to_string(p.bytes()) + " after " + number(previous) + ", expected ascending sizes",
        at.of(p, "bytes"), ""};
  }
  if (p.bytes() > (std::uint64_t{1} << 60))
    return Error{"bytes: found " + std::to_string(p.bytes()) + ", expected at most 2^60", at.of(p, "bytes"), ""};
  for (const char* field : {"statistics", "in_place"}) {
    const curves::Statistics& s = field == std::string_view("statistics") ? p.statistics() : p.in_place();
    const Quantile quantiles[] = {{"min_us", s.min_us()},       {"p5_us", s.p5_us()},   {"p10_us", s.p10_us()},
                                  {"median_us", s.median_us()}, {"p90_us", s.p90_us()}, {"p95_us", s.p95_us()},
                                  {"max_us", s.max_us()}};
    if (const auto checked = check_quantiles(quantiles); !checked.ok())
      return Error{checked.error().what, at.of(p, field), ""};
    TRY(check_statistics(s, at.inside(p, field, -1)));
  }
  constexpr double kRounding = 1e-6;  // of a time in decimal digits
  const curves::Statistics& own = p.statistics();
  if (own.max_us() > 0 &&
      (point.time_us < own.min_us() * (1 - kRounding) || point.time_us > own.max_us() * (1 + kRounding)))
    return Error{"time_us: found " + number(point.time_us) +
                     ", expected what its statistics say: " + number(own.min_us()) + " .. " + number(own.max_us()),
                 at.of(p, "time_us"), ""};
  return point;
}

Result<void> read_points(Curve& out, const curves::Curve& c, const Positions& at) {
  if (static_cast<std::size_t>(c.points_size()) > kMaxCurvePoints)
    return Error{"points: found " + std::to_string(c.points_size()) + ", expected at most 4096", at.of(c, "points", 0),
                 ""};
  double previous = -1;
  for (int i = 0; i < c.points_size(); ++i) {
    if (c.points(i).flagged()) {
      ++out.flagged;
      continue;
    }
    TRY_ASSIGN(CurvePoint point, read_point(c.points(i), previous, at.inside(c, "points", i)));
    previous = point.bytes;
    if (point.bytes >= 1) out.points.push_back(point);
  }
  if (out.points.empty())
    return Error{"points: found none that can be used, expected at least one", at.of(c, "kind"), ""};
  return {};
}

Result<void> read_timing(Curve& out, const curves::Curve& c, const Positions& at) {
  const auto timed_by =
      c.timed_by().empty() ? TimedBy::nccl_tests : read_word("timed_by", c.timed_by(), timed_by_words());
  if (!timed_by.ok()) return Error{timed_by.error().what, at.of(c, "timed_by"), timed_by.error().hint};
  const double floor = c.launch_floor_us();
  if (!(std::isfinite(floor) && floor >= 0 && floor < kLongestCurveUs))
    return Error{"launch_floor_us: found " + number(floor) + ", expected 0 or a positive number",
                 at.of(c, "launch_floor_us"), ""};
  if (floor > 0 && *timed_by == TimedBy::nccl_tests)
    return Error{
        "launch_floor_us: found " + number(floor) + " of a curve timed by nccl_tests, whose times hold no launch",
        at.of(c, "launch_floor_us"), "say timed_by: \"pytorch\" if each call was launched on an idle GPU"};
  out.timed_by = *timed_by;
  out.launch_floor_us = floor;
  return {};
}

/// What launching adds to every time is less than each.
Result<void> check_floor(const Curve& curve, const curves::Curve& c, const Positions& at) {
  if (curve.launch_floor_us <= 0) return {};
  for (const CurvePoint& p : curve.points) {
    if (curve.launch_floor_us < p.time_us) continue;
    return Error{"launch_floor_us: found " + number(curve.launch_floor_us) +
                     ", expected less than each time: " + number(p.bytes) + " B took " + number(p.time_us) + " us",
                 at.of(c, "launch_floor_us"), ""};
  }
  return {};
}

/// Groups that ran together had different ranks.
Result<void> check_groups(const curves::Curve& c, const Positions& at) {
  constexpr std::uint64_t kLargest = 1u << 20;  // more GPUs than any machine has; chosen
  const std::uint64_t most = c.group() == "all" ? c.ranks() : kLargest;
  if (c.groups_at_once() < 2 || std::uint64_t{c.groups_at_once()} * c.ranks() <= most) return {};
  return Error{"groups_at_once: found " + std::to_string(c.groups_at_once()) + " groups of " +
                   std::to_string(c.ranks()) + " ranks, expected at most " + std::to_string(most) + " ranks in all",
               at.of(c, "groups_at_once"), ""};
}

/// Ranks and nodes of a group by its name; 0: any number.
struct GroupShape {
  std::uint32_t ranks = 0, nodes = 0;
};

/// "8x2", and collective_bench's names of groups (docs/collective_bench.md) for a curve on so many nodes.
GroupShape shape_of_group(const std::string& name, std::uint32_t nodes) {
  if (name == "one_per_node" || name == "rails") return {nodes, nodes};
  if (name == "pairs") return {2, 1};
  if (name == "far_pairs") return {2, 2};
  if (name == "nodes") return {0, 1};
  GroupShape shape;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, shape.ranks);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != 'x') return {};
  const auto second = std::from_chars(first.ptr + 1, end, shape.nodes);
  return second.ec == std::errc() && (second.ptr == end || std::string_view(second.ptr, end) == ".alone")
             ? shape
             : GroupShape{};
}

Result<void> check_shape(const curves::Curve& c, const Positions& at) {
  const auto [ranks, nodes] = shape_of_group(c.group(), c.nodes());
  if ((ranks == 0 || ranks == c.ranks()) && (nodes == 0 || c.nodes() == 0 || nodes == c.nodes())) return {};
  return Error{"group: found " + in_quotes(c.group(), 40) + ", expected '" + std::to_string(c.ranks()) + "x" +
                   std::to_string(c.nodes()) + "', as its ranks and nodes say",
               at.of(c, "group"), ""};
}

/// YYYY-MM-DD, where that is its form, is a day of the calendar.
Result<void> check_date(const curves::Curve& c, const Positions& at) {
  const std::string& text = c.date();
  constexpr std::size_t kLength = 10;
  if (text.size() != kLength || text[4] != '-' || text[7] != '-' || is_date(text)) return {};
  return Error{"date: found " + in_quotes(text, 40) + ", expected a day of the calendar as YYYY-MM-DD",
               at.of(c, "date"), ""};
}

Result<Curve> read_curve(const curves::Curve& c, const Positions& at) {
  Curve out;
  auto kind = graph::parse_collective(c.kind());
  if (!kind.ok()) return Error{"kind: " + kind.error().what, at.of(c, "kind"), kind.error().hint};
  out.kind = *kind;
  const auto moves = [&](const AlgorithmInfo* a) { return a->kinds.contains(out.kind); };
  if (std::ranges::none_of(algorithms(), moves))
    return Error{"kind: found " + std::string(graph::name_of(out.kind)) + ", expected a collective that moves data",
                 at.of(c, "kind"), ""};
  if (c.ranks() < 2 || c.ranks() > kMaxCurveRanks)
    return Error{"ranks: found " + std::to_string(c.ranks()) + ", expected 2 .. 2^24", at.of(c, "ranks"), ""};
  if (c.nodes() > c.ranks())
    return Error{
        "nodes: found " + std::to_string(c.nodes()) + ", expected at most ranks (" + std::to_string(c.ranks()) + ")",
        at.of(c, "nodes"), ""};
  const auto launch = c.launch().empty() ? Launch::mpi : read_word("launch", c.launch(), launch_words());
  if (!launch.ok()) return Error{launch.error().what, at.of(c, "launch"), launch.error().hint};
  out.ranks = c.ranks();
  out.nodes = c.nodes();
  out.single_process = *launch == Launch::single_process;
  out.cuda_graph = c.cuda_graph();
  out.library = c.library();
  out.settings = c.settings();
  out.date = c.date();
  out.source = c.source();
  out.licence = c.licence();
  out.label = c.label();
  out.not_used = c.not_used();
  const bool by_gloo = lower_case(out.library).starts_with("gloo");
  if (by_gloo && out.not_used.empty()) out.not_used = "library Gloo: host buffers, not GPU memory";
  out.group = c.group();
  TRY(check_groups(c, at));
  TRY(check_shape(c, at));
  TRY(check_date(c, at));
  out.groups_at_once = c.groups_at_once();
  TRY(read_timing(out, c, at));
  TRY(read_points(out, c, at));
  TRY(check_floor(out, c, at));
  return out;
}

Result<void> parse_message(std::string_view text, const std::string& file, curves::CurveFile& message,
                           TextFormat::ParseInfoTree* tree) {
  build_curve_tables();
  FirstError errors;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (tree != nullptr) parser.WriteLocationsTo(tree);
  parser.SetRecursionLimit(8);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // the byte order mark of an editor
  google::protobuf::io::ArrayInputStream in(text.data(), static_cast<int>(text.size()));
  if (parser.Parse(&in, &message)) return {};
  return errors.error(file, errors.line() >= std::count(text.begin(), text.end(), '\n'));
}

/// What a file says of all its curves.
CurveSet set_without_curves(const curves::CurveFile& message) {
  CurveSet out{message.system(),
               message.device(),
               message.hardware(),
               {message.also_for().begin(), message.also_for().end()},
               {},
               message.partial()};
  out.same_network.assign(message.same_network().begin(), message.same_network().end());
  out.hosts.assign(message.hosts().begin(), message.hosts().end());
  out.driver = message.driver();
  out.topology = message.topology();
  out.flags = message.flags();
  const curves::Clocks& clocks = message.clocks();
  out.clocks = {clocks.sm_mhz(), clocks.memory_mhz(), clocks.cpu_locked_mhz()};
  return out;
}

/// By node, so that each is one, and no curve has more nodes.
Result<void> check_hosts(const curves::CurveFile& message, const Positions& at) {
  std::set<std::string_view> hosts;
  for (int i = 0; i < message.hosts_size(); ++i) {
    if (!hosts.insert(message.hosts(i)).second)
      return Error{"hosts: found " + in_quotes(message.hosts(i)) + " twice, expected a name for each node",
                   at.of(message, "hosts", i), ""};
  }
  if (hosts.empty()) return {};
  for (int i = 0; i < message.curves_size(); ++i) {
    const std::uint32_t nodes = message.curves(i).nodes();
    if (nodes > hosts.size())
      return Error{"nodes: found " + std::to_string(nodes) + ", expected at most the " + counted(hosts.size(), "host") +
                       " of the file",
                   at.inside(message, "curves", i).of(message.curves(i), "nodes"), ""};
  }
  return {};
}

/// No clock of a GPU is anywhere near the largest that is taken; chosen.
Result<void> check_clocks(const curves::Clocks& c, const Positions& at) {
  constexpr std::uint32_t kFastestSm = 5000, kFastestMemory = 50000, kFastestCpu = 15000;
  for (const auto& [field, mhz, most] : {std::tuple("sm_mhz", c.sm_mhz(), kFastestSm),
                                         {"memory_mhz", c.memory_mhz(), kFastestMemory},
                                         {"cpu_locked_mhz", c.cpu_locked_mhz(), kFastestCpu}}) {
    if (mhz > most)
      return Error{
          std::string(field) + ": found " + std::to_string(mhz) + ", expected MHz, at most " + std::to_string(most),
          at.of(c, field), ""};
  }
  return {};
}

Result<CurveSet> read_set(const curves::CurveFile& message, const std::string& file, const Positions& at) {
  if (message.version() != 1)
    return Error{"version: found " + std::to_string(message.version()) + ", expected 1", at.of(message, "version"), ""};
  if (message.curve_count() != 0 && message.curve_count() != static_cast<std::uint32_t>(message.curves_size())) {
    return Error{"curves: found " + std::to_string(message.curves_size()) + ", expected " +
                     std::to_string(message.curve_count()) + " (curve_count)",
                 file, "the file may be truncated"};
  }
  if (message.curves_size() == 0) return Error{"curves: found none, expected at least one", file, ""};
  if (static_cast<std::size_t>(message.curves_size()) > kMaxCurves)
    return Error{"curves: found " + std::to_string(message.curves_size()) + ", expected at most 1000", file, ""};
  CurveSet out = set_without_curves(message);
  TRY(check_hosts(message, at));
  TRY(check_clocks(message.clocks(), at.inside(message, "clocks", -1)));
  if (topology::is_other_gpu(out.hardware, out.device))
    return Error{
        "hardware: found " + in_quotes(out.hardware) + ", expected " + in_quotes(out.device) + ", as device says",
        at.of(message, "hardware"), ""};
  for (int i = 0; i < message.curves_size(); ++i) {
    TRY_ASSIGN(Curve curve, read_curve(message.curves(i), at.inside(message, "curves", i)));
    if (const curves::Curve& c = message.curves(i); c.points_size() > 0 && c.points(0).bytes() == 0)
      out.remarks.push_back(file + ": " + std::string(graph::name_of(curve.kind)) + " of " +
                            counted(curve.ranks, "rank") + ": left out: the point of 0 bytes, which sends nothing");
    out.curves.push_back(std::move(curve));
  }
  if (const std::string sum = curves::checksum_of(message); !message.checksum().empty() && message.checksum() != sum &&
                                                            message.checksum() != curves::older_checksum_of(message)) {
    return Error{"checksum: found '" + message.checksum() + "', expected '" + sum + "' for these rows",
                 at.of(message, "checksum"), "was the file edited? delete the line to accept it"};
  }
  return out;
}

}  // namespace

Result<CurveSet> parse_curve_text(std::string_view text, const std::string& file) {
  if (text.size() > kMaxCurveFileBytes)
    return Error{"found " + std::to_string(text.size()) + " bytes, expected at most 16 MiB", file, ""};
  curves::CurveFile message;
  TRY(parse_message(text, file, message, nullptr));
  auto set = read_set(message, file, Positions(file, nullptr));
  if (set.ok()) return set;
  TextFormat::ParseInfoTree tree;  // positions double the time of parsing: only a broken file pays for them
  message.Clear();
  TRY(parse_message(text, file, message, &tree));
  return read_set(message, file, Positions(file, &tree));
}

std::string_view curve_head(std::string_view text) { return text.substr(0, text.find("curves {")); }

Result<CurveSet> parse_curve_head(std::string_view text, const std::string& file) {
  const std::string_view head = curve_head(text);
  curves::CurveFile message;
  TRY(parse_message(head, file, message, nullptr));
  if (message.system().empty() && head.size() < text.size()) {
    message.Clear();
    TRY(parse_message(text, file, message, nullptr));
  }
  return set_without_curves(message);
}

std::string curve_text(const CurveSet& set) {
  curves::CurveFile message;
  message.set_version(1);
  message.set_system(set.system);
  message.set_device(set.device);
  message.set_hardware(set.hardware);
  message.set_partial(set.partial);
  for (const auto& name : set.also_for) message.add_also_for(name);
  for (const auto& name : set.same_network) message.add_same_network(name);
  for (const auto& host : set.hosts) message.add_hosts(host);
  message.set_driver(set.driver);
  message.set_topology(set.topology);
  message.set_flags(set.flags);
  if (set.clocks != RecordedClocks{}) {
    message.mutable_clocks()->set_sm_mhz(set.clocks.sm);
    message.mutable_clocks()->set_memory_mhz(set.clocks.memory);
    message.mutable_clocks()->set_cpu_locked_mhz(set.clocks.cpu_locked);
  }
  message.set_curve_count(static_cast<std::uint32_t>(set.curves.size()));
  for (const Curve& c : set.curves) {
    curves::Curve& out = *message.add_curves();
    out.set_kind(std::string(graph::name_of(c.kind)));
    out.set_ranks(c.ranks);
    out.set_nodes(c.nodes);
    out.set_launch(std::string(word_of(c.single_process ? Launch::single_process : Launch::mpi, launch_words())));
    out.set_cuda_graph(c.cuda_graph);
    out.set_library(c.library);
    out.set_settings(c.settings);
    out.set_date(c.date);
    out.set_source(c.source);
    out.set_licence(c.licence);
    out.set_label(c.label);
    out.set_not_used(c.not_used);
    out.set_group(c.group);
    out.set_groups_at_once(c.groups_at_once);
    if (c.timed_by != TimedBy::nccl_tests) out.set_timed_by(std::string(word_of(c.timed_by, timed_by_words())));
    out.set_launch_floor_us(c.launch_floor_us);
    for (const CurvePoint& p : c.points) {
      curves::Point& point = *out.add_points();
      point.set_bytes(static_cast<std::uint64_t>(p.bytes));
      point.set_time_us(p.time_us);
      point.set_low_us(p.low_us);
      point.set_high_us(p.high_us);
    }
  }
  build_curve_tables();
  curves::make_utf8(message);
  message.set_checksum(curves::checksum_of(message));
  TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  printer.PrintToString(message, &text);
  return text;
}

}  // namespace distsim::collectives
