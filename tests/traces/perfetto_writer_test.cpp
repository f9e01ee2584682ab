// The writer's files, read back with protobuf's own parser by a schema of Perfetto's public field numbers.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "peak_memory.hpp"
#include "perfetto.pb.h"
#include "sanitizers.hpp"
#include "test_paths.hpp"
#include "traces/timeline/perfetto_writer.hpp"
#include "traces/timeline/timeline_writer.hpp"

namespace distsim::traces {
namespace {

namespace schema = perfetto_schema;

/// A slice as trace_processor would see it.
struct Seen {
  std::string process, track, name, category;
  std::uint64_t start = 0, end = 0;
  std::vector<std::uint64_t> flows, ended_flows;
  std::map<std::string, std::string> args;
};
struct SeenSample {
  std::string process, counter, unit;
  std::uint64_t time;
  double value;
};

/// Reads a trace the way Perfetto does: interned texts in file order, then events in order of time (equal times: in
/// file order), begins and ends as a stack on every track.
class Reader {
 public:
  explicit Reader(const schema::Trace& trace) {
    for (const auto& p : trace.packet()) packet(p);
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
    for (const Event& e : events_) play(e);
    for (const auto& [track, open] : open_) EXPECT_TRUE(open.empty()) << "slices of track " << track << " never end";
  }
  std::vector<Seen> slices;
  std::vector<SeenSample> samples;
  std::vector<std::string> track_names;  ///< in the order of the descriptors
  int state_clears = 0;

 private:
  struct Event {
    std::uint64_t time;
    int type;
    std::uint64_t track;
    Seen seen;
    double value = 0;
  };
  struct TrackInfo {
    std::string name, unit;
    std::uint64_t parent = 0;
  };

  void packet(const schema::TracePacket& p) {
    EXPECT_EQ(p.trusted_packet_sequence_id(), 1u);
    EXPECT_TRUE(p.unknown_fields().empty());
    if (p.sequence_flags() & 1) {
      for (auto* texts : {&names_, &categories_, &keys_, &values_}) texts->clear();
      ++state_clears;
    }
    if (p.has_track_descriptor()) describe(p.track_descriptor());
    if (p.has_interned_data()) learn(p.interned_data());
    if (p.has_track_event()) event(p);
  }

  void describe(const schema::TrackDescriptor& d) {
    EXPECT_FALSE(tracks_.contains(d.uuid())) << "uuid used twice";
    TrackInfo info{d.has_process() ? d.process().process_name() : d.name(), d.counter().unit_name(), d.parent_uuid()};
    EXPECT_TRUE(info.parent == 0 || tracks_.contains(info.parent));
    EXPECT_TRUE(!d.has_process() || (pids_.insert(d.process().pid()).second && d.process().pid() > 0));
    track_names.push_back(info.name);
    tracks_[d.uuid()] = info;
  }

  static void add(std::map<std::uint64_t, std::string>& to,
                  const google::protobuf::RepeatedPtrField<schema::InternedText>& from) {
    for (const auto& t : from) {
      EXPECT_NE(t.iid(), 0u);
      EXPECT_TRUE(to.emplace(t.iid(), t.name()).second);
    }
  }
  void learn(const schema::InternedData& d) {
    add(names_, d.event_names());
    add(categories_, d.event_categories());
    add(keys_, d.debug_annotation_names());
    add(values_, d.debug_annotation_string_values());
  }

  void event(const schema::TracePacket& p) {
    const schema::TrackEvent& e = p.track_event();
    ASSERT_TRUE(tracks_.contains(e.track_uuid()));
    Event out{p.timestamp(), e.type(), e.track_uuid(), {}, e.double_counter_value()};
    if (e.has_name_iid()) out.seen.name = names_.at(e.name_iid());
    for (const auto c : e.category_iids()) out.seen.category = categories_.at(c);
    out.seen.flows.assign(e.flow_ids().begin(), e.flow_ids().end());
    out.seen.ended_flows.assign(e.terminating_flow_ids().begin(), e.terminating_flow_ids().end());
    for (const auto& a : e.debug_annotations())
      out.seen.args[keys_.at(a.name_iid())] = values_.at(a.string_value_iid());
    events_.push_back(out);
  }

  void play(const Event& e) {
    const TrackInfo& track = tracks_.at(e.track);
    const std::string process = tracks_.at(track.parent).name;
    if (e.type == schema::TrackEvent::TYPE_COUNTER)
      samples.push_back({process, track.name, track.unit, e.time, e.value});
    if (e.type == schema::TrackEvent::TYPE_SLICE_BEGIN) {
      slices.push_back(e.seen);
      slices.back().process = process;
      slices.back().track = track.name;
      slices.back().start = e.time;
      open_[e.track].push_back(slices.size() - 1);
    }
    if (e.type == schema::TrackEvent::TYPE_SLICE_END) {
      ASSERT_FALSE(open_[e.track].empty()) << "an end without a begin at " << e.time;
      slices[open_[e.track].back()].end = e.time;
      open_[e.track].pop_back();
    }
  }

  std::map<std::uint64_t, TrackInfo> tracks_;
  std::set<int> pids_;
  std::map<std::uint64_t, std::string> names_, categories_, keys_, values_;
  std::map<std::uint64_t, std::vector<std::size_t>> open_;
  std::vector<Event> events_;
};

class PerfettoWriter : public testing::Test {
 protected:
  void SetUp() override { dir_ = test::scratch_dir("perfetto_writer"); }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  static std::string text_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  Reader written(const SliceSource& source) const {
    const auto result = write_timeline(source, path("t.pftrace"));
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
    schema::Trace trace;
    EXPECT_TRUE(trace.ParseFromString(text_of(path("t.pftrace"))));
    return Reader(trace);
  }
  std::string dir_;
};

/// Two ranks, two threads each, a flow between their transfers, a counter of rank 1. Rank 0 is process 0, which
/// Perfetto keeps for itself.
SliceSource two_ranks_of_perfetto() {
  SliceSource source;
  source.tracks = {
      {0, 1, "rank 0", "compute"}, {0, 2, "rank 0", "comm"}, {1, 1, "rank 1", "compute"}, {1, 2, "rank 1", "comm"}};
  source.for_each = [](const std::function<void(const Slice&)>& sink) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      sink({.track = 2 * rank,
            .name = "gemm",
            .category = "forward",
            .start_ps = 0,
            .duration_ps = 1'500'001,
            .args = {{"op", "gemm 1x2x3"}}});
      sink({.track = 2 * rank + 1,
            .name = "all_reduce",
            .category = "gradient_sync",
            .start_ps = 1'500'001,
            .duration_ps = 7'000,
            .flow = 42,
            .flow_place = rank == 0 ? FlowPlace::first : FlowPlace::last});
    }
  };
  source.counters = {{1, "link use", "GB/s"}};
  source.for_each_sample = [](const auto& sink) {
    sink({0, 1'500'001, 12.5});
    sink({0, 1'507'001, 0});
  };
  return source;
}

TEST_F(PerfettoWriter, SlicesTracksFlowsAndArgsComeBack) {
  const Reader r = written(two_ranks_of_perfetto());
  EXPECT_EQ(r.track_names,
            (std::vector<std::string>{"rank 0", "compute", "comm", "rank 1", "compute", "comm", "link use"}));
  ASSERT_EQ(r.slices.size(), 4u);
  std::map<std::pair<std::string, std::string>, Seen> by_track;
  for (const Seen& s : r.slices) by_track[{s.process, s.track}] = s;
  const Seen& gemm = by_track.at({"rank 1", "compute"});
  EXPECT_EQ(gemm.name, "gemm");
  EXPECT_EQ(gemm.category, "forward");
  EXPECT_EQ(gemm.start, 0u);
  EXPECT_EQ(gemm.end, 1500u);  // 1,500,001 ps, rounded down
  EXPECT_EQ(gemm.args, (std::map<std::string, std::string>{{"op", "gemm 1x2x3"}}));
  EXPECT_EQ(by_track.at({"rank 0", "comm"}).flows, std::vector<std::uint64_t>{42});
  EXPECT_EQ(by_track.at({"rank 1", "comm"}).ended_flows, std::vector<std::uint64_t>{42});
}

TEST_F(PerfettoWriter, CountersComeBack) {
  const Reader r = written(two_ranks_of_perfetto());
  ASSERT_EQ(r.samples.size(), 2u);
  EXPECT_EQ(r.samples[0].process, "rank 1");
  EXPECT_EQ(r.samples[0].counter, "link use");
  EXPECT_EQ(r.samples[0].unit, "GB/s");
  EXPECT_EQ(r.samples[0].time, 1500u);
  EXPECT_DOUBLE_EQ(r.samples[0].value, 12.5);
  EXPECT_DOUBLE_EQ(r.samples[1].value, 0);
}

/// Slices that nest, touch or have no length keep their ends, whatever nanosecond they fall into.
TEST_F(PerfettoWriter, NestedAndTouchingSlicesKeepTheirEnds) {
  struct S {
    const char* name;
    std::int64_t start, duration;
  };
  const std::vector<S> slices{{"outer", 0, 10'400},        {"first", 0, 4'900},    {"second", 4'900, 5'500},
                              {"within second", 5'000, 0}, {"after", 10'400, 300}, {"empty", 10'700, 0},
                              {"last", 10'700, 5'000}};
  SliceSource source;
  source.tracks = {{0, 0, "rank 0", "host"}};
  source.for_each = [&](const auto& sink) {
    for (const S& s : slices) sink(Slice{.track = 0, .name = s.name, .start_ps = s.start, .duration_ps = s.duration});
  };
  const Reader r = written(source);
  ASSERT_EQ(r.slices.size(), slices.size());
  for (const S& s : slices) {
    const auto it =
        std::find_if(r.slices.begin(), r.slices.end(), [&](const Seen& seen) { return seen.name == s.name; });
    ASSERT_NE(it, r.slices.end()) << s.name;
    EXPECT_EQ(it->start, std::uint64_t(s.start / 1000)) << s.name;
    EXPECT_EQ(it->end, std::uint64_t((s.start + s.duration) / 1000)) << s.name;
  }
}

TEST_F(PerfettoWriter, HostileNamesBecomeUtf8) {
  const std::string hostile = std::string("\"},{\\ \n\t\0 </script>", 19) + "\xff \xc3\xa9";
  SliceSource source;
  source.tracks = {{0, 0, hostile, hostile}};
  source.for_each = [&](const auto& sink) {
    sink(Slice{.track = 0, .name = hostile, .category = hostile, .duration_ps = 1, .args = {{hostile, hostile}}});
  };
  const Reader r = written(source);
  const std::string expected = hostile.substr(0, 19) + "\xEF\xBF\xBD \xc3\xa9";
  EXPECT_EQ(r.slices.at(0).name, expected);
  EXPECT_EQ(r.slices.at(0).process, expected);
  EXPECT_EQ(r.slices.at(0).args.at(expected), expected);
}

TEST_F(PerfettoWriter, GzipHoldsTheSameBytes) {
  ASSERT_TRUE(write_timeline(two_ranks_of_perfetto(), path("t.pftrace")).ok());
  ASSERT_TRUE(write_timeline(two_ranks_of_perfetto(), path("t.pftrace.gz")).ok());
  gzFile file = gzopen(path("t.pftrace.gz").c_str(), "rb");
  std::string out(1 << 16, '\0');
  out.resize(static_cast<std::size_t>(gzread(file, out.data(), 1 << 16)));
  gzclose(file);
  EXPECT_EQ(out, text_of(path("t.pftrace")));
}

TEST_F(PerfettoWriter, TimesBeforeZeroAreRefusedAndNothingIsWritten) {
  SliceSource source;
  source.tracks = {{0, 0, "rank 0", "compute"}};
  source.for_each = [](const auto& sink) {
    sink(Slice{.track = 0, .name = "early", .start_ps = -1, .duration_ps = 5});
  };
  const auto result = write_timeline(source, path("t.pftrace"));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().text().find("before 0"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
}

TEST_F(PerfettoWriter, EndingOfTheNameChoosesTheFormat) {
  EXPECT_TRUE(is_perfetto_path("a.pftrace"));
  EXPECT_TRUE(is_perfetto_path("a.pftrace.gz"));
  EXPECT_TRUE(is_perfetto_path("a.perfetto-trace"));
  EXPECT_FALSE(is_perfetto_path("a.json"));
  EXPECT_FALSE(is_perfetto_path("a.pftrace.json.gz"));
  for (const std::string good : {"a.pftrace", "a.perfetto-trace.gz", "a.json", "a.json.gz", "-"})
    EXPECT_TRUE(check_timeline_path("--t", good).ok()) << good;
  for (const std::string bad : {"a.foo", "json", "a.json.zip", "a", ".gz"}) {
    const auto checked = check_timeline_path("--t", bad);
    ASSERT_FALSE(checked.ok()) << bad;
    EXPECT_NE(checked.error().text().find(".pftrace, .pftrace.gz, .json or .json.gz"), std::string::npos);
  }
}

/// Measured and predicted in one file: names tell them apart, flows do not meet, clocks are shifted.
TEST_F(PerfettoWriter, SideBySideKeepsPartsApart) {
  const Reader r = written(
      side_by_side({{"measured", two_ranks_of_perfetto(), 1'000'000}, {"predicted", two_ranks_of_perfetto(), 0}}));
  ASSERT_EQ(r.slices.size(), 8u);
  std::map<std::string, std::set<std::uint64_t>> flows, starts;
  for (const Seen& s : r.slices) {
    const std::string part = s.process.substr(0, s.process.find(' '));
    flows[part].insert(s.flows.begin(), s.flows.end());
    flows[part].insert(s.ended_flows.begin(), s.ended_flows.end());
    if (s.name == "gemm") starts[part].insert(s.start);
  }
  ASSERT_EQ(flows["measured"].size(), 1u);
  ASSERT_EQ(flows["predicted"].size(), 1u);
  EXPECT_NE(flows["measured"], flows["predicted"]);
  EXPECT_EQ(starts["measured"], std::set<std::uint64_t>{1000});
  EXPECT_EQ(starts["predicted"], std::set<std::uint64_t>{0});
  EXPECT_EQ(r.samples.size(), 4u);
  EXPECT_EQ(r.samples.back().time, 2507u);
}

/// Memory stays flat over many slices, even where every one has a name of its own (the interned texts are let go in
/// between).
TEST_F(PerfettoWriter, ManySlicesInFlatMemory) {
  constexpr int kSlices = 300'000;
  SliceSource source;
  source.tracks = {{0, 0, "rank 0", "compute"}};
  source.for_each = [](const auto& sink) {
    std::string name;
    for (int i = 0; i < kSlices; ++i) {
      name = "kernel " + std::to_string(i);
      sink(Slice{.track = 0, .name = name, .category = "forward", .start_ps = i * 1000LL, .duration_ps = 999});
    }
  };
  const long before = test::peak_kib();
  ASSERT_TRUE(write_timeline(source, path("big.pftrace")).ok());
  EXPECT_LT(test::peak_kib() - before, (test::has_address_sanitizer() ? 96 : 48) * 1024);
  schema::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(text_of(path("big.pftrace"))));
  const Reader r(trace);
  ASSERT_EQ(r.slices.size(), std::size_t{kSlices});
  EXPECT_GT(r.state_clears, 1);
  for (int i : {0, 1, 77'777, kSlices - 1}) EXPECT_EQ(r.slices[std::size_t(i)].name, "kernel " + std::to_string(i));
}

/// Repeated names cost their number only: about 36 bytes a slice.
TEST_F(PerfettoWriter, RepeatedNamesAreSmall) {
  SliceSource source;
  source.tracks = {{0, 0, "rank 0", "compute"}};
  source.for_each = [](const auto& sink) {
    for (int i = 0; i < 10'000; ++i)
      sink(Slice{.track = 0,
                 .name = "gemm 2048x1024x480",
                 .category = "forward",
                 .start_ps = i * 1'000'000LL,
                 .duration_ps = 999});
  };
  ASSERT_TRUE(write_timeline(source, path("t.pftrace")).ok());
  EXPECT_LT(std::filesystem::file_size(path("t.pftrace")), 10'000u * 60);
}

TEST_F(PerfettoWriter, FullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_FALSE(write_timeline(two_ranks_of_perfetto(), "/dev/full").ok());
}

}  // namespace
}  // namespace distsim::traces
