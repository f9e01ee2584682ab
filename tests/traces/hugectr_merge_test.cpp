// Several hosts as one answer, several runs beside each other.
#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "kineto_text.hpp"
#include "traces/hugectr/hugectr_text.hpp"
#include "traces/trace_reader.hpp"
#include "traces/verdict.hpp"

namespace distsim::traces {
namespace {

HugectrTimedEvent event(const std::string& label, double start_ms, double duration_ms, std::uint32_t repetitions = 50) {
  HugectrTimedEvent e;
  e.label = label;
  e.start_ms = e.median_start_ms = start_ms;
  e.duration_ms = e.median_duration_ms = duration_ms;
  e.repetitions = repetitions;
  return e;
}

HugectrHost host(const std::string& name, double iteration_ms, std::vector<HugectrTimedEvent> events) {
  HugectrHost h{name, true, iteration_ms, iteration_ms, {}};
  h.timeline[0][0] = std::move(events);
  return h;
}

std::string all(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& n : notes) out += n + "\n";
  return out;
}

/// fprop: 0.3 and 0.6 ms: mean 0.45, maximum 0.6 on b. The GEMM lies within it and is no bar of its own.
TEST(HugectrMerge, HostsBecomeOneAnswer) {
  HugectrTimedEvent gemm = event("fprop.gemm", 1.1, 0.1);
  gemm.level = 1;
  const std::vector<HugectrHost> hosts{host("a", 2, {event("fprop", 1, 0.3), gemm}),
                                       host("b", 4, {event("fprop", 1.2, 0.6), gemm})};
  const HugectrJob job = merge_hugectr_hosts(hosts);
  EXPECT_DOUBLE_EQ(job.iteration_ms, 3);
  EXPECT_DOUBLE_EQ(job.slowest_iteration_ms, 4);
  EXPECT_EQ(job.slowest_host, "b");
  EXPECT_EQ(job.devices, 2u);
  ASSERT_EQ(job.summaries.size(), 2u);
  EXPECT_EQ(job.summaries[0].label, "fprop");
  EXPECT_EQ(job.summaries[0].hosts, 2u);
  EXPECT_DOUBLE_EQ(job.summaries[0].start_ms, 1);
  EXPECT_NEAR(job.summaries[0].mean_ms, 0.45, 1e-12);
  EXPECT_DOUBLE_EQ(job.summaries[0].max_ms, 0.6);
  EXPECT_EQ(job.summaries[0].slowest_host, "b");
  EXPECT_TRUE(job.notes.empty()) << all(job.notes);
  EXPECT_EQ(hugectr_scaling_csv({{"two nodes", job}}),
            "run,label,mean_ms,max_ms\ntwo nodes,iteration,3.000,4.000\ntwo nodes,fprop,0.450,0.600\n");
  EXPECT_EQ(hugectr_job_csv(job),
            "label,hosts,streams,outer,start_ms,mean_ms,max_ms,slowest_host,slowest_device\n"
            "iteration,,,,,3.0000,4.0000,b,\n"
            "fprop,2,2,yes,1.0000,0.4500,0.6000,b,0\nfprop.gemm,2,2,no,1.1000,0.1000,0.1000,a,0\n");
}

/// The second GPU of b was not recorded, and c ran past the median iteration.
TEST(HugectrMerge, WhatAHostLacksIsNoted) {
  std::vector<HugectrHost> hosts{host("a", 2, {event("fprop", 1, 0.3)}), host("b", 2, {event("fprop", 1, 0.3)})};
  hosts[0].timeline[1][1] = {event("fprop", 40, 0.3)};
  EXPECT_EQ(all(merge_hugectr_hosts(hosts).notes),
            "without 1 of 3 events in the iteration (of 2 ms; it begins up to 40 ms after its start, in longer ones)\n"
            "without 1 of the 2 GPUs of host b\n");
}

/// GPUs of a host do the same; of two it is not known which of them is right.
TEST(HugectrMerge, WhatOneGpuLacksIsNoted) {
  std::vector<HugectrHost> hosts{host("a", 2, {event("fprop", 1, 0.3), event("bprop", 1.4, 0.3)})};
  hosts[0].timeline[1] = hosts[0].timeline[2] = hosts[0].timeline[0];
  EXPECT_EQ(all(merge_hugectr_hosts(hosts).notes), "");
  hosts[0].timeline[1][0].pop_back();
  EXPECT_EQ(all(merge_hugectr_hosts(hosts).notes), "without 1 event of GPU 1 of host a that its other GPUs have\n");
  hosts[0].timeline.erase(1);
  EXPECT_EQ(all(merge_hugectr_hosts(hosts).notes),
            "host a has no GPU 1, but GPU 2: did the run leave out 1 GPU, or does the file?\n");
}

/// Iterations in seconds, say, beside events in milliseconds.
TEST(HugectrMerge, IterationsFarLongerThanTheirEventsAreNoted) {
  const HugectrJob job = merge_hugectr_hosts({host("a", 3000, {event("fprop", 1, 1), event("bprop", 2, 1.65)}),
                                              host("b", 200, {event("fprop", 1, 1), event("bprop", 2, 1.65)})});
  EXPECT_EQ(
      all(job.notes),
      "host a: found iterations of 3 s, in which most events end within 2.65 ms: are all times in milliseconds?\n");
}

/// Each event is timed once in an iteration, so that there are as many.
TEST(HugectrMerge, FewerIterationsThanAnEventWasTimedInAreNoted) {
  HugectrHost few = host("a", 3, {event("fprop", 1, 1, 50)});
  for (const auto& [iterations, text] :
       {std::pair(std::size_t{1},
                  "host a: found the times of 1 iteration, where an event was timed in 50: their median "
                  "may not be that of the run\n"),
        {49,
         "host a: found the times of 49 iterations, where an event was timed in 50: their median may not be that of "
         "the run\n"},
        {50, ""},
        {3200, ""}}) {
    few.iterations = iterations;
    EXPECT_EQ(all(merge_hugectr_hosts({few}).notes), text);
  }
}

/// An event of an iteration that was far longer than most does not hide it.
TEST(HugectrMerge, OneLateEventDoesNotHideIterationsInAnotherUnit) {
  const std::vector<HugectrTimedEvent> events{event("fprop", 1, 1), event("bprop", 2, 1.65), event("exchange", 40, 1)};
  EXPECT_EQ(all(merge_hugectr_hosts({host("a", 3010, events)}).notes),
            "host a: found iterations of 3.01 s, in which most events end within 2.65 ms: are all times in "
            "milliseconds?\n");
  const std::string one_unit = all(merge_hugectr_hosts({host("a", 3.01, events)}).notes);
  EXPECT_EQ(one_unit.find("are all times"), std::string::npos) << one_unit;
}

/// The mean is over the hosts that have times of iterations.
TEST(HugectrMerge, HostsWithoutIterationTimesAreNotCounted) {
  std::vector<HugectrHost> hosts{host("a", 4, {event("fprop", 1, 1)}), host("b", 0, {event("fprop", 1, 1)}),
                                 host("c", 2, {event("fprop", 1, 1)})};
  const auto first_line = [&] {
    const std::string text = hugectr_job_text(hosts, merge_hugectr_hosts(hosts), 1);
    return text.substr(0, text.find('\n'));
  };
  hosts[1].has_iterations = false;
  EXPECT_EQ(
      first_line(),
      "iteration 3.000 ms: mean of the medians of 2 (with times of iterations) of 3 hosts, 3 devices, 3 streams, 3 "
      "events");
  hosts[0].has_iterations = false;
  EXPECT_EQ(first_line().find("iteration 2.000 ms: median of 1 (with times of iterations) of 3 hosts"), 0u);
  hosts[2].has_iterations = false;
  EXPECT_EQ(first_line().find("iteration not timed: 3 hosts"), 0u);
}

/// `profile` and `replay` read the same as `hugectr timeline`.
TEST(HugectrMerge, WhatAHostLacksIsMissingFromTheTrace) {
  const std::string event =
      R"({"layer_name": "fc", "name": "fprop", "stream": "0x1", "measured_times_ms": [0.3], "start_index": 0, )"
      R"("end_index": 1, )";
  const auto result = [&](const std::string& name, const std::string& events) {
    return R"({"host_name": ")" + name + R"(", "iter_time_ms": [2, 2, 200], "events": [)" + events + "]}";
  };
  const std::string first = event + R"("iter_start_to_event_start_times_ms": [1], "device_id": 0})",
                    second = event + R"("iter_start_to_event_start_times_ms": [40], "device_id": 1})";
  const std::string folder = test::scratch_dir("hugectr_merge");
  const auto job = read_traces({test::write(folder, "a.prof.json", result("a", first + ", " + second)),
                                test::write(folder, "b.prof.json", result("b", first))});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(
      verdict_of(*job),
      "partial, without 1 of 3 events in the iteration (of 2 ms; it begins up to 40 ms after its start, in longer "
      "ones); 1 of the 2 GPUs of host b");
}

/// The second of three GPUs lacks an event, and then is not there.
TEST(HugectrMerge, WhatOneGpuLacksIsMissingFromTheTrace) {
  const auto event = [](int gpu, const std::string& name) {
    return R"({"layer_name": "fc", "name": ")" + name + R"(", "stream": "0x1", "measured_times_ms": [0.3], )" +
           R"("start_index": )" + (name == "fprop" ? "0" : "2") + R"(, "end_index": )" + (name == "fprop" ? "1" : "3") +
           R"(, "iter_start_to_event_start_times_ms": [)" + (name == "fprop" ? "1" : "1.5") + R"(], "device_id": )" +
           std::to_string(gpu) + "}";
  };
  const std::string folder = test::scratch_dir("hugectr_gpus");
  const auto read = [&](const std::string& events) {
    return read_traces({test::write(folder, "a.prof.json",
                                    R"({"host_name": "a", "iter_time_ms": [2, 2, 2], "events": [)" + events + "]}")});
  };
  const std::string outer =
      event(0, "fprop") + "," + event(0, "bprop") + "," + event(2, "fprop") + "," + event(2, "bprop");
  const auto one_less = read(outer + "," + event(1, "fprop")), without = read(outer);
  ASSERT_TRUE(one_less.ok()) << one_less.error().text();
  ASSERT_TRUE(without.ok()) << without.error().text();
  EXPECT_EQ(verdict_of(*one_less), "partial, without 1 event of GPU 1 of host a that its other GPUs have");
  const std::vector<std::string>& notes = without->ranks.at(0).notes.assumptions;
  EXPECT_NE(std::ranges::find(notes, "host a has no GPU 1, but GPU 2: did the run leave out 1 GPU, or does the file?"),
            notes.end());
}

TEST(HugectrMerge, HostsThatCannotHaveWaitedForEachOtherAreRefused) {
  const auto checked = check_hugectr_hosts({host("a", 3, {}), host("b", 3000, {}), host("c", 4, {})});
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().what,
            "found iterations of 3000.000 ms on 'b' and of 3.000 ms on 'a', expected hosts of one run, which wait for "
            "each other");
  EXPECT_TRUE(check_hugectr_hosts({host("a", 2, {}), host("b", 4, {})}).ok()) << "recorded at other times";
}

TEST(HugectrMerge, AnUnknownIterationIsNone) {
  HugectrHost a = host("a", 0, {event("fprop", 0, 0.3)});
  a.has_iterations = false;
  const HugectrJob job = merge_hugectr_hosts({a}, {});
  EXPECT_NE(hugectr_job_csv(job).find("\niteration,,,,,,,a,\n"), std::string::npos) << hugectr_job_csv(job);
  EXPECT_NE(hugectr_timeline_json({a}).find("\"avg_iter_time_ms\": null"), std::string::npos);
  EXPECT_TRUE(check_hugectr_hosts({a, host("b", 2, {event("fprop", 0, 0.3)})}).ok());
}

TEST(HugectrMerge, OneHostTwiceIsRefused) {
  const std::vector<HugectrHost> twice{host("a", 2, {event("x", 0, 1)}), host("a", 2, {event("x", 0, 1)})};
  const auto checked = check_hugectr_hosts(twice);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().what, "found a second result of host 'a', expected one for each host of a run");
  EXPECT_TRUE(check_hugectr_hosts({twice[0], host("b", 2, {})}).ok());
}

TEST(HugectrMerge, WhatIsMissingIsSaid) {
  const std::vector<HugectrHost> hosts{host("a", 2, {event("x", 0, 1), event("y", 1, 1)}),
                                       host("b", 2, {event("x", 0, 1)})};
  EXPECT_EQ(all(merge_hugectr_hosts(hosts, {{"l", "z", 0}}).notes),
            "host b has no y; means and maxima are those of the hosts that do\n"
            "never seen on any host, though the event list has it: l.z\n");
}

/// The profiler stops by itself once every event was timed as often as asked: fewer repetitions are a run cut short.
TEST(HugectrMerge, ARecordingCutShortIsSaid) {
  const std::vector<HugectrHost> hosts{host("a", 2, {event("x", 0, 1, 50), event("y", 1, 1, 3)})};
  EXPECT_EQ(all(merge_hugectr_hosts(hosts).notes),
            "host a timed y fewer than 50 times (down to 3): the run ended before the recording did\n");
}

/// The longest bar is 60 characters: the iteration of the second run.
TEST(HugectrMerge, ScalingHasABarForEachRun) {
  const std::vector<HugectrRun> runs{
      {"one", merge_hugectr_hosts({host("a", 1, {event("x", 0, 0.5)})})},
      {"two", merge_hugectr_hosts({host("a", 2, {event("x", 0, 1), event("y", 1, 1)})})}};
  const std::string text = hugectr_scaling_text(runs);
  EXPECT_NE(text.find("iteration                2.000  " + std::string(60, '#') + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("iteration                1.000  " + std::string(30, '#') + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("0.500 / 0.500        1.000 / 1.000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("-        1.000 / 1.000\n"), std::string::npos) << text;
}

TEST(HugectrMerge, ThePageHasEachEventOfEachRun) {
  const auto page = nlohmann::json::parse(hugectr_scaling_json(
      {{"one", merge_hugectr_hosts({host("a", 1, {event("x", 0, 0.5)})})},
       {"<two>", merge_hugectr_hosts({host("a", 2, {event("x", 0, 1), event("</td>&", 1, 1)})})}}));
  EXPECT_EQ(page["kind"], "hugectr");
  EXPECT_EQ(page["runs"][1]["name"], "<two>");
  EXPECT_EQ(page["runs"][1]["iteration_ms"], 2);
  ASSERT_EQ(page["events"].size(), 2u);
  EXPECT_EQ(page["events"][0]["label"], "x");
  EXPECT_EQ(page["events"][0]["mean_ms"], nlohmann::json::parse("[0.5, 1]"));
  EXPECT_EQ(page["events"][1]["label"], "</td>&");
  EXPECT_EQ(page["events"][1]["max_ms"], nlohmann::json::parse("[null, 1]"));
}

}  // namespace
}  // namespace distsim::traces
