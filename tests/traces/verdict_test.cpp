#include "traces/verdict.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace distsim::traces {
namespace {

/// A rank with `kernels` kernels of 10 us on one stream, of which each starts `apart` ns after the one before.
TraceRank rank_of(std::uint32_t number, std::uint32_t kernels, std::int64_t apart) {
  TraceRank rank;
  rank.rank = number;
  rank.path = "rank" + std::to_string(number) + ".json";
  for (std::uint32_t i = 0; i < kernels; ++i) {
    DeviceRecord d;
    d.start_ns = i * apart;
    d.duration_ns = 10'000;
    rank.device_records.push_back(d);
  }
  rank.streams.push_back({0, 7, 0, 0, kernels});
  return rank;
}

TraceJob job_of(std::vector<TraceRank> ranks, std::uint32_t world) {
  TraceJob job;
  job.ranks = std::move(ranks);
  job.world_size = world;
  return job;
}

TEST(Verdict, AWholeTraceIsComplete) {
  EXPECT_EQ(verdict_of(job_of({rank_of(0, 5, 10'000), rank_of(1, 5, 10'000)}, 2)), "complete");
  EXPECT_EQ(verdict_of(job_of({rank_of(0, 5, 10'000)}, 0)), "complete");
}

TEST(Verdict, MissingRanksAreListed) {
  EXPECT_EQ(verdict_of(job_of({rank_of(0, 5, 10'000)}, 2)), "partial, without rank 1 of 2");
  EXPECT_EQ(verdict_of(job_of({rank_of(1, 5, 10'000), rank_of(4, 5, 10'000)}, 8)),
            "partial, without ranks 0, 2 to 3, 5 to 7 of 8");
}

/// Where their number is not stated, those below the highest one; a rank that was only counted tells nothing.
TEST(Verdict, AGapInTheNumbersOfRanksIsNamed) {
  TraceJob gap = job_of({rank_of(0, 5, 10'000), rank_of(1, 5, 10'000), rank_of(4, 5, 10'000)}, 0);
  EXPECT_EQ(verdict_of(gap), "partial, without ranks 2 to 3 of at least 5");
  gap.ranks[2].rank_is_guessed = true;
  EXPECT_EQ(verdict_of(gap), "complete");
}

TEST(Verdict, ACutFileAndMissingKernelsAreNamed) {
  TraceRank cut = rank_of(0, 5, 10'000);
  cut.notes.miss("the rest of a file that is cut off");
  EXPECT_EQ(verdict_of(job_of({cut}, 1)), "partial, without the rest of a file that is cut off");
  EXPECT_EQ(verdict_of(job_of({rank_of(0, 0, 0)}, 1)), "partial, without kernels and copies of a GPU");
  TraceRank copies = rank_of(0, 5, 10'000);
  for (DeviceRecord& d : copies.device_records) d.kind = DeviceRecordKind::memcpy;
  EXPECT_EQ(verdict_of(job_of({copies}, 1)), "partial, without kernels of a GPU (there are copies only)");
}

TEST(Plausible, AStreamRunsOneKernelAfterTheOther) {
  TraceJob after = job_of({rank_of(0, 50, 10'000)}, 1);
  EXPECT_TRUE(check_plausible(after).ok());
  EXPECT_TRUE(after.ranks[0].notes.assumptions.empty());
  TraceJob at_once = job_of({rank_of(0, 50, 1'000)}, 1);
  const auto checked = check_plausible(at_once);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().text().find("rank0.json: found 49 of 50 kernels at the same time"), 0u)
      << checked.error().text();
}

TEST(Plausible, KernelsAreThereOnce) {
  TraceRank rank = rank_of(0, 50, 10'000);
  for (std::uint32_t i = 44; i < 50; ++i) rank.device_records[i] = rank.device_records[i - 6];
  std::ranges::stable_sort(rank.device_records, {}, &DeviceRecord::start_ns);
  TraceJob job = job_of({rank}, 1);
  const auto checked = check_plausible(job);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().text().find("rank0.json: found 6 of 50 kernels a second time"), 0u)
      << checked.error().text();
  rank = rank_of(0, 50, 10'000);
  rank.device_records[8] = rank.device_records[7];
  TraceJob slip = job_of({rank}, 1);
  EXPECT_TRUE(check_plausible(slip).ok());
}

/// Each kernel launched by a call of its own, `late` ns before it.
TraceRank launched(std::uint32_t kernels, std::int64_t late) {
  TraceRank rank = rank_of(0, kernels, 10'000);
  rank.has_times = true;
  for (std::uint32_t i = 0; i < kernels; ++i) {
    HostRecord call;
    call.kind = HostKind::runtime;
    call.call = RuntimeCall::launch_kernel;
    call.start_ns = rank.device_records[i].start_ns - late;
    call.duration_ns = 1'000;
    rank.device_records[i].launch = i;
    rank.host_records.push_back(call);
  }
  return rank;
}

/// A rank of 100 kernels, of which a second thread launched the last ones.
TraceJob of_two_processes(std::uint32_t by_second, std::uint64_t second) {
  TraceRank rank = launched(100, 5'000);
  rank.threads = {{20, 1, "", 0, 100 - by_second}, {second, 1, "", 100 - by_second, 100}};
  for (std::uint32_t i = 100 - by_second; i < 100; ++i) rank.host_records[i].thread = 1;
  return job_of({rank}, 1);
}

TEST(Plausible, ARankIsOneProcess) {
  TraceJob two = of_two_processes(40, 21);
  const auto checked = check_plausible(two);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().text(),
            "rank0.json: found launches of 2 processes (60 of process 20, 40 of process 21), expected those of one: a "
            "rank is a process; were the traces of several ranks put together?");
  TraceJob few = of_two_processes(5, 21);
  EXPECT_TRUE(check_plausible(few).ok());
  EXPECT_EQ(few.ranks[0].notes.assumptions.size(), 1u);
  TraceJob threads = of_two_processes(40, 20);
  EXPECT_TRUE(check_plausible(threads).ok());
  EXPECT_TRUE(threads.ranks[0].notes.assumptions.empty());
}

TEST(Verdict, LaunchesWithoutGpuWorkAreNamed) {
  EXPECT_EQ(verdict_of(job_of({launched(100, 5'000)}, 1)), "complete");
  TraceRank thinned = launched(100, 5'000);
  std::erase_if(thinned.device_records, [](const DeviceRecord& d) { return d.launch % 2 == 0; });
  thinned.streams.front().end = 50;
  EXPECT_EQ(verdict_of(job_of({thinned}, 1)), "partial, without the GPU work of 50 of 100 kernel launches");
  TraceRank end = launched(100, 5'000);
  for (std::uint32_t i = 92; i < 100; ++i) end.device_records[i].launch = kNone;
  EXPECT_EQ(verdict_of(job_of({end}, 1)), "complete") << "ran after the profiler had stopped";
}

/// Four graphs of 25 kernels each.
TEST(Verdict, GraphsWithoutGpuWorkAreNamed) {
  TraceRank rank = launched(100, 5'000);
  for (std::uint32_t i = 0; i < 100; ++i) {
    rank.device_records[i].launch = i / 25 * 25;
    rank.host_records[i].call = i % 25 == 0 ? RuntimeCall::launch_graph : RuntimeCall::other;
  }
  EXPECT_EQ(verdict_of(job_of({rank}, 1)), "complete");
  TraceRank lossy = rank;
  lossy.device_records.erase(lossy.device_records.begin() + 25, lossy.device_records.begin() + 50);
  lossy.streams.front().end = 75;
  EXPECT_EQ(verdict_of(job_of({lossy}, 1)), "partial, without the GPU work of 1 of 4 graph launches");
  for (DeviceRecord& d : rank.device_records) d.launch = kNone;
  rank.device_records.front().launch = 1;
  EXPECT_EQ(verdict_of(job_of({rank}, 1)), "partial, without the launches of 99 of 100 kernels and copies")
      << "a format may not say which work is of a graph";
}

TEST(Plausible, WorkFarBeyondTheHostIsNamed) {
  const auto notes_with_last = [](std::int64_t duration) {
    TraceRank rank = launched(30, 5'000);
    rank.device_records.back().duration_ns = duration;
    TraceJob job = job_of({rank}, 1);
    EXPECT_TRUE(check_plausible(job).ok());
    return job.ranks[0].notes.assumptions;
  };
  EXPECT_TRUE(notes_with_last(900'000'000).empty());
  const std::vector<std::string> notes = notes_with_last(1'000'000'000'000'000);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].find("the last work of the GPU ends 1e+06 s after the last record of the host"), 0u) << notes[0];
}

TEST(Verdict, CopiesWithoutGpuWorkAreNamed) {
  TraceRank rank = launched(100, 5'000);
  for (std::uint32_t i = 0; i < 40; ++i) rank.host_records[i].call = RuntimeCall::memcpy;
  for (std::uint32_t i = 0; i < 15; ++i) rank.device_records[i].launch = kNone;
  EXPECT_EQ(verdict_of(job_of({rank}, 1)), "complete") << "copies within the host";
  for (std::uint32_t i = 15; i < 30; ++i) rank.device_records[i].launch = kNone;
  EXPECT_EQ(verdict_of(job_of({rank}, 1)), "partial, without the GPU work of 30 of 40 calls for copies");
}

TEST(Verdict, GpuWorkWithoutLaunchesIsNamed) {
  TraceRank rank = launched(100, 5'000);
  for (DeviceRecord& d : rank.device_records) d.launch = kNone;
  EXPECT_EQ(verdict_of(job_of({rank}, 1)), "partial, without the launches of 100 of 100 kernels and copies");
  for (std::uint32_t i = 50; i < 100; ++i) rank.device_records[i].launch = i;
  for (HostRecord& call : rank.host_records) call.call = RuntimeCall::other;
  EXPECT_EQ(verdict_of(job_of({rank}, 1)), "complete") << "launched before the profiler had started";
}

/// A stream runs in the order of the launches: what it runs behind a recorded one was launched after the recording had begun.
TEST(Verdict, LaunchesMissingBetweenOthersAreNamed) {
  const auto without = [](std::uint32_t begin, std::uint32_t end, std::uint32_t every = 1) {
    TraceRank rank = launched(100, 5'000);
    for (HostRecord& call : rank.host_records) call.call = RuntimeCall::other;
    for (std::uint32_t i = begin; i < end; i += every) rank.device_records[i].launch = kNone;
    return rank;
  };
  EXPECT_EQ(verdict_of(job_of({without(0, 49)}, 1)), "complete") << "launched before the recording";
  EXPECT_EQ(verdict_of(job_of({without(95, 100)}, 1)), "complete") << "launched after it";
  EXPECT_EQ(verdict_of(job_of({without(70, 100)}, 1)), "partial, without the launches of 30 of 100 kernels and copies");
  EXPECT_EQ(verdict_of(job_of({without(50, 51)}, 1)), "partial, without the launches of 1 of 100 kernels and copies");
  EXPECT_EQ(verdict_of(job_of({without(0, 100, 3)}, 1)),
            "partial, without the launches of 33 of 100 kernels and copies")
      << "all but the first";

  TraceRank side = without(60, 100);
  side.streams = {{0, 7, 0, 0, 60}, {0, 9, 0, 60, 100}};
  for (std::uint32_t i = 60; i < 100; ++i) side.device_records[i].stream = 1;
  EXPECT_EQ(verdict_of(job_of({side}, 1)), "partial, without the launches of 40 of 100 kernels and copies");
}

/// 6 launches of a graph of 11 nodes 1 ms apart, each kernel of 10 us; `keep`: whether the work of a node of a launch is there.
template <class Keep>
TraceRank graph_launches(Keep keep) {
  TraceRank rank;
  rank.path = "rank0.json";
  for (std::uint64_t n = 0; n < 11; ++n) rank.graph_nodes.push_back({3, 100 + n});
  for (std::uint32_t s = 0; s < 6; ++s) {
    HostRecord call;
    call.kind = HostKind::runtime;
    call.call = RuntimeCall::launch_graph;
    call.start_ns = s * 1'000'000;
    call.duration_ns = 5'000;
    rank.host_records.push_back(call);
    for (std::uint32_t n = 0; n < 11; ++n) {
      if (!keep(s, n)) continue;
      DeviceRecord d;
      d.start_ns = call.end_ns() + n * 10'000;
      d.duration_ns = 10'000;
      d.launch = s, d.graph_node = n, d.from_graph = true;
      rank.device_records.push_back(d);
    }
  }
  rank.threads.push_back({5, 10, "", 0, 6});
  rank.streams.push_back({0, 7, 0, 0, static_cast<std::uint32_t>(rank.device_records.size())});
  return rank;
}

std::string note_of_nodes(const TraceRank& rank) {
  TraceJob job = job_of({rank}, 1);
  EXPECT_TRUE(check_plausible(job).ok());
  EXPECT_EQ(verdict_of(job), "complete");
  for (const std::string& note : job.ranks[0].notes.assumptions) {
    if (note.starts_with("CUDA graphs: ")) return note.substr(13, note.find(" did not run") - 13);
  }
  return "";
}

/// Lost work or a condition: a note. Not of the first and the last launch, which the ends of the recording may cut.
TEST(Verdict, NodesOfGraphsThatALaunchLacksAreNoted) {
  using Id = std::uint32_t;
  const auto note = [](auto keep) { return note_of_nodes(graph_launches(keep)); };
  EXPECT_EQ(note([](Id, Id) { return true; }), "");
  EXPECT_EQ(note([](Id s, Id n) { return s == 0 || n == 0; }), "40 of 44 nodes");
  EXPECT_EQ(note([](Id s, Id n) { return s != 2 || n != 5; }), "1 of 44 nodes");
  EXPECT_EQ(note([](Id s, Id n) { return s < 5 || n < 4; }), "") << "cut at the end";
  EXPECT_EQ(note([](Id s, Id n) { return s > 0 || n > 4; }), "") << "cut at the beginning";
  EXPECT_EQ(note([](Id s, Id n) { return s % 2 == 0 ? n < 6 : n >= 6; }), "") << "two graphs of one id";
  TraceRank unknown = graph_launches([](Id s, Id n) { return s == 0 || n == 0; });
  for (DeviceRecord& d : unknown.device_records) d.graph_node = kNone;
  EXPECT_EQ(note_of_nodes(unknown), "") << "nodes were not recorded";
}

/// Launches 0, 2 and 4 are of one context, the others of another one that has a graph of the same id with fewer nodes.
TEST(Verdict, GraphsOfOtherContextsAreOthers) {
  TraceRank rank = graph_launches([](std::uint32_t s, std::uint32_t n) { return s % 2 == 0 || n < 6; });
  std::ranges::stable_sort(rank.device_records, {}, [](const DeviceRecord& d) { return d.launch % 2; });
  for (DeviceRecord& d : rank.device_records) d.stream = d.launch % 2;
  rank.streams = {{0, 7, 1, 0, 33}, {0, 7, 2, 33, 51}};
  EXPECT_EQ(note_of_nodes(rank), "");
}

TEST(WorkCounts, GraphsOfSlicesAddUp) {
  const TraceRank rank = graph_launches([](std::uint32_t s, std::uint32_t n) { return s != 2 || n != 5; });
  const TraceJob job = job_of({rank}, 1);
  WorkCounts sum = count_work(job, rank, {}, {INT64_MIN, 2'500'000});
  sum.add(count_work(job, rank, {}, {2'500'000, INT64_MAX}));
  EXPECT_EQ(sum.idle_nodes().all, 44u);
  EXPECT_EQ(sum.idle_nodes().idle, 1u);
}

/// Launches of {1, 2}, {3, 4} and {2, 3}: the last one tells that all are of one graph.
TEST(GraphLaunches, LaunchesThatShareNodesAreOfOneGraph) {
  GraphLaunches one, later;
  one.join(1, 2), one.join(3, 4);
  EXPECT_NE(one.graph_of(2), one.graph_of(4));
  later.join(3, 2);
  one.add(later);
  for (const std::uint64_t node : {2u, 3u, 4u}) EXPECT_EQ(one.graph_of(node), 1u);
}

TEST(WorkCounts, UnlaunchedWorkOfSlicesAddsUp) {
  const std::vector<bool> launched{false, false, true, false, true, true, false, false, true, false};
  UnlaunchedOfStream whole;
  for (const bool is : launched) whole.take(is);
  for (std::size_t first = 0; first <= launched.size(); ++first) {
    for (std::size_t second = first; second <= launched.size(); ++second) {
      UnlaunchedOfStream sum;
      std::vector<UnlaunchedOfStream> slices(3);
      for (std::size_t i = 0; i < launched.size(); ++i) slices[i < first ? 0 : i < second ? 1 : 2].take(launched[i]);
      for (const UnlaunchedOfStream& slice : slices) sum.add(slice);
      EXPECT_EQ(sum.before, 2u) << first << " " << second;
      EXPECT_EQ(sum.between, 3u) << first << " " << second;
      EXPECT_EQ(sum.after, 1u) << first << " " << second;
    }
  }
  EXPECT_EQ(whole.between, 3u);
}

TEST(Plausible, SomeKernelsFollowTheirLaunchesSoon) {
  TraceJob queued = job_of({launched(50, 900'000'000)}, 1), apart = job_of({launched(50, 5'000'000'000)}, 1);
  EXPECT_TRUE(check_plausible(queued).ok());
  const auto checked = check_plausible(apart);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(
      checked.error().text().find("rank0.json: found 50 kernels, all more than 1 s after the calls that launched them"),
      0u)
      << checked.error().text();
}

/// After each kernel, 10 us after its launch, a call that waits for it and returns 5 us after its end; all of the GPU is `late`
/// ns on its clock.
TraceJob waited_for(std::uint32_t kernels, std::int64_t late, RuntimeCall wait = RuntimeCall::device_synchronize) {
  TraceRank rank = launched(kernels, 10'000);
  for (std::uint32_t i = 0; i < kernels; ++i) {
    HostRecord call;
    call.kind = HostKind::runtime;
    call.call = wait;
    call.start_ns = rank.host_records[i].end_ns() + 1'000;
    call.duration_ns = rank.device_records[i].end_ns() + 5'000 - call.start_ns;
    SyncRecord sync;
    sync.kind = SyncKind::stream;
    sync.stream = 0;
    sync.call = static_cast<std::uint32_t>(rank.host_records.size());
    rank.host_records.push_back(call);
    if (wait != RuntimeCall::device_synchronize) rank.syncs.push_back(sync);
  }
  for (std::uint32_t i = 0; i < kernels; ++i) {
    const std::int64_t moved = 30'000 * static_cast<std::int64_t>(i);  // room for each wait
    rank.device_records[i].start_ns += moved + late;
    rank.host_records[i].start_ns += moved;
    rank.host_records[kernels + i].start_ns += moved;
  }
  return job_of({std::move(rank)}, 1);
}

TEST(Plausible, CallsThatWaitReturnAfterTheWork) {
  for (const RuntimeCall wait : {RuntimeCall::device_synchronize, RuntimeCall::stream_synchronize}) {
    for (const std::int64_t late : {0, 20'000}) {
      TraceJob job = waited_for(50, late, wait);
      EXPECT_TRUE(check_plausible(job).ok());
      EXPECT_TRUE(job.ranks[0].notes.assumptions.empty()) << job.ranks[0].notes.assumptions.front();
    }
    TraceJob some = waited_for(50, 500'000, wait);
    EXPECT_TRUE(check_plausible(some).ok());
    ASSERT_EQ(some.ranks[0].notes.assumptions.size(), 1u);
    EXPECT_EQ(some.ranks[0].notes.assumptions[0].find("50 of 50 calls that wait for the GPU return before the work"),
              0u)
        << some.ranks[0].notes.assumptions[0];
    for (const std::int64_t late : {2'000'000, 900'000'000}) {
      TraceJob job = waited_for(50, late, wait), few = waited_for(3, late, wait);
      const auto checked = check_plausible(job);
      ASSERT_FALSE(checked.ok()) << late;
      EXPECT_EQ(
          checked.error().text().find("rank0.json: found 50 of 50 calls that wait for the GPU return more than 1 ms"),
          0u)
          << checked.error().text();
      EXPECT_TRUE(check_plausible(few).ok());
      EXPECT_EQ(few.ranks[0].notes.assumptions.size(), 1u) << "too few to be sure";
    }
  }
}

/// A device synchronize waits for one device; with work of two it is not known for which.
TEST(Plausible, AWaitForOneOfTwoDevicesTellsNothing) {
  TraceJob job = waited_for(50, 2'000'000);
  TraceRank& rank = job.ranks[0];
  rank.streams[0].end = 40;
  rank.streams.push_back({1, 7, 0, 40, 50});
  for (std::uint32_t i = 40; i < 50; ++i) rank.device_records[i].stream = 1;
  EXPECT_TRUE(check_plausible(job).ok());
  EXPECT_TRUE(rank.notes.assumptions.empty()) << rank.notes.assumptions.front();
}

TEST(Plausible, OneKernelFarFromItsLaunchIsNoted) {
  const auto notes_of = [](std::uint32_t kernel, std::int64_t moved) {
    TraceRank rank = launched(50, 5'000);
    rank.device_records[kernel].start_ns += moved;
    std::ranges::stable_sort(rank.device_records, {}, &DeviceRecord::start_ns);
    TraceJob job = job_of({std::move(rank)}, 1);
    EXPECT_TRUE(check_plausible(job).ok());
    return job.ranks[0].notes.assumptions;
  };
  EXPECT_EQ(
      notes_of(49, 100'000'000'000),
      std::vector<std::string>{"1 of 50 kernels begins after up to 100 s in which the GPU had nothing to do and the "
                               "kernel was launched already: is its time right?"});
  EXPECT_EQ(notes_of(0, -10'000'000'000),
            std::vector<std::string>{"1 of 50 kernels begins more than 1 ms before the call that launched it, by up to "
                                     "10 s: spans and steps begin with it"});
}

TEST(Plausible, OfFewKernelsContradictionsAreNoted) {
  const auto notes_of = [](TraceRank rank) {
    TraceJob job = job_of({std::move(rank)}, 1);
    EXPECT_TRUE(check_plausible(job).ok());
    return job.ranks[0].notes.assumptions;
  };
  EXPECT_TRUE(notes_of(launched(5, 5'000)).empty());
  EXPECT_EQ(notes_of(launched(5, -2'000'000)),
            std::vector<std::string>{"5 of 5 kernels more than 1 ms before the calls that launched them, expected "
                                     "causes before effects; too few to be sure"});
  EXPECT_EQ(notes_of(launched(5, 5'000'000'000)).size(), 1u);
  TraceRank timeless = rank_of(0, 5, 10'000);
  for (DeviceRecord& d : timeless.device_records) d.duration_ns = 0;
  EXPECT_EQ(notes_of(timeless).size(), 1u);
}

/// Clocks of host and GPU that are 400 us apart: too little to refuse, but no kernel begins before its launch.
TEST(Plausible, KernelsBeforeTheirLaunchesAreNoted) {
  TraceRank apart = launched(50, -400'000);
  EXPECT_EQ(kernels_before_launches(job_of({apart}, 1), apart),
            "50 of 50 launched kernels begin before the calls that launched them, by up to 400 us");
  TraceJob job = job_of({apart}, 1);
  ASSERT_TRUE(check_plausible(job).ok());
  EXPECT_EQ(job.ranks[0].notes.assumptions,
            std::vector<std::string>{kernels_before_launches(job, apart) + ": are host and GPU on one clock?"});
  for (std::size_t i = 0; i < 25; ++i) apart.host_records[i].start_ns -= 500'000;
  EXPECT_EQ(kernels_before_launches(job, apart), "");
  EXPECT_EQ(kernels_before_launches(job, launched(50, -2'000)), "") << "rounded";
}

/// A rank with `copies` copies of 64 MiB to the GPU, each of so many ns.
TraceRank copying(std::uint32_t copies, std::int64_t ns) {
  TraceRank rank = rank_of(0, copies, 100'000'000);
  for (DeviceRecord& d : rank.device_records) {
    d.kind = DeviceRecordKind::memcpy;
    d.direction = CopyDirection::host_to_device;
    d.bytes = 64 << 20;
    d.duration_ns = ns;
  }
  return rank;
}

TEST(Plausible, NoCopyIsFasterThanItsLink) {
  TraceJob link = job_of({copying(50, 3'000'000)}, 1), too_fast = job_of({copying(50, 3'000)}, 1);
  ASSERT_TRUE(check_plausible(link).ok());
  EXPECT_TRUE(link.ranks[0].notes.assumptions.empty());
  const auto checked = check_plausible(too_fast);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().text().find("rank0.json: found 50 of 50 copies of 1 MiB or more faster than any link"), 0u)
      << checked.error().text();
  TraceRank one = copying(50, 3'000'000);
  one.device_records[7].duration_ns = 3'000;
  TraceJob slip = job_of({one}, 1), few = job_of({copying(5, 3'000)}, 1);
  ASSERT_TRUE(check_plausible(slip).ok());
  EXPECT_EQ(slip.ranks[0].notes.assumptions.size(), 1u);
  ASSERT_TRUE(check_plausible(few).ok());
  EXPECT_EQ(few.ranks[0].notes.assumptions.size(), 1u);
}

TEST(Plausible, NoCollectiveIsFasterThanItsLinks) {
  const auto reducing = [](std::int64_t bytes) {
    TraceRank rank = rank_of(0, 50, 10'000'000);
    TraceJob job = job_of({}, 8);
    for (std::uint32_t i = 0; i < 50; ++i) {
      rank.device_records[i].duration_ns = 1'000'000;
      rank.device_records[i].name = job.names.intern("ncclDevKernel_Generic");
      TraceCollective c;
      c.kind_known = true, c.bytes = bytes, c.group = 0, c.device_record = i;
      rank.collectives.push_back(c);
    }
    job.ranks.push_back(rank);
    job.groups.push_back({"0", "", {}, 8});
    return job;
  };
  TraceJob link = reducing(200'000'000), too_fast = reducing(20'000'000'000);  // 350 GB/s, and 35 TB/s
  ASSERT_TRUE(check_plausible(link).ok());
  EXPECT_TRUE(link.ranks[0].notes.assumptions.empty());
  const auto checked = check_plausible(too_fast);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().text().find("rank0.json: found 50 of 50 collectives of 1 MiB or more faster than any link"),
            0u)
      << checked.error().text();
}

/// Kernels of all-reduces in a group of two ranks, called `kind`.
std::vector<std::string> notes_on_collectives(graph::CollectiveKind kind, std::vector<std::uint32_t> group,
                                              std::uint32_t world = 2, bool guessed = false) {
  TraceRank rank = rank_of(0, 3, 10'000'000);
  rank.rank_is_guessed = guessed;
  TraceJob job = job_of({}, world);
  for (std::uint32_t i = 0; i < 3; ++i) {
    rank.device_records[i].name = job.names.intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    TraceCollective c;
    c.kind = kind, c.kind_known = true, c.group = 0, c.device_record = i;
    rank.collectives.push_back(c);
  }
  job.groups.push_back({"7", "", std::move(group), 2});
  job.ranks.push_back(rank);
  EXPECT_TRUE(check_plausible(job).ok());
  return job.ranks[0].notes.assumptions;
}

TEST(Plausible, CollectivesAreOfTheirKernelsKindAndOfTheirRanksGroup) {
  using Kind = graph::CollectiveKind;
  EXPECT_TRUE(notes_on_collectives(Kind::all_reduce, {0, 1}).empty());
  EXPECT_TRUE(notes_on_collectives(Kind::barrier, {}).empty());
  EXPECT_EQ(notes_on_collectives(Kind::all_gather, {0, 1}),
            std::vector<std::string>{"3 collectives of 3 named as another kind than their kernels (all_gather on "
                                     "'ncclDevKernel_AllReduce_Sum_f32_RING_LL'); the name of the call is taken"});
  for (const std::uint32_t world : {2, 0}) {  // 0: not stated
    EXPECT_EQ(notes_on_collectives(Kind::all_reduce, {5, 6}, world),
              std::vector<std::string>{"3 collectives of 3 of groups without rank 0 itself (the first: '7'): are the "
                                       "ranks of groups global ones?"});
  }
  EXPECT_EQ(notes_on_collectives(Kind::all_reduce, {5, 6}, 0, true),
            std::vector<std::string>{"3 collectives of 3 of groups without rank 0, a number that nothing in the trace "
                                     "says (the first: '7'): name the file by its rank, e.g. rank3.json"});
}

TEST(Plausible, GroupsHaveNoMoreRanksThanTheJob) {
  const auto notes_of = [](std::uint32_t world, std::vector<std::uint32_t> ranks, std::uint32_t size) {
    TraceJob job = job_of({rank_of(0, 50, 10'000)}, world);
    job.groups.push_back({"0", "", std::move(ranks), size});
    EXPECT_TRUE(check_plausible(job).ok());
    return job.notes.assumptions;
  };
  EXPECT_TRUE(notes_of(4, {0, 1, 2, 3}, 4).empty());
  EXPECT_TRUE(notes_of(0, {0, 1, 2, 3}, 4).empty()) << "not stated";
  EXPECT_TRUE(notes_of(4, {}, 4).empty());
  EXPECT_EQ(
      notes_of(2, {0, 1, 2, 3}, 4),
      (std::vector<std::string>{"1 process group of 1 with more ranks than the 2 of the job (the first: '0' lists rank "
                                "3): is the stated number of ranks that of the job?"}));
  EXPECT_EQ(notes_of(2, {}, 4).size(), 1u);
}

TEST(Plausible, AllocatedMemoryIsReservedAndOnTheDevice) {
  const auto notes = [](std::int64_t allocated, std::int64_t reserved) {
    TraceRank rank = rank_of(0, 5, 10'000);
    rank.devices.push_back({0, "GPU", 80'000'000'000, 108});
    MemoryRecord m;
    m.allocated = allocated, m.reserved = reserved;
    rank.memory.push_back(m);
    TraceJob job = job_of({rank}, 1);
    EXPECT_TRUE(check_plausible(job).ok());
    return job.ranks[0].notes.assumptions;
  };
  EXPECT_TRUE(notes(8'000'000'000, 9'000'000'000).empty());
  EXPECT_TRUE(notes(8'000'000'000, -1).empty());
  EXPECT_EQ(notes(90'000'000'000, -1),
            std::vector<std::string>{"found 90 GB allocated, expected at most the 80 GB of GPU 0"});
  EXPECT_EQ(notes(8'000'000'000, 4'000'000'000),
            std::vector<std::string>{"found 8 GB allocated of 4 GB reserved, expected at most what is reserved"});
}

TEST(Plausible, CopiesOfARankAreNamed) {
  TraceJob job = job_of({rank_of(0, 50, 20'000), rank_of(1, 50, 20'000), rank_of(2, 50, 20'001)}, 3);
  ASSERT_TRUE(check_plausible(job).ok());
  ASSERT_EQ(job.notes.assumptions.size(), 1u);
  EXPECT_EQ(job.notes.assumptions[0],
            "ranks 0 and 1 have the same kernels at the same nanoseconds: is one trace a copy of the other?");
}

TEST(Plausible, AFewOverlapsAreNoted) {
  TraceRank rank = rank_of(0, 50, 10'000);
  rank.device_records[7].duration_ns = 15'000;  // into the next one
  TraceJob job = job_of({rank}, 1);
  ASSERT_TRUE(check_plausible(job).ok());
  EXPECT_EQ(job.ranks[0].notes.assumptions,
            std::vector<std::string>{"1 kernel of 50 overlaps another on the same stream"});
}

TEST(Plausible, HostsOfOneRunWaitForEachOther) {
  TraceRank a = rank_of(0, 5, 10'000), b = rank_of(1, 5, 10'000);
  a.times_are_medians = b.times_are_medians = true;
  a.measured_iterations_ns = {3'000'000, 3'100'000, 90'000'000};
  b.measured_iterations_ns = {3'900'000, 4'000'000, 4'000'000};
  TraceJob one = job_of({a, b}, 2);
  EXPECT_TRUE(check_plausible(one).ok());
  b.measured_iterations_ns = {7'750'000};
  TraceJob two = job_of({a, b}, 2);
  const auto checked = check_plausible(two);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(
      checked.error().text().find("rank1.json: found iterations of 7.75 ms, where 'rank0.json' has some of 3.1 ms"), 0u)
      << checked.error().text();
}

TEST(Plausible, MediansAndPlacesAreNoTimesOfOneRun) {
  TraceRank rank = rank_of(0, 50, 1'000);
  rank.times_are_medians = true;
  TraceJob job = job_of({rank}, 1);
  EXPECT_TRUE(check_plausible(job).ok());
}

/// In whole microseconds a kernel of less than one takes none. One that communicates does not, nor one whose other calls last.
TEST(Plausible, KernelsThatLostTheirTimesAreNotThoseThatWereRounded) {
  struct Kernels {
    const char* name;
    std::int64_t duration_ns;
    bool communicates = false;
  };
  const auto notes_of = [](const std::vector<Kernels>& kinds, std::int64_t last_ns = 3'000) {
    TraceJob job = job_of({rank_of(0, 0, 0)}, 1);
    TraceRank& rank = job.ranks[0];
    std::int64_t start = 0;
    const auto add = [&](const Kernels& k) {
      DeviceRecord d;
      d.name = job.names.intern(k.name);
      d.start_ns = start += 1'000'000;
      d.duration_ns = k.duration_ns;
      d.communication = k.communicates;
      rank.device_records.push_back(d);
    };
    for (const Kernels& k : kinds) add(k);
    add({"last", last_ns});
    rank.streams[0].end = static_cast<std::uint32_t>(rank.device_records.size());
    EXPECT_TRUE(check_plausible(job).ok());
    for (const std::string& note : rank.notes.assumptions) {
      if (note.find("less than 0.2 us") != std::string::npos) return note.substr(0, note.find(" kernels"));
    }
    return std::string();
  };
  EXPECT_EQ(notes_of({{"fill", 0}, {"fill", 1'000}, {"fill", 0}, {"fill", 2'000}}), "");
  EXPECT_EQ(notes_of({{"fill", 0}, {"fill", 1'000}, {"fill", 40'000}}), "") << "no more than half of them last";
  EXPECT_EQ(notes_of({{"once", 0}}), "") << "nothing says how long it takes";
  EXPECT_EQ(notes_of({{"gemm", 0}, {"gemm", 90'000}, {"fill", 0}}), "1 of 4");
  EXPECT_EQ(notes_of({{"gemm", 0}, {"gemm", 90'000}, {"gemm", 12'000}, {"gemm", 2'000}, {"gemm", 0}}), "2 of 6");
  EXPECT_EQ(notes_of({{"ncclDevKernel_AllReduce", 0, true}, {"fill", 0}}), "1 of 3");
  EXPECT_EQ(notes_of({{"fill", 0}, {"fill", 1'000}}, 3'500), "1 of 3") << "in nanoseconds nothing takes none";
}

/// Of one slice of time alone a kernel may have no other call.
TEST(Plausible, CallsOfANameAddUpOverSlices) {
  WorkCounts work, later;
  work.calls_of_names[7] = {.timeless = 2};
  later.calls_of_names[7] = {.timed = 3, .lasting = 2};
  later.calls_of_names[8] = {.timeless = 1, .timed = 2, .lasting = 1};
  EXPECT_EQ(work.lost_times(), 0u);
  work.add(later);
  EXPECT_EQ(work.lost_times(), 2u);
}

}  // namespace
}  // namespace distsim::traces
