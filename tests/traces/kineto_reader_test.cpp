// Kineto traces written by hand: every vintage, what is joined, what is left out.
#include <gtest/gtest.h>

#include <algorithm>

#include "kineto_text.hpp"
#include "traces/kineto/kineto_event.hpp"
#include "traces/trace_reader.hpp"
#include "traces/trace_steps.hpp"
#include "traces/verdict.hpp"

namespace distsim::traces {
namespace {

using test::event;
using test::trace;

class KinetoTest : public testing::Test {
 protected:
  TraceJob read(const std::string& text, const TraceOptions& options = {}) {
    auto job = read_traces({test::write(folder_, "t.json", text)}, options);
    EXPECT_TRUE(job.ok()) << job.error().text();
    return job.ok() ? std::move(job).value() : TraceJob{};
  }
  std::string refusal(const std::string& text) {
    const auto job = read_traces({test::write(folder_, "t.json", text)});
    return job.ok() ? "" : job.error().text();
  }
  std::string folder_ = test::scratch_dir("kineto");
};

/// Ops of the same interval nest as they began, whatever their order in the file: an annotation, then by their ids, else by
/// name; a call of the runtime is the innermost.
TEST_F(KinetoTest, OpsOfOneIntervalNestInAnyOrder) {
  std::vector<std::string> events{
      event("cpu_op", "aten::linear", "5", "10", 10, 20, "\"External id\":1"),
      event("cpu_op", "aten::addmm", "5", "10", 10, 20, "\"External id\":2"),
      event("cuda_runtime", "cudaLaunchKernel", "5", "10", 10, 20, "\"correlation\":3"),
      event("user_annotation", "layer", "5", "10", 10, 20),
      event("cpu_op", "b", "5", "10", 50, 20),
      event("cpu_op", "a", "5", "10", 50, 20),
      event("kernel", "k", "0", "7", 40, 5, "\"device\":0,\"stream\":7,\"correlation\":3"),
  };
  for (int i = 0; i < 2; ++i) {
    const TraceJob job = read(trace(events));
    ASSERT_EQ(job.ranks.size(), 1u);
    std::string names;
    for (const HostRecord& h : job.ranks[0].host_records) names += std::string(job.name(h.name)) + " ";
    EXPECT_EQ(names, "layer aten::linear aten::addmm cudaLaunchKernel a b ");
    std::ranges::reverse(events);
  }
}

/// 30 kernels, `twice` of which are there again on another stream, started `by` us later.
std::vector<std::string> with_copies(int twice, int by, const std::string& call) {
  std::vector<std::string> events;
  for (int i = 0; i < 30; ++i) {
    const std::string id = ",\"correlation\":" + std::to_string(i + 1);
    events.push_back(event("cuda_runtime", call, "5", "10", 100 * i, 5, id.substr(1)));
    for (int copy = 0; copy < (i < twice ? 2 : 1); ++copy)
      events.push_back(event("kernel", "k", "0", std::to_string(7 + copy), 100 * i + 20 + by * copy, 50,
                             "\"device\":0,\"stream\":" + std::to_string(7 + copy) + id));
  }
  return events;
}

/// But a graph launches many.
TEST_F(KinetoTest, ALaunchIsOfOneKernel) {
  EXPECT_NE(
      refusal(trace(with_copies(10, 0, "cudaLaunchKernel")))
          .find("found 10 of 40 kernels and copies a second time, of the same name at the same time and of the same "
                "launch on another stream, expected each once"),
      std::string::npos)
      << refusal(trace(with_copies(10, 0, "cudaLaunchKernel")));
  EXPECT_EQ(refusal(trace(with_copies(10, 0, "cudaGraphLaunch"))), "");
  EXPECT_EQ(refusal(trace(with_copies(10, 60, "cudaLaunchKernel"))), "");
  const TraceJob few = read(trace(with_copies(2, 0, "cudaLaunchKernel")));
  const auto& notes = few.ranks.at(0).notes.assumptions;
  EXPECT_NE(std::ranges::find(notes, "2 of 32 kernels and copies are there twice, of one launch on two streams"),
            notes.end());
}

TEST_F(KinetoTest, JoinsLaunchesOpsStepsAndCollectives) {
  const TraceJob job = read(trace(test::two_steps()));
  ASSERT_EQ(job.ranks.size(), 1u);
  const TraceRank& r = job.ranks[0];
  ASSERT_EQ(r.device_records.size(), 4u);
  ASSERT_EQ(r.streams.size(), 2u);
  EXPECT_EQ(r.streams[0].id, 7u);
  const DeviceRecord& gemm = r.device_records[0];
  EXPECT_EQ(gemm.duration_ns, 40'000);
  ASSERT_NE(gemm.launch, kNone);
  EXPECT_EQ(r.host_records[gemm.launch].call, RuntimeCall::launch_kernel);
  EXPECT_EQ(job.name(r.host_records[gemm.op].name), "aten::mm");
  EXPECT_EQ(job.inputs[r.host_records[gemm.op].inputs].tensors[1].dims, (std::vector<std::int64_t>{32, 16}));
  EXPECT_EQ(job.geometries[gemm.geometry].block[0], 128u);
  ASSERT_EQ(r.steps.size(), 2u);
  EXPECT_EQ(r.steps[1].number, 2);
  EXPECT_EQ(r.steps[0].device_records, 2u);
  EXPECT_EQ(r.steps[1].first_device_ns - r.steps[0].first_device_ns, 100'000);
  ASSERT_EQ(r.collectives.size(), 2u);
  EXPECT_EQ(r.collectives[0].kind, graph::CollectiveKind::all_reduce);
  EXPECT_EQ(r.collectives[0].bytes, 256 * 4);  // from the shape of the range around the launch
}

/// A call of 16 us that records an all-reduce of 1 Mi floats, within `around`, and launches `kernels` of 400 us.
std::vector<std::string> recorded_all_reduce(const std::string& around, const std::vector<std::string>& kernels,
                                             bool other_work = true) {
  std::vector<std::string> out{event(
      "cpu_op", "record_param_comms", "5", "10", 10, 16,
      "\"Collective name\":\"allreduce\",\"In msg nelems\":1048576,\"Out msg nelems\":1048576,\"dtype\":\"Float\","
      "\"Group size\":2,\"Process Group Name\":\"0\",\"External id\":1")};
  if (!around.empty()) out.push_back(event("user_annotation", around, "5", "10", 8, 30));
  if (other_work) {
    out.push_back(event("cuda_runtime", "cudaLaunchKernel", "5", "10", 40, 4, "\"correlation\":90"));
    out.push_back(event("kernel", "gemm", "0", "7", 50, 40, "\"device\":0,\"stream\":7,\"correlation\":90"));
  }
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const std::string id = std::to_string(k + 1);
    out.push_back(
        event("cuda_runtime", "cudaLaunchKernel", "5", "10", 14 + static_cast<double>(k), 1, "\"correlation\":" + id));
    out.push_back(event("kernel", kernels[k], "0", "9", 100 + 500 * static_cast<double>(k), k == 0 ? 400 : 5,
                        "\"device\":0,\"stream\":9,\"correlation\":" + id));
  }
  return out;
}

/// Libraries of their own (MSCCL++, custom all-reduces) name their kernels as they like.
TEST_F(KinetoTest, TheKernelThatACollectiveLaunchedIsItsTime) {
  const TraceJob job = read(trace(recorded_all_reduce("", {"mscclpp::allreduce6<float>(float*)", "flag_reset"})));
  const TraceRank& r = job.ranks.at(0);
  ASSERT_EQ(r.collectives.size(), 1u);
  const TraceCollective& c = r.collectives[0];
  ASSERT_NE(c.device_record, kNone);
  EXPECT_EQ(r.device_records[c.device_record].duration_ns, 400'000);
  EXPECT_TRUE(r.device_records[c.device_record].communication);
  EXPECT_EQ(c.bytes, 4 << 20);
  EXPECT_EQ(c.kind, graph::CollectiveKind::all_reduce);
  EXPECT_EQ(std::ranges::count_if(r.device_records, &DeviceRecord::communication), 1);
  EXPECT_TRUE(std::ranges::any_of(r.notes.assumptions,
                                  [](const std::string& n) { return n.find("mscclpp") != std::string::npos; }));
}

/// The kernel's own arguments and those of its call are of one collective.
TEST_F(KinetoTest, AKernelOfAnotherSizeThanItsCallIsNamed) {
  for (const int elements : {1048576, 65536}) {
    std::vector<std::string> events = recorded_all_reduce("", {});
    events.push_back(event("cuda_runtime", "cudaLaunchKernel", "5", "10", 14, 1, "\"correlation\":1"));
    events.push_back(event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "0", "9", 100, 400,
                           "\"device\":0,\"stream\":9,\"correlation\":1,\"Collective name\":\"allreduce\","
                           "\"dtype\":\"Float\",\"In msg nelems\":" +
                               std::to_string(elements)));
    const TraceJob job = read(trace(events));
    const TraceRank& r = job.ranks.at(0);
    ASSERT_EQ(r.collectives.size(), 1u);
    const bool agrees = elements == 1048576;
    EXPECT_EQ(r.collectives[0].bytes, agrees ? 4 << 20 : -1);
    EXPECT_NE(agrees, std::ranges::any_of(r.notes.assumptions, [](const std::string& n) {
                return n.find("all_reduce of 65536 elements, by a call of 1048576") != std::string::npos;
              }));
  }
}

/// Without a kernel the call is that of a host library, or only hands the collective to a device.
TEST_F(KinetoTest, ACallIsTheTimeOfACollectiveOnTheHostOnly) {
  const auto timed = [&](const std::string& around, bool other_work) {
    const TraceJob job = read(trace(recorded_all_reduce(around, {}, other_work)));
    const TraceRank& r = job.ranks.at(0);
    EXPECT_FALSE(r.collectives.empty());
    const bool noted = std::ranges::any_of(
        r.notes.assumptions, [](const std::string& n) { return n.find("not known") != std::string::npos; });
    const bool all = std::ranges::all_of(r.collectives, &TraceCollective::timed);
    EXPECT_NE(noted, all) << around;
    return all;
  };
  EXPECT_TRUE(timed("gloo:all_reduce", true));
  EXPECT_TRUE(timed("gloo:all_reduce", false));
  EXPECT_TRUE(timed("", false)) << "a host without a device";
  EXPECT_FALSE(timed("", true));
  EXPECT_FALSE(timed("nccl:all_reduce", true));
  EXPECT_FALSE(timed("nccl:all_reduce", false));
}

TEST_F(KinetoTest, ReadsBareArraysOldCategoriesAndStringThreads) {
  const TraceJob job = read(
      "[" +
      test::joined(
          {event("Operator", "ProfilerStep#3", "5", "\"4093687616\"", 10, 90),
           event("Operator", "aten::mm", "5", "\"4093687616\"", 20, 20),
           event("Runtime", "cudaLaunchKernel", "5", "\"4093687616\"", 25, 5, "\"correlation\":7,\"external id\":0"),
           event("Kernel", "k", "0", "\"stream 7\"", 40, 10, "\"device\":0,\"stream\":7,\"correlation\":7"),
           event("Memcpy", "Memcpy HtoD (Pageable -> Device)", "0", "\"stream 7\"", 60, 10, "\"bytes\":\"4096\"")}) +
      "]");
  const TraceRank& r = job.ranks.at(0);
  ASSERT_EQ(r.threads.size(), 1u);
  EXPECT_EQ(r.threads[0].id, 4093687616u);
  ASSERT_EQ(r.steps.size(), 1u);
  ASSERT_EQ(r.device_records.size(), 2u);
  EXPECT_EQ(job.name(r.host_records[r.device_records[0].op].name), "aten::mm");
  EXPECT_EQ(r.device_records[1].bytes, 4096);
  EXPECT_EQ(r.device_records[1].direction, CopyDirection::host_to_device);
  EXPECT_EQ(r.device_records[1].launch, kNone);
}

TEST_F(KinetoTest, MissingLaunchesAreNamed) {
  const std::string k = event("kernel", "k", "0", "7", 5, 1, "\"device\":0,\"stream\":7,\"correlation\":7");
  const std::string op = event("cpu_op", "aten::mm", "5", "5", 1, 3);
  const std::string call = event("cuda_runtime", "cudaLaunchKernel", "5", "5", 2, 1, "\"correlation\":7");
  EXPECT_EQ(verdict_of(read(trace({op, call, k}))), "complete");
  EXPECT_EQ(verdict_of(read(trace({op, k}))), "partial, without the launches of 1 of 1 kernel or copy");
  EXPECT_EQ(verdict_of(read(trace({k}))), "partial, without the calls of the host");
}

TEST_F(KinetoTest, AddsTheBaseWhereverItStands) {
  const std::string k = event("kernel", "k", "0", "7", 5, 1, "\"device\":0,\"stream\":7");
  EXPECT_EQ(read(trace({k}, "\"baseTimeNanoseconds\":1700000000000000000,")).epoch_ns, 1700000000000005000);
  EXPECT_EQ(read(trace({k}, "", ",\"baseTimeNanoseconds\":1700000000000000000")).epoch_ns, 1700000000000005000);
}

TEST_F(KinetoTest, KeepsNanosecondsOfEpochTimes) {
  // 16 digits and a fraction do not fit a double.
  const std::string text =
      "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":1712867402348628.001,\"dur\":"
      "0.002,\"args\":{\"stream\":7}},"
      "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":0,\"tid\":7,\"ts\":1712867402348628.004,\"dur\":1,\"args\":{"
      "\"stream\":7}}]}";
  const TraceJob job = read(text);
  EXPECT_EQ(job.ranks[0].device_records[1].start_ns - job.ranks[0].device_records[0].start_ns, 3);
  EXPECT_EQ(job.ranks[0].device_records[0].duration_ns, 2);
}

TEST(KinetoNumbers, Nanoseconds) {
  const auto ns = [](std::string_view t) {
    std::int64_t v = -1;
    return nanoseconds_of(t, v) ? v : INT64_MIN;
  };
  EXPECT_EQ(ns("12"), 12'000);
  EXPECT_EQ(ns("12.5"), 12'500);
  EXPECT_EQ(ns("12.0005"), 12'001);  // the fourth digit rounds
  EXPECT_EQ(ns("-1.5"), -1'500);
  EXPECT_EQ(ns("\"3\""), 3'000);
  EXPECT_EQ(ns("1e3"), 1'000'000);
  for (const char* bad : {"", "x", "1x", "99999999999999999999", "1e300", "-", ".", "\"\""})
    EXPECT_EQ(ns(bad), INT64_MIN) << bad;
}

TEST(KinetoNumbers, Escapes) {
  EXPECT_EQ(unescaped("a\\\"b\\\\c\\u0041\\n"), "a\"b\\cA\n");
  EXPECT_EQ(unescaped("\\ud83d\\ude00"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(unescaped("\\ud83d x"), "\xEF\xBF\xBD x");  // half a pair
  EXPECT_EQ(unescaped("\\u12"), "\\u12");
}

TEST_F(KinetoTest, GraphLaunchesGiveManyKernels) {
  const TraceJob job = read(trace({event("cuda_runtime", "cudaGraphLaunch", "5", "10", 0, 10, "\"correlation\":3"),
                                   event("kernel", "a", "0", "7", 20, 5, "\"stream\":7,\"correlation\":3"),
                                   event("kernel", "b", "0", "7", 30, 5, "\"stream\":7,\"correlation\":3")}));
  for (const DeviceRecord& d : job.ranks[0].device_records) {
    EXPECT_TRUE(d.from_graph);
    EXPECT_EQ(d.launch, 0u);
  }
}

TEST_F(KinetoTest, TakesCollectiveMetadataAndRestoresCutRanks) {
  const std::string args =
      "\"stream\":9,\"Collective name\":\"_allgather_base\",\"In msg nelems\":1000,\"Out msg nelems\":32000,\"Group "
      "size\":32,\"dtype\":\"BFloat16\",\"Process Group Name\":\"3\","
      "\"Process Group Description\":\"tp\",\"Process Group Ranks\":\"[0, 1, 2, ...]\",\"Seq\":17,\"Comms "
      "Id\":18446744073709551615";
  const TraceJob job =
      read(trace({event("kernel", "ncclDevKernel_Generic(x)", "0", "9", 0, 10, args)},
                 "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":2,\"world_size\":32,\"pg_count\":1,\"pg_"
                 "config\":[{\"pg_name\":\"3\",\"pg_size\":32,\"ranks\":[]}]},"));
  const TraceCollective& c = job.ranks[0].collectives.at(0);
  EXPECT_EQ(c.kind, graph::CollectiveKind::all_gather);
  EXPECT_EQ(c.bytes, 64000);  // the total of 32000 elements of 2 bytes
  EXPECT_EQ(c.sequence, 17);
  EXPECT_EQ(job.groups.at(c.group).ranks.size(), 32u);
  EXPECT_EQ(job.ranks[0].rank, 2u);
  EXPECT_EQ(job.world_size, 32u);
}

/// PyTorch writes the first ranks of a long list and its last one.
TEST_F(KinetoTest, ACutListOfRanksIsRebuiltWhereOneStrideLeadsThroughIt) {
  const auto ranks = [&](const std::string& list) {
    const TraceJob job =
        read(trace({event("kernel", "ncclDevKernel_AllReduce(x)", "0", "9", 0, 10,
                          "\"stream\":9,\"Collective name\":\"allreduce\",\"In msg nelems\":1000,\"Group size\":64,"
                          "\"dtype\":\"Float\",\"Process Group Name\":\"3\",\"Process Group Ranks\":\"" +
                              list + "\"")}));
    return job.groups.at(job.ranks[0].collectives.at(0).group).ranks;
  };
  const std::vector<std::uint32_t> whole = ranks("[0, 8, 16, ..., 504]");
  ASSERT_EQ(whole.size(), 64u);
  EXPECT_EQ(whole[40], 320u);
  for (const char* open : {"[0, 8, 16, ..., 505]", "[0, 8, 17, ..., 504]", "[0, 8, 16, ...]", "[0, ..., 504]",
                           "[..., 504]", "[0, 0, ..., 0]", "[-8, 0, ..., 496]", "[0, 8, ..., 504, 512]"})
    EXPECT_TRUE(ranks(open).empty()) << open;
}

TEST_F(KinetoTest, ReadsOnAfterBrokenEvents) {
  const std::string a = event("kernel", "a", "0", "7", 0, 1, "\"stream\":7"),
                    b = event("kernel", "b", "0", "7", 5, 1, "\"stream\":7");
  for (const std::string bad :
       {R"({"ph":"X","cat":"kernel","name":"un"escaped","pid":0,"tid":7,"ts":2,"dur":1})",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"\x01\xff\",\"pid\":0,\"tid\":7,\"ts\":2,\"dur\":1}",
        R"({"ph":"X","cat":"kernel","ts":tru,"dur":})", "17", "null", "[]"}) {
    const TraceJob job = read(trace({a, bad, b}));
    ASSERT_EQ(job.ranks.size(), 1u) << bad;
    EXPECT_EQ(job.ranks[0].device_records.size(), 2u) << bad;
  }
}

TEST_F(KinetoTest, LayersComeFromModuleFrames) {
  const TraceJob job = read(trace({event("python_function", "nn.Module: Linear_3", "5", "10", 0, 50),
                                   event("python_function", "linear.py(5): forward", "5", "10", 1, 48),
                                   event("cpu_op", "aten::linear", "5", "10", 5, 20)}));
  const TraceRank& r = job.ranks[0];
  ASSERT_EQ(r.host_records.size(), 2u);
  EXPECT_EQ(r.host_records[0].kind, HostKind::annotation);
  EXPECT_EQ(r.host_records[1].parent, 0u);
}

/// The lower half of a pthread_t may be below 0; and all ones is a thread like others.
TEST_F(KinetoTest, ThreadsBelowZeroAreThreadsOfTheirOwn) {
  const TraceJob job =
      read(trace({event("cpu_op", "first", "-1", "-1", 0, 50), event("cpu_op", "a", "5", "10", 5, 50),
                  event("cpu_op", "b", "5", "-10", 6, 10), event("cpu_op", "c", "5", "\"-10\"", 20, 5)}));
  const TraceRank& r = job.ranks.at(0);
  ASSERT_EQ(r.threads.size(), 3u);
  ASSERT_EQ(r.host_records.size(), 4u);
  for (const HostRecord& h : r.host_records) {
    EXPECT_LT(h.thread, 3u);
    EXPECT_EQ(h.parent, kNone) << job.name(h.name);
  }
  std::map<std::string, std::uint32_t> thread_of;
  for (const HostRecord& h : r.host_records) thread_of[std::string(job.name(h.name))] = h.thread;
  EXPECT_NE(thread_of["a"], thread_of["b"]);
  EXPECT_EQ(thread_of["b"], thread_of["c"]);
  EXPECT_EQ(static_cast<std::int64_t>(r.threads[thread_of["b"]].id), -10);
}

TEST_F(KinetoTest, CountsWhatItLeavesOut) {
  const TraceJob job =
      read(trace({event("kernel", "a", "0", "7", 0, -3, "\"stream\":7"), event("python_function", "f", "5", "10", 0, 1),
                  event("strange", "f", "5", "10", 0, 1), "{\"ph\":\"C\",\"name\":\"c\",\"ts\":1}",
                  "{\"ph\":\"s\",\"cat\":\"ac2g\",\"id\":1,\"ts\":1}",
                  "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"no time\",\"ts\":\"soon\"}"}));
  std::map<std::string, std::uint64_t> dropped;
  for (const auto& c : job.ranks[0].notes.dropped) dropped[c.what] = c.count;
  EXPECT_EQ(dropped["Python frames"], 1u);
  EXPECT_EQ(dropped["strange events"], 1u);
  EXPECT_EQ(dropped["counter events"], 1u);
  EXPECT_EQ(dropped["events without a usable time"], 1u);
  EXPECT_EQ(job.ranks[0].device_records.at(0).duration_ns, 0);  // a negative duration counts as none
}

TEST_F(KinetoTest, StepsByPatternByOptimizerAndNone) {
  TraceOptions options;
  options.step_pattern = "^batch [0-9]+$";
  const std::vector<std::string> batches{event("user_annotation", "batch 1", "5", "10", 0, 10),
                                         event("user_annotation", "batch 2", "5", "10", 20, 10)};
  EXPECT_EQ(read(trace(batches), options).ranks[0].steps.size(), 2u);
  EXPECT_TRUE(read(trace(batches)).ranks[0].steps.empty());
  EXPECT_EQ(steps_or_whole(read(trace(batches)).ranks[0]).size(), 1u);
  options.step_pattern = "(";
  EXPECT_FALSE(read_traces({test::write(folder_, "t.json", trace(batches))}, options).ok());
  std::vector<std::string> optimizer;
  for (int i = 0; i < 4; ++i)
    optimizer.push_back(event("user_annotation", "Optimizer.step#SGD.step", "5", "10", 100 * i, 10));
  const TraceJob job = read(trace(optimizer));
  ASSERT_EQ(job.ranks[0].steps.size(), 3u);
  EXPECT_EQ(job.ranks[0].steps[2].end_ns - job.ranks[0].steps[2].start_ns, 100'000);
}

/// The allocator's events: totals where they are recorded, else sums of the changes; those of the host are left out.
TEST_F(KinetoTest, MemoryOfTheDevice) {
  const auto memory = [](double ts, const std::string& args) {
    return "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":5,\"tid\":10,\"ts\":" +
           std::to_string(ts) + ",\"args\":{" + args + "}}";
  };
  std::vector<std::string> events = test::two_steps();
  events.push_back(memory(1030, "\"Device Type\":1,\"Device Id\":0,\"Bytes\":-512,\"Total Allocated\":1024"));
  events.push_back(memory(1010, "\"Device Type\":1,\"Device Id\":0,\"Bytes\":1536,\"Total Allocated\":1536"));
  events.push_back(memory(1020, "\"Device Type\":0,\"Device Id\":-1,\"Bytes\":64,\"Total Allocated\":64"));
  const TraceJob job = read(trace(events));
  const auto& m = job.ranks[0].memory;
  ASSERT_EQ(m.size(), 2u);
  EXPECT_EQ(m[0].allocated, 1536);
  EXPECT_EQ(m[1].allocated, 1024);
  EXPECT_EQ(m[1].start_ns - m[0].start_ns, 20'000);
  EXPECT_EQ(job.ranks[0].threads.at(m[0].thread).id, 10u);
  std::vector<std::string> old = test::two_steps();
  for (const int bytes : {512, -1024, 256})
    old.push_back(memory(1010, "\"Device Type\":1,\"Device Id\":0,\"Bytes\":" + std::to_string(bytes)));
  const TraceJob sums = read(trace(old));
  ASSERT_EQ(sums.ranks[0].memory.size(), 3u);
  EXPECT_EQ(sums.ranks[0].memory[0].allocated, 1024);  // what was there before made up for the second change
  EXPECT_EQ(sums.ranks[0].memory[1].allocated, 0);
  EXPECT_EQ(sums.ranks[0].memory[2].allocated, 256);
}

/// Each total is the one before and its change, on each device: where it is not, events are missing.
TEST_F(KinetoTest, MemoryThatJumpsHasLostEvents) {
  const auto verdict = [&](const std::vector<std::tuple<int, long, long>>& changes) {
    std::vector<std::string> events = test::two_steps();
    for (const auto& [device, bytes, total] : changes)
      events.push_back("{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":5,\"tid\":10,\"ts\":" +
                       std::to_string(1000 + events.size()) +
                       ",\"args\":{\"Device Type\":1,\"Device Id\":" + std::to_string(device) +
                       ",\"Bytes\":" + std::to_string(bytes) + ",\"Total Allocated\":" + std::to_string(total) + "}}");
    return verdict_of(read(trace(events)));
  };
  EXPECT_EQ(verdict({{0, 512, 4096}, {1, 512, 512}, {0, 1024, 5120}, {0, -4096, 1024}, {1, -512, 0}}), "complete");
  EXPECT_EQ(verdict({{0, 512, 1 << 30}, {1, 512, 512}, {0, 1 << 20, 60L << 30}, {0, 1 << 20, (60L << 30) + (1 << 20)}}),
            "partial, without the events of memory before 1 total that is not the last one and its change");
  EXPECT_EQ(verdict({{0, 512, 512}, {0, 512, 512}, {0, 512, 512}}),
            "partial, without the events of memory before 2 totals that are not the last one and its change");
}

/// The profiler opened a third step, but the recording ended before it launched anything.
TEST_F(KinetoTest, ACutLastStepIsLeftOut) {
  std::vector<std::string> events = test::two_steps();
  events.push_back(event("user_annotation", "ProfilerStep#3", "5", "10", 1200, 5));
  const TraceJob job = read(trace(events));
  ASSERT_EQ(job.ranks[0].steps.size(), 2u);
  EXPECT_EQ(job.ranks[0].steps[1].number, 2);
  const auto& notes = job.ranks[0].notes.assumptions;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(),
                          [](const std::string& n) { return n.find("ProfilerStep#3") != std::string::npos; }));
}

TEST_F(KinetoTest, WindowSizeDoesNotChangeAnything) {
  std::vector<std::string> events;
  for (int i = 0; i < 300; ++i)
    events.push_back(event(
        "kernel", "k" + std::to_string(i % 7), "0", "7", 10 * i, 5,
        "\"stream\":7,\"long\":\"" + std::string(static_cast<std::size_t>(i), '\\') + (i % 2 ? "\\" : "") + "\""));
  TraceOptions small;
  small.window = 1;  // the least there is: 4 KiB
  const TraceJob a = read(trace(events), small), b = read(trace(events));
  ASSERT_EQ(a.ranks[0].device_records.size(), 300u);
  for (std::size_t i = 0; i < 300; ++i)
    EXPECT_EQ(a.ranks[0].device_records[i].start_ns, b.ranks[0].device_records[i].start_ns);
}

TEST_F(KinetoTest, RefusesWhatHoldsNoTrace) {
  EXPECT_NE(refusal("{\"traceEvents\":[]}").find("found no events"), std::string::npos);
  EXPECT_NE(refusal("{\"a\":1}").find("JSON of no known trace format"), std::string::npos);
  EXPECT_NE(refusal("").find("empty file"), std::string::npos);
  EXPECT_NE(refusal("hello").find("no known trace format"), std::string::npos);
}

}  // namespace
}  // namespace distsim::traces
