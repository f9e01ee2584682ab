// Profiles slice by slice against the profile of the whole.
#include "sim/profile/profile_in_pieces.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>

#include "peak_memory.hpp"
#include "sanitizers.hpp"
#include "sim/report/profile/profile_report.hpp"
#include "test_data.hpp"
#include "trace_samples.hpp"
#include "traces/kineto/kineto_survey.hpp"
#include "traces/verdict.hpp"

namespace distsim::profile {
namespace {

using test::event;

/// Steps of 1 ms with ops that launch kernels on two streams; the last kernel of a step runs in the next one.
std::vector<std::string> many_steps(int steps, bool marked = true) {
  std::vector<std::string> out{event("user_annotation", "training", "5", "10", 0, 1000.0 * steps)};
  int correlation = 0;
  for (int s = 0; s < steps; ++s) {
    const double t = 1000.0 * s;
    if (marked) out.push_back(event("user_annotation", "ProfilerStep#" + std::to_string(s + 3), "5", "10", t, 990));
    for (int i = 0; i < 8; ++i) {
      const std::string id = "\"correlation\":" + std::to_string(++correlation);
      const bool collective = i == 5;
      out.push_back(event("cpu_op", i % 2 ? "aten::mul" : "aten::mm", "5", "10", t + 10 + 100 * i, 60,
                          i % 2 ? "" : "\"Input Dims\":[[64,32],[32,16]],\"Input type\":[\"float\",\"float\"]"));
      out.push_back(event("cuda_runtime", "cudaLaunchKernel", "5", "10", t + 30 + 100 * i, 7 + s % 3, id));
      out.push_back(event(
          "kernel", collective ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)" : "gemm" + std::to_string(i % 3), "0",
          collective ? "9" : "7", t + 100 * i + (i == 7 ? 320 : 50), 70 + i + s % 2,
          id +
              (collective
                   ? ",\"stream\":9,\"Collective name\":\"allreduce\",\"In msg nelems\":256,\"dtype\":\"Float\",\"Group size\":2"
                   : ",\"stream\":7")));
    }
  }
  return out;
}

/// Rows of equal time may come in any order.
std::multiset<std::string> lines(const std::string& text) {
  std::multiset<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.insert(line);
  return out;
}

class ProfileInPieces : public testing::Test {
 protected:
  /// Both profiles of one trace.
  void both(const std::string& text, std::uint64_t records, const traces::TraceOptions& options = {}) {
    const std::string path = test::write(folder_, "t.json", text);
    auto job = traces::read_traces({path}, options);
    ASSERT_TRUE(job.ok()) << job.error().text();
    job_ = std::move(*job);
    whole_ = *make_profile(job_);
    auto pieces = profile_in_pieces({path}, options, records);
    ASSERT_TRUE(pieces.ok()) << pieces.error().text();
    pieces_ = std::move(*pieces);
  }

  void expect_equal_tables() {
    for (const report::ProfileTable table :
         {report::ProfileTable::steps, report::ProfileTable::tree, report::ProfileTable::ops,
          report::ProfileTable::kernels, report::ProfileTable::collectives})
      EXPECT_EQ(report::profile_csv(job_, whole_, table), report::profile_csv(pieces_.job, pieces_.profile, table));
    const RecordCounts &a = whole_.ranks[0].records, &b = pieces_.profile.ranks[0].records;
    EXPECT_EQ(std::tie(a.kernels, a.copies, a.unlaunched, a.host, a.collectives, a.streams),
              std::tie(b.kernels, b.copies, b.unlaunched, b.host, b.collectives, b.streams));
    EXPECT_EQ(whole_.ranks[0].overheads.t4.total, pieces_.profile.ranks[0].overheads.t4.total);
  }

  std::string folder_ = test::scratch_dir("profile_in_pieces");
  traces::TraceJob job_;
  Profile whole_;
  PiecedProfile pieces_;
};

TEST_F(ProfileInPieces, TablesAreThoseOfTheWhole) {
  for (const std::uint64_t records : {1u, 60u, 1'000'000u}) {
    both(test::trace(many_steps(12), "\"baseTimeNanoseconds\":1700000000000000000,"), records);
    EXPECT_EQ(pieces_.slices, records == 1 ? 12u : records == 60 ? 6u : 1u);
    if (records == 1'000'000) expect_equal_tables();
    ASSERT_EQ(pieces_.profile.ranks[0].steps.size(), 12u);
    EXPECT_GT(whole_.ranks[0].profiler.records_per_step, 0);
    EXPECT_DOUBLE_EQ(pieces_.profile.ranks[0].profiler.records_per_step, whole_.ranks[0].profiler.records_per_step);
    EXPECT_EQ(pieces_.profile.ranks[0].profiler.with, whole_.ranks[0].profiler.with);
    for (std::size_t i = 0; i < 12; ++i) {
      const StepProfile &a = whole_.ranks[0].steps[i], &b = pieces_.profile.ranks[0].steps[i];
      EXPECT_EQ(a.step.name, b.step.name);
      EXPECT_EQ(std::tie(a.measured, a.split.wall, a.split.busy, a.split.compute, a.split.comm, a.split.exposed,
                         a.split.idle, a.kernels, a.launches),
                std::tie(b.measured, b.split.wall, b.split.busy, b.split.compute, b.split.comm, b.split.exposed,
                         b.split.idle, b.kernels, b.launches))
          << i;
    }
    for (const report::ProfileTable table : {report::ProfileTable::tree, report::ProfileTable::ops,
                                             report::ProfileTable::kernels, report::ProfileTable::collectives})
      EXPECT_EQ(report::profile_csv(job_, whole_, table), report::profile_csv(pieces_.job, pieces_.profile, table));
    EXPECT_EQ(whole_.ranks[0].whole.split.busy, pieces_.profile.ranks[0].whole.split.busy);
    EXPECT_EQ(whole_.ranks[0].whole.split.exposed, pieces_.profile.ranks[0].whole.split.exposed);
    EXPECT_EQ(whole_.ranks[0].whole.split.wall, pieces_.profile.ranks[0].whole.split.wall);
    EXPECT_EQ(whole_.ranks[0].whole.split.idle, pieces_.profile.ranks[0].whole.split.idle);
    EXPECT_EQ(whole_.ranks[0].whole.gaps.count, pieces_.profile.ranks[0].whole.gaps.count);
    EXPECT_EQ(whole_.ranks[0].whole.gaps.total, pieces_.profile.ranks[0].whole.gaps.total);
    EXPECT_EQ(whole_.ranks[0].whole.gaps.waiting_for_host, pieces_.profile.ranks[0].whole.gaps.waiting_for_host);
    EXPECT_EQ(whole_.ranks[0].device_time, pieces_.profile.ranks[0].device_time);
    EXPECT_EQ(whole_.ranks[0].device_time_before, pieces_.profile.ranks[0].device_time_before);
    EXPECT_EQ(whole_.ranks[0].records.host, pieces_.profile.ranks[0].records.host);
    EXPECT_EQ(whole_.ranks[0].records.kernels, pieces_.profile.ranks[0].records.kernels);
    EXPECT_EQ(whole_.ranks[0].overheads.t4.total, pieces_.profile.ranks[0].overheads.t4.total);
  }
}

/// A wait that crosses the edges of slices, also of one in which nothing runs, is what it is in the whole.
TEST_F(ProfileInPieces, WaitsForTheHostAcrossEdges) {
  std::vector<std::string> events;
  for (int s = 0; s < 9; ++s) {
    const double t = 100.0 * s, launch = s % 3 == 2 ? t - 45 : t + 20;  // the third before the GPU ran dry
    events.push_back(event("user_annotation", "ProfilerStep#" + std::to_string(s), "5", "10", t, 95));
    events.push_back(event("cpu_op", "aten::mm", "5", "10", t + 15, 40));
    if (s == 3 || s == 4) continue;
    const std::string id = "\"correlation\":" + std::to_string(s + 1);
    events.push_back(event("cuda_runtime", "cudaLaunchKernel", "5", "10", launch, 3, id));
    events.push_back(event("kernel", "gemm", "0", "7", t + 30, 40, id + ",\"stream\":7"));
  }
  for (const std::uint64_t records : {1u, 6u}) {
    both(test::trace(events), records);
    EXPECT_GT(pieces_.slices, 2u);
    const RankProfile &a = whole_.ranks[0], &b = pieces_.profile.ranks[0];
    ASSERT_EQ(b.steps.size(), 9u);
    std::int64_t waits = 0;
    for (std::size_t i = 0; i < 9; ++i) {
      EXPECT_EQ(a.steps[i].gaps.waiting_for_host, b.steps[i].gaps.waiting_for_host) << i;
      EXPECT_EQ(a.steps[i].gaps.total, b.steps[i].gaps.total) << i;
      waits += a.steps[i].gaps.waiting_for_host;
    }
    EXPECT_GT(waits, 0);
    EXPECT_EQ(a.whole.gaps.waiting_for_host, b.whole.gaps.waiting_for_host);
    EXPECT_EQ(a.whole.gaps.total, b.whole.gaps.total);
    EXPECT_EQ(a.whole.split.wall, b.whole.split.wall);
    EXPECT_EQ(a.whole.launches, b.whole.launches);
  }
}

/// The profiler opens a step more than it records: that one alone is left out, with what the host did in it.
TEST_F(ProfileInPieces, OnlyTheCutStepIsLeftOut) {
  std::vector<std::string> events = many_steps(6);
  events.push_back(event("user_annotation", "ProfilerStep#9", "5", "10", 6000, 50));
  events.push_back(event("cpu_op", "aten::mm", "5", "10", 6010, 20));
  for (const std::uint64_t records : {1u, 60u}) {
    both(test::trace(events), records);
    EXPECT_EQ(whole_.ranks[0].steps.size(), 6u);
    EXPECT_EQ(pieces_.profile.ranks[0].steps.size(), 6u);
    EXPECT_DOUBLE_EQ(pieces_.profile.ranks[0].profiler.records_per_step, whole_.ranks[0].profiler.records_per_step);
    const auto& notes = pieces_.job.ranks[0].notes.assumptions;
    EXPECT_EQ(std::ranges::count_if(notes, [](const std::string& n) { return n.starts_with("the last step, "); }), 1);
  }
}

TEST_F(ProfileInPieces, WithoutSteps) {
  both(test::trace(many_steps(12, false)), 40);
  EXPECT_GT(pieces_.slices, 3u);
  EXPECT_EQ(whole_.ranks[0].whole.split.compute, pieces_.profile.ranks[0].whole.split.compute);
  EXPECT_EQ(whole_.ranks[0].whole.split.idle, pieces_.profile.ranks[0].whole.split.idle);
  EXPECT_EQ(report::profile_csv(job_, whole_, report::ProfileTable::kernels),
            report::profile_csv(pieces_.job, pieces_.profile, report::ProfileTable::kernels));
}

TEST_F(ProfileInPieces, StepsByPattern) {
  traces::TraceOptions options;
  options.step_pattern = "^batch";
  std::vector<std::string> events = many_steps(5, false);
  for (int s = 0; s < 5; ++s)
    events.push_back(event("user_annotation", "batch " + std::to_string(s), "5", "10", 1000 * s, 900));
  both(test::trace(events), 30, options);
  EXPECT_EQ(pieces_.profile.ranks[0].steps.size(), 5u);
  EXPECT_EQ(whole_.ranks[0].steps[2].measured, pieces_.profile.ranks[0].steps[2].measured);
  options.step_pattern = "nonesuch";
  EXPECT_FALSE(profile_in_pieces({folder_ + "/t.json"}, options).ok());
}

/// What is missing is that of the file, not of the records that are not kept.
TEST_F(ProfileInPieces, TheVerdictIsThatOfTheWhole) {
  const std::string text = test::trace(many_steps(5, false));
  both(text, 30);
  EXPECT_EQ(traces::verdict_of(pieces_.job), traces::verdict_of(job_));
  both(text.substr(0, text.size() * 3 / 4), 30);
  EXPECT_NE(traces::verdict_of(job_).find("the rest of a file that is cut off"), std::string::npos);
  EXPECT_EQ(traces::verdict_of(pieces_.job), traces::verdict_of(job_));
  both(test::trace({event("user_annotation", "ProfilerStep#0", "5", "10", 0, 900)}), 30);
  EXPECT_NE(traces::verdict_of(pieces_.job).find("kernels and copies of a GPU"), std::string::npos);
}

/// Lost kernels, kernels between steps, calls named otherwise than their kernels and sizes that are not known add up.
TEST_F(ProfileInPieces, WhatRecordsLackAddsUp) {
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  std::vector<std::string> lost, unmarked, unlike, unsized;
  for (const std::string& e : many_steps(12)) {
    const bool kernel = has(e, "\"kernel\"");
    if (!kernel || !has(e, "gemm1")) lost.push_back(e);
    if (!has(e, "ProfilerStep#5\"") && !has(e, "ProfilerStep#9\"")) unmarked.push_back(e);
    std::string other = e;
    if (const std::size_t at = other.find("\"allreduce\""); at != other.npos) other.replace(at, 11, "\"allgather\"");
    unlike.push_back(other);
    other = e;
    if (const std::size_t at = other.find(",\"In msg nelems\":256"); at != other.npos) other.erase(at, 20);
    unsized.push_back(other);
  }
  for (const auto& [events, word] : {std::pair(lost, "the GPU work of 36 of 96 kernel launches"),
                                     {unmarked, "the step of 16 of 96 kernels launched between steps"},
                                     {unlike, "12 collectives of 12 named as another kind than their kernels"},
                                     {unsized, "12 of 12 communication kernels have no known size"}}) {
    both(test::trace(events), 30);
    EXPECT_GT(pieces_.slices, 3u) << word;
    std::string said = traces::verdict_of(pieces_.job);
    EXPECT_EQ(said, traces::verdict_of(job_)) << word;
    for (const std::string& note : pieces_.job.ranks[0].notes.assumptions) said += "; " + note;
    EXPECT_TRUE(has(said, word)) << word << " in " << said;
    std::vector<std::string> whole = job_.ranks[0].notes.assumptions;
    for (const std::string& note : whole) EXPECT_TRUE(has(said, note.c_str())) << note << " in " << said;
  }
}

/// Real traces: kernels queue across steps, streams overlap, launches are missing.
TEST_F(ProfileInPieces, RealTraces) {
  const std::string root = test::data("traces");
  const unsigned cut = test::is_sample("traces") ? 4 : 1;  // the samples are that much smaller
  for (const auto& [name, records] :
       {std::pair("hta/recsys_a100_rank3of8", 25'000u), std::pair("tracelens/mi300_resnet_ddp_rank0of8", 8'000u)}) {
    const std::string path = root + "/" + name + ".json.gz";
    const auto job = traces::read_traces({path});
    const auto pieces = profile_in_pieces({path}, {}, records / cut);
    ASSERT_TRUE(job.ok() && pieces.ok()) << name;
    const Profile whole = *make_profile(*job);
    EXPECT_GT(pieces->slices, 1u) << name;
    ASSERT_EQ(whole.ranks[0].steps.size(), pieces->profile.ranks[0].steps.size()) << name;
    for (std::size_t i = 0; i < whole.ranks[0].steps.size(); ++i) {
      const StepProfile &a = whole.ranks[0].steps[i], &b = pieces->profile.ranks[0].steps[i];
      EXPECT_EQ(
          std::tie(a.measured, a.split.wall, a.split.busy, a.split.compute, a.split.comm, a.split.exposed, a.kernels),
          std::tie(b.measured, b.split.wall, b.split.busy, b.split.compute, b.split.comm, b.split.exposed, b.kernels))
          << name << " " << a.step.name;
    }
    EXPECT_TRUE(lines(report::profile_csv(*job, whole, report::ProfileTable::kernels)) ==
                lines(report::profile_csv(pieces->job, pieces->profile, report::ProfileTable::kernels)))
        << name;
    EXPECT_EQ(report::profile_csv(*job, whole, report::ProfileTable::collectives),
              report::profile_csv(pieces->job, pieces->profile, report::ProfileTable::collectives))
        << name;
  }
}

TEST_F(ProfileInPieces, OneKinetoTraceIsExpected) {
  const std::string a = test::write(folder_, "a.json", test::trace(test::two_steps())),
                    b = test::write(folder_, "b.json", test::trace(test::two_steps()));
  EXPECT_NE(profile_in_pieces({a, b}, {}).error().text().find("found 2 files"), std::string::npos);
  const std::string et =
      test::write(folder_, "et.json", R"x({"schema":"1.0.1","nodes":[{"id":2,"name":"a","parent":1}]})x");
  EXPECT_FALSE(profile_in_pieces({et}, {}).ok());
  EXPECT_FALSE(profile_in_pieces({folder_ + "/none.json"}, {}).ok());
}

/// Slices of a file that becomes another one while it is read are never of both.
TEST_F(ProfileInPieces, AFileThatIsReplacedIsRefused) {
  const std::string steady = test::write(folder_, "a.json", test::trace(many_steps(8))),
                    other = test::write(folder_, "b.json", test::trace(many_steps(9))), link = folder_ + "/link.json";
  const auto table = [](const PiecedProfile& p) {
    return report::profile_csv(p.job, p.profile, report::ProfileTable::steps);
  };
  std::set<std::string> good;
  for (const std::string& path : {steady, other}) good.insert(table(*profile_in_pieces({path}, {}, 1)));
  ASSERT_EQ(good.size(), 2u);
  std::filesystem::create_symlink(steady, link);
  std::atomic<bool> ends = false;
  std::jthread changing([&] {
    for (bool first = false; !ends; first = !first) {
      std::filesystem::create_symlink(first ? steady : other, folder_ + "/next");
      std::filesystem::rename(folder_ + "/next", link);
      std::this_thread::yield();
    }
  });
  bool refused = false;
  for (int run = 0; run < 10'000 && !refused; ++run) {
    const auto pieces = profile_in_pieces({link}, {}, 1);
    if (pieces.ok()) {
      EXPECT_TRUE(good.contains(table(*pieces)));
    }
    refused = !pieces.ok();
    if (refused) {
      EXPECT_NE(pieces.error().text().find("link.json: found another file than at first"), std::string::npos)
          << pieces.error().text();
    }
    if (HasFailure()) break;
  }
  ends = true;
  EXPECT_TRUE(refused);
}

/// Whatever numbers a trace holds, and wherever it ends: an answer or one line.
TEST_F(ProfileInPieces, AbsurdAndCut) {
  traces::TraceOptions options;
  options.window = 1 << 12;
  std::vector<std::string> events = test::two_steps();
  events.erase(events.begin() + 4, events.begin() + 7);
  events.resize(8);
  const std::string text = test::trace(events, "\"baseTimeNanoseconds\":1700000000000000000,");
  std::size_t read = 0;
  const auto attempt = [&](const std::string& spoiled) {
    const auto pieces = profile_in_pieces({test::write(folder_, "s.json", spoiled)}, options, 3);
    if (!pieces.ok()) {
      EXPECT_EQ(pieces.error().text().find('\n'), std::string::npos);
      return;
    }
    ++read;
    EXPECT_FALSE(report::profile_text(pieces->job, pieces->profile, {}).empty());
  };
  test::for_each_absurd_number(text, 0, attempt);
  for (std::size_t n = 0; n < text.size(); n += 31) attempt(text.substr(0, n));
  EXPECT_GT(read, 300u);
}

/// A survey of records that lie far apart holds no more than its bins.
TEST_F(ProfileInPieces, BinsAreBounded) {
  std::vector<std::string> events;
  for (int i = 0; i < 70'000; ++i)
    events.push_back(event("kernel", "k", "0", "7", 2000.0 * i - 5e6, 1, "\"stream\":7"));
  const auto files = traces::open_trace_file(test::write(folder_, "far.json", test::trace(events)), {});
  ASSERT_TRUE(files.ok());
  const auto survey = traces::survey_kineto(files->front(), {});
  ASSERT_TRUE(survey.ok());
  EXPECT_LE(survey->bins.size(), traces::KinetoSurvey::kMostBins);
  EXPECT_GT(survey->bin_ns, 1'000'000);
  std::uint64_t records = 0;
  for (const auto& [at, bin] : survey->bins) records += bin.records;
  EXPECT_EQ(records, 70'000u);
}

/// Four times the steps, the same memory.
TEST_F(ProfileInPieces, MemoryStaysWithTheSlice) {
  if (test::has_address_sanitizer()) GTEST_SKIP() << "the address sanitizer holds freed memory back";
  const std::string small = test::write(folder_, "small.json", test::trace(many_steps(500))),
                    large = test::write(folder_, "large.json", test::trace(many_steps(4000)));
  const auto added = [](const std::string& path) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      traces::TraceOptions options;
      options.window = 1 << 16;
      const long before = test::peak_kib();
      const bool ok = profile_in_pieces({path}, options, 10'000).ok();
      const long kilobytes = ok ? test::peak_kib() - before : -1;
      [[maybe_unused]] const auto written = ::write(ends[1], &kilobytes, sizeof kilobytes);
      ::_exit(0);
    }
    long kilobytes = -1;
    EXPECT_EQ(::read(ends[0], &kilobytes, sizeof kilobytes), static_cast<ssize_t>(sizeof kilobytes));
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    return kilobytes;
  };
  const long few = added(small), many = added(large);
  EXPECT_GE(few, 0);
  EXPECT_LT(many, few + 6 * 1024);  // the steps' own rows grow; held in memory, the larger file would take 15 MB more
}

/// Kinds and sizes that take equally long come in one order.
TEST_F(ProfileInPieces, CollectivesOfEqualTimeAreInOneOrder) {
  std::vector<std::string> events;
  int id = 0;
  for (int s = 0; s < 6; ++s) {
    const double t = 1000.0 * s;
    events.push_back(event("user_annotation", "ProfilerStep#" + std::to_string(s + 3), "5", "10", t, 990));
    for (const char* call : {"reduce_scatter", "broadcast", "allreduce", "allgather"}) {
      for (const int elements : {256, 64}) {
        const std::string n = std::to_string(elements), correlation = "\"correlation\":" + std::to_string(++id);
        const double start = t + 20 + 100 * (id % 8);
        events.push_back(event("cuda_runtime", "cudaLaunchKernel", "5", "10", start, 5, correlation));
        events.push_back(event("kernel", "ncclDevKernel(x)", "0", "9", start + 10, 50,
                               correlation + ",\"stream\":9,\"Collective name\":\"" + call + "\",\"In msg nelems\":" +
                                   n + ",\"Out msg nelems\":" + n + ",\"dtype\":\"Float\",\"Group size\":2"));
      }
    }
  }
  for (const std::uint64_t records : {1u, 40u}) {
    both(test::trace(events), records);
    EXPECT_GT(pieces_.slices, 1u);
    EXPECT_EQ(report::profile_csv(job_, whole_, report::ProfileTable::collectives),
              report::profile_csv(pieces_.job, pieces_.profile, report::ProfileTable::collectives));
  }
}

}  // namespace
}  // namespace distsim::profile
