#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "base/json/json.hpp"
#include "test_data.hpp"
#include "test_paths.hpp"
#include "traces/hugectr/hugectr_charts.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::traces {
namespace {

class Hugectr : public testing::Test {
 protected:
  void SetUp() override { dir_ = test::scratch_dir("hugectr"); }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ + "/" + name) << text;
    return dir_ + "/" + name;
  }
  std::string dir_;
};

/// The order table of the profiler's script (early 2021): fc1..fc3 share an event name, fc8 has one of its own.
constexpr const char* kEvents = R"(
BottomMLP.fc1: {forward_events: [fused.fprop], backward_events: [fused.bprop]}
BottomMLP.fc2: {forward_events: [fused.fprop], backward_events: [fused.bprop]}
TopMLP.fc8: {forward_events: [fully.fprop], backward_events: [fully.bprop]}
)";

TEST_F(Hugectr, OrderCountsEqualNamesForwardAndBackward) {
  const auto events = read_hugectr_events(file("events.yaml", kEvents));
  ASSERT_TRUE(events.ok()) << events.error().text();
  const std::vector<HugectrEvent> expected{{"BottomMLP.fc1", "fused.fprop", 0}, {"BottomMLP.fc2", "fused.fprop", 1},
                                           {"TopMLP.fc8", "fully.fprop", 0},    {"TopMLP.fc8", "fully.bprop", 0},
                                           {"BottomMLP.fc2", "fused.bprop", 0}, {"BottomMLP.fc1", "fused.bprop", 1}};
  EXPECT_EQ(*events, expected);
}

/// JSON, as the script took it, is YAML too.
TEST_F(Hugectr, ListsMayBeJson) {
  const auto events =
      read_hugectr_events(file("events.json", R"({"fc1": {"forward_events": ["a"], "backward_events": ["b"]}})"));
  ASSERT_TRUE(events.ok()) << events.error().text();
  EXPECT_EQ(events->size(), 2u);
}

TEST_F(Hugectr, ScheduleRepeatsEveryEventFromTheWarmUpOn) {
  EXPECT_EQ(hugectr_schedule_text({{"fc1", "fused.fprop", 0}, {"fc2", "fused.fprop", 1}}, 10, 2),
            "10\nfused.fprop 11 fc1 0\nfused.fprop 12 fc1 0\nfused.fprop 13 fc2 1\nfused.fprop 14 fc2 1");
  EXPECT_EQ(hugectr_events_text({{"fc1", "fused.fprop", 0}, {"fc2", "fused.fprop", 1}, {"l", "update", 0}}),
            "fused.fprop\nupdate\n");
}

TEST_F(Hugectr, BrokenListsAreRefusedWithTheirPosition) {
  const auto refusal = [&](const std::string& text) {
    const auto events = read_hugectr_events(file("bad.yaml", text));
    return events.ok() ? std::string("accepted") : events.error().text();
  };
  EXPECT_NE(refusal("fc1: {forwards: [a]}")
                .find("bad.yaml:1:7: fc1: found the key 'forwards', expected forward_events or backward_events"),
            std::string::npos)
      << refusal("fc1: {forwards: [a]}");
  EXPECT_NE(refusal("fc1: {forward_events: ['a b']}").find("expected a name without spaces"), std::string::npos);
  EXPECT_NE(refusal("fc1: {forward_events: a}").find("expected a list"), std::string::npos);
  for (const char* end : {"start", "stop"}) {
    EXPECT_NE(refusal("fc1: {forward_events: [f.fprop." + std::string(end) + "]}")
                  .find("found the label 'f.fprop." + std::string(end) + "', expected the name of an event, 'f.fprop'"),
              std::string::npos);
  }
  EXPECT_EQ(refusal("fc1: {forward_events: [f.start.fprop, start]}"), "accepted");
  EXPECT_NE(refusal("[a]").find("expected a map of layers"), std::string::npos);
  EXPECT_NE(refusal("").find("found no event"), std::string::npos);
}

/// Two devices; the GEMM (3..4) lies within fprop (2..5).
constexpr const char* kFirstGeneration = R"({"host_name": "luna-1", "iter_time_ms": [2, 3, 10], "events": [
  {"device_id": 0, "stream": "0xa", "start_index": 2, "end_index": 5, "measured_times_ms": [0.2, 0.4], "iter_start_to_event_start_times_ms": [1, 1], "layer_name": "fc1", "name": "fprop", "same_name_events_occured_order_in_code": 0},
  {"device_id": 0, "stream": "0xa", "start_index": 3, "end_index": 4, "measured_times_ms": [0.1], "iter_start_to_event_start_times_ms": [1.1], "layer_name": "fc1", "name": "fprop.gemm", "same_name_events_occured_order_in_code": 0},
  {"device_id": 1, "stream": "0xb", "start_index": 0, "end_index": 1, "measured_times_ms": [0.5, 0.7], "iter_start_to_event_start_times_ms": [0.9, 1.1], "layer_name": "fc1", "name": "fprop", "same_name_events_occured_order_in_code": 0}]})";

TEST_F(Hugectr, ResultsBecomeHostsDevicesAndStreams) {
  const auto host = read_hugectr_profile(file("luna-1.prof.json", kFirstGeneration));
  ASSERT_TRUE(host.ok()) << host.error().text();
  EXPECT_DOUBLE_EQ(host->avg_iter_time_ms, 5);
  EXPECT_DOUBLE_EQ(host->median_iter_time_ms, 3);
  const auto json = nlohmann::json::parse(hugectr_timeline_json({*host}));
  EXPECT_EQ(json[0]["host_name"], "luna-1");
  const auto& device0 = json[0]["timeline"]["device_0"]["stream_0"];
  ASSERT_EQ(device0.size(), 2u);
  EXPECT_EQ(device0[0]["label"], "fc1.fprop");
  EXPECT_NEAR(device0[0]["avg_measured_time_ms"].get<double>(), 0.3, 1e-12);
  EXPECT_EQ(device0[1]["label"], "fc1.fprop.gemm");
  EXPECT_EQ(json[0]["timeline"]["device_1"]["stream_1"][0]["start_index"], 0);  // streams are numbered over the host
  EXPECT_DOUBLE_EQ(json[0]["timeline"]["device_1"]["stream_1"][0]["avg_iter_start_to_event_start_time_ms"], 1.0);
}

/// Releases have no layer names: place in the stream and the list of events give them back.
TEST_F(Hugectr, SecondGenerationTakesLayersFromTheList) {
  const std::string path = file("h.prof.json", R"({"host_name": "h", "iter_time_ms": [2], "events": [
    {"device_id": 0, "stream": "0xa", "start_index": 0, "end_index": 1, "measured_times_ms": [1], "iter_start_to_event_start_times_ms": [0], "event_name": "fused.fprop", "met_times_within_this_stream": 1},
    {"device_id": 0, "stream": "0xa", "start_index": 2, "end_index": 3, "measured_times_ms": [1], "iter_start_to_event_start_times_ms": [0], "event_name": "update", "met_times_within_this_stream": 0}]})");
  const auto bare = read_hugectr_profile(path);
  EXPECT_EQ(bare->timeline.at(0).at(0)[0].label, "fused.fprop#1");
  EXPECT_EQ(bare->timeline.at(0).at(0)[1].label, "update");
  const auto events = read_hugectr_events(file("events.yaml", kEvents));
  EXPECT_EQ(read_hugectr_profile(path, *events)->timeline.at(0).at(0)[0].label, "BottomMLP.fc2.fused.fprop");
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

/// Scale of the timeline: 990 pixels for the last moment, 3 ms (the iteration's median): device 0's fprop starts at 190
/// + 330 and is 99 pixels long.
TEST_F(Hugectr, ChartsAreSvgWithEveryEvent) {
  const auto host = read_hugectr_profile(file("luna-1.prof.json", kFirstGeneration));
  const std::string timeline = hugectr_timeline_svg({*host});
  EXPECT_EQ(count(timeline, "<title>"), 4u);  // three events and the iteration
  EXPECT_NE(timeline.find("x=\"520.000\" y=\"37.000\" width=\"99.000\" height=\"12.000\""), std::string::npos)
      << timeline;
  EXPECT_NE(timeline.find("luna-1 device 1 stream 1"), std::string::npos);
  EXPECT_NE(timeline.find("Whole Iteration"), std::string::npos);
  const std::string scaling =
      hugectr_scaling_svg({{"a", merge_hugectr_hosts({*host})}, {"b", merge_hugectr_hosts({*host})}});
  EXPECT_EQ(count(scaling, "iteration 3.000 ms"), 2u);
  EXPECT_EQ(count(scaling, "mean 0.450 ms"), 2u);
  EXPECT_EQ(count(scaling, "maximum 0.600 ms"), 2u);
}

TEST_F(Hugectr, HostileNamesStayText) {
  std::string text = kFirstGeneration;
  text.replace(text.find("luna-1"), 6, "</svg><script>\\u0007&\\\"");
  const auto host = read_hugectr_profile(file("x.json", text));
  ASSERT_TRUE(host.ok());
  const std::string svg = hugectr_timeline_svg({*host});
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
  EXPECT_EQ(count(svg, "</svg>"), 1u);
  EXPECT_EQ(svg.find('\x07'), std::string::npos);
}

TEST_F(Hugectr, BrokenResultsAreRefused) {
  const auto refusal = [&](const std::string& text) {
    const auto host = read_hugectr_profile(file("bad.json", text));
    return host.ok() ? std::string("accepted") : host.error().text();
  };
  EXPECT_NE(refusal("{").find("found no JSON"), std::string::npos);
  EXPECT_NE(refusal("[]").find("expected an object"), std::string::npos);
  EXPECT_NE(refusal(R"({"host_name": 5})").find("host_name: a number, expected a string"), std::string::npos);
  EXPECT_NE(refusal(R"({"host_name": []})").find("host_name: an array, expected a string"), std::string::npos);
  EXPECT_NE(refusal(R"({"host_name": "", "iter_time_ms": [1]})").find("found an empty host_name"), std::string::npos);
  EXPECT_NE(refusal(R"({"host_name": "h", "iter_time_ms": [1]})").find("found no events"), std::string::npos);
  EXPECT_NE(refusal(R"({"host_name": "h", "iter_time_ms": [1], "events": [{"event_name": "a"}]})")
                .find("event 0: found no start_index"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"host_name": "h", "iter_time_ms": [1e999], "events": []})").find("found"), std::string::npos);
  for (const char* times : {"[-3]", "[0]", "[1, -1]", "[1e300]"})
    EXPECT_NE(refusal(std::string(R"({"host_name": "h", "iter_time_ms": )") + times + R"(, "events": []})")
                  .find("expected milliseconds above 0 and below 1e9"),
              std::string::npos)
        << times;
  const auto event = [&](const char* device, const char* duration, const char* start) {
    return std::string(R"({"device_id": )") + device + R"(, "stream": "0xa", "start_index": 0, "end_index": 1, )" +
           R"("measured_times_ms": [)" + duration + R"(], "iter_start_to_event_start_times_ms": [)" + start +
           R"(], "event_name": "a"})";
  };
  const auto events = [&](const std::string& list) { return R"({"host_name": "h", "events": [)" + list + "]}"; };
  EXPECT_EQ(refusal(events(event("0", "1", "0"))), "accepted");
  EXPECT_NE(refusal(events(event("0", "-1", "0"))).find("event 0: found measured_times_ms: -1"), std::string::npos);
  EXPECT_NE(refusal(events(event("0", "1", "-145"))).find("iter_start_to_event_start_times_ms: -145"),
            std::string::npos);
  const std::string turned =
      std::regex_replace(event("0", "1", "0"), std::regex(R"("start_index": 0)"), R"("start_index": 1)");
  EXPECT_NE(refusal(events(turned)).find("event 0: found end_index 1, expected more than start_index 1"),
            std::string::npos);
  EXPECT_NE(refusal(events(event("-1", "1", "0"))).find("found device_id -1"), std::string::npos);
  EXPECT_NE(refusal(events(event("1099511627776", "1", "0"))).find("found device_id 1099511627776"), std::string::npos);
  EXPECT_NE(
      refusal(events(event("0", "1", "0") + ", " + event("0", "1", "0"))).find("event 1: found 'a' a second time"),
      std::string::npos);
}

/// What no result can hold is refused in the same words by the merge of hosts and by the reader of traces.
TEST_F(Hugectr, BoundsAreThoseOfTraces) {
  const auto event = [](const std::string& name, int start_index, int end_index, const std::string& duration,
                        const std::string& device = "0") {
    return R"({"device_id": )" + device + R"(, "stream": "0xa", "start_index": )" + std::to_string(start_index) +
           R"(, "end_index": )" + std::to_string(end_index) + R"(, "measured_times_ms": )" + duration +
           R"(, "iter_start_to_event_start_times_ms": [0.5, 0.5], "event_name": ")" + name + "\"}";
  };
  const auto answers = [&](const std::string& iterations, const std::string& events) {
    const std::string path =
        file("h.prof.json", R"({"host_name": "h", "iter_time_ms": )" + iterations + R"(, "events": [)" + events + "]}");
    const auto host = read_hugectr_profile(path);
    const auto job = read_traces({path});
    const std::string merged = host.ok() ? "accepted" : host.error().text();
    EXPECT_EQ(job.ok() ? "accepted" : job.error().text(), merged);
    return merged.substr(merged.find(".prof.json") == std::string::npos ? 0 : merged.find(".prof.json") + 12);
  };
  const std::string first = event("a", 0, 1, "[1, 1.2]");
  EXPECT_EQ(answers("[3, 4]", first), "accepted");
  EXPECT_EQ(answers("[]", first), "accepted") << "no iteration was timed";
  EXPECT_EQ(answers("[3, 40]", event("a", 0, 1, "[60, 70]")), "accepted") << "within twice the upper median";
  EXPECT_EQ(answers("[3, 4]", event("a", 0, 1, "[60, 70]")),
            "event 'a': found an end 65.5 ms after its iteration began, expected at most 8 ms, twice the median of "
            "the iterations that last until it begins; are all times in milliseconds?");
  EXPECT_EQ(answers("[3, 700, 4, 3]", event("a", 0, 1, "[60, 70]")),
            "event 'a': found an end 65.5 ms after its iteration began, expected at most 8 ms, twice the median of "
            "the iterations that last until it begins; are all times in milliseconds?")
      << "one slow iteration";
  const std::string late = std::regex_replace(event("a", 0, 1, "[60, 70]"), std::regex("0\\.5, 0\\.5"), "40, 40");
  EXPECT_EQ(answers("[3, 700, 4, 3]", late), "accepted") << "it begins in the slow one";
  EXPECT_EQ(answers("[3, 0]", first), "found iter_time_ms: 0, expected milliseconds above 0 and below 1e9");
  EXPECT_EQ(answers("[3]", first + "," + event("b", 2, 3, "[1, -1]")),
            "event 1: found measured_times_ms: -1, expected milliseconds from 0 to 1e9");
  EXPECT_EQ(answers("[3]", event("a", 5, 2, "[1]")),
            "event 0: found end_index 2, expected more than start_index 5: a stop comes after its start");
  EXPECT_EQ(
      answers("[3]", event("a", 0, 1, "[1]")),
      "event 0: found 2 iter_start_to_event_start_times_ms and 1 measured_times_ms, expected as many: both are of "
      "each time");
  const std::string none =
      "found measured_times_ms of 0 in all events, expected some that take time; were the times recorded?";
  EXPECT_EQ(answers("[3, 4]", event("a", 0, 1, "[0, 0]")), none);
  EXPECT_EQ(answers("[]", event("a", 0, 1, "[0, 0]")), none);
  EXPECT_EQ(answers("[3, 4]", first + "," + event("b", 2, 3, "[0, 0]")), "accepted");
  EXPECT_EQ(answers("[3]", event("a", 0, 1, "[1]", "-1")), "event 0: found device_id -1, expected the number of a GPU");
  EXPECT_EQ(answers("[3]", first + "," + first),
            "event 1: found 'a' a second time on its stream and with its start_index, expected each event once; was "
            "the file merged with itself?");
}

/// Of a name that a stream has more often than the list, places are not those of the list.
TEST_F(Hugectr, AListOfSomeLayersIsRefused) {
  const std::string path = file("h.prof.json", R"({"host_name": "h", "iter_time_ms": [2], "events": [
    {"device_id": 0, "stream": "0xa", "start_index": 0, "end_index": 1, "measured_times_ms": [1], "iter_start_to_event_start_times_ms": [0], "event_name": "fused.bprop", "met_times_within_this_stream": 2}]})");
  const auto events = read_hugectr_events(file("events.yaml", kEvents));
  const auto host = read_hugectr_profile(path, *events);
  ASSERT_FALSE(host.ok());
  EXPECT_NE(host.error().text().find("found 'fused.bprop' 3 times on a stream, expected at most 2"), std::string::npos)
      << host.error().text();
}

/// Every prefix of a result is refused in one line, or read where only the tail of the last line is missing.
TEST_F(Hugectr, TruncatedResultsAreRefused) {
  const std::string whole = kFirstGeneration;
  for (std::size_t n = 0; n < whole.size(); n += 3) {
    const auto host = read_hugectr_profile(file("cut.json", whole.substr(0, n)));
    ASSERT_FALSE(host.ok()) << n;
    EXPECT_EQ(host.error().text().find('\n'), std::string::npos);
  }
}

/// The real sample (DGX A100, 8 GPUs): 512 events, iteration mean 57.2 ms and median 3.01 ms.
TEST_F(Hugectr, TheRealSample) {
  const auto host = read_hugectr_profile(test::data("hugectr_profiler/sample_luna-0173.prof.json"));
  ASSERT_TRUE(host.ok()) << host.error().text();
  EXPECT_NEAR(host->avg_iter_time_ms, 57.2, 0.05);
  EXPECT_NEAR(host->median_iter_time_ms, 3.01, 0.01);
  std::size_t events = 0;
  for (const auto& [device, streams] : host->timeline) {
    for (const auto& [stream, list] : streams) events += list.size();
  }
  EXPECT_EQ(events, 512u);
  EXPECT_EQ(host->timeline.size(), 8u);
  EXPECT_EQ(count(hugectr_timeline_svg({*host}), "<title>"), 513u);
  EXPECT_TRUE(read_traces({test::data("hugectr_profiler/sample_luna-0173.prof.json")}).ok());
}

}  // namespace
}  // namespace distsim::traces
