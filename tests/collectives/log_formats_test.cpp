// What all readers of logs refuse or leave out; logs of any size.
#include <gtest/gtest.h>

#include <istream>
#include <streambuf>
#include <tuple>

#include "collectives/logs/curve_import.hpp"
#include "collectives/logs/line_source.hpp"
#include "collectives/logs/log_readers.hpp"
#include "log_fixture.hpp"

namespace distsim::collectives {
namespace {

const std::string kHead =
    "# Collective test starting: all_gather_perf\n# nodes: 1  gpus: 3\n# size count type redop root time algbw busbw #wrong time "
    "algbw busbw #wrong\n";
std::string row(const char* size, const char* time, const char* algbw, const char* busbw) {
  return std::string(size) + " " + std::to_string(std::stoll(size) / 12) + " float none -1 " + time + " " + algbw +
         " " + busbw + " 0 " + time + " " + algbw + " " + busbw + " 0\n";
}

TEST(AllReaders, SizesAreWholeNumbersThatACurveFileHolds) {
  // What import writes must be read back: 2^60 bytes at most, no fractions, no infinities.
  const std::string osu =
      "# nodes: 2  ranks: 16\n# OSU MPI-CUDA Allgather Latency Test v5.7\n# Size  Avg Latency(us)\n8 4.0\n";
  expect_error(read("sizes_osu.txt", osu + "inf 7.0\n"), "sizes_osu.txt:5: size: found inf");
  expect_error(read("sizes_osu.txt", osu + "1152921504606846976 7.0\n"),
               "sizes_osu.txt:5: size: found 1.84467e+19");  // times 16
  const std::string param = "world_size: 8\n\tCOMMS-RES-all_reduce-float32 ";
  expect_error(read("sizes_param.txt", param + "inf 256 10.0 1 12 9 10 0.10 0.18\n"), "size: found inf");
  expect_error(read("sizes_param.txt", param + "nan 256 10.0 1 12 9 10 0.10 0.18\n"), "size: found nan");
  const auto json = [](const char* size, const char* time) {
    return std::string(R"({"test": "all_reduce_perf", "devices": [{"rank": 0}, {"rank": 1}], "results": [{"size": )") +
           size + R"(, "out_of_place": {"time": )" + time + "}}]}";
  };
  expect_error(read("sizes.json", json("1024.5", "10")), "size: found 1024.5");
  expect_error(read("sizes.json", json("1e300", "10")), "size: found 1e+300");
  expect_error(read("sizes.json", json("1024", "1e-300")), "time: found 0.000000");
}

TEST(LogRows, EachThatIsLeftOutIsNamed) {
  // 3 ranks: busbw = 2/3 algbw. 3000 B in 100 us: 0.03 and 0.02; 3001 is no multiple of 3; the third says 0.90 where
  // size over time is 0.06.
  const auto set = read("named.log", kHead + row("3000", "100", "0.03", "0.02") + row("3001", "100", "0.03", "0.02") +
                                         row("6000", "100", "0.90", "0.60") + row("9000", "100", "0.09", "0.06"));
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->remarks.size(), 2u);
  EXPECT_NE(set->remarks[0].find("named.log:5: left out: size: found 3001, expected a multiple of 3 ranks"),
            std::string::npos)
      << set->remarks[0];
  EXPECT_NE(set->remarks[1].find("named.log:6: left out: algbw: found 0.9, expected 0.06 (size / time)"),
            std::string::npos)
      << set->remarks[1];
  EXPECT_EQ(set->curves[0].flagged, 2u);
  EXPECT_EQ(set->curves[0].points.size(), 2u);
}

TEST(LogRows, OneThatTakesFarLongerThanThoseAroundItIsLeftOut) {
  const auto with_times = [](const std::string& first, const std::string& second, const std::string& third) {
    const std::string head =
        "# nodes: 1  ranks: 2\n# OSU MPI-CUDA Allreduce Latency Test v5.7\n# Size  Avg Latency(us)\n";
    return read("spike.log", head + "1024 " + first + "\n2048 " + second + "\n4096 " + third + "\n");
  };
  const auto spike = with_times("20", "601", "20");
  ASSERT_TRUE(spike.ok()) << spike.error().text();
  ASSERT_EQ(spike->remarks.size(), 1u);
  EXPECT_NE(spike->remarks[0].find("spike.log:5: left out: time: found 601 us for 2048 B, expected about the 20 us and "
                                   "20 us of the next smaller and next larger sizes"),
            std::string::npos)
      << spike->remarks[0];
  EXPECT_EQ(spike->curves[0].flagged, 1u);
  ASSERT_EQ(spike->curves[0].points.size(), 2u);
  EXPECT_EQ(spike->curves[0].points[1].bytes, 4096);
  for (const auto& [first, second, third] :
       {std::tuple("20", "600", "20"), {"20", "601", "21"}, {"601", "20", "20"}, {"20", "20", "601"}}) {
    const auto kept = with_times(first, second, third);
    ASSERT_TRUE(kept.ok()) << kept.error().text();
    EXPECT_EQ(kept->curves[0].flagged, 0u) << second;
    EXPECT_EQ(kept->curves[0].points.size(), 3u) << second;
  }
}

TEST(LogRows, AFailedRunIsPartialOrNothing) {
  const auto some = read("some.log", kHead + row("3000", "100", "0.03", "0.02") +
                                         "node7: Test NCCL failure common.cu:1005 'remote process exited'\n");
  ASSERT_TRUE(some.ok()) << some.error().text();
  EXPECT_TRUE(some->partial);
  expect_error(read("none.log", kHead + "node7: Test NCCL failure common.cu:1005 'unhandled system error'\n"),
               "the run failed: node7: Test NCCL failure");
}

TEST(LogRows, GroupsOfASplitCountOnce) {
  std::string text = "# Collective test starting: all_reduce_perf\n";
  for (int r = 0; r < 4; ++r)
    text += "#  Rank  " + std::to_string(r) + " Group  " + std::to_string(r / 2) + " Pid 1 on node" +
            std::to_string(r) + " device 0 [0x07] NVIDIA A100\n";
  text +=
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "1000000 250000 float sum -1 100 10.00 10.00 0 100 10.00 10.00 0\n";  // 2 ranks: factor 1
  const auto set = read("split.log", text);
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].ranks, 2u);
  EXPECT_EQ(set->curves[0].nodes, 2u);
  const std::string one_more = "#  Rank  4 Group  1 Pid 1 on node4 device 0 [0x07] NVIDIA A100\n";
  expect_error(read("split.log", text.insert(text.find("# size"), one_more)),
               "found 2 ranks in group 0 and 3 in group 1, expected groups of one size");
}

/// Gives `head`, then a line of noise again and again, then `tail`, and never holds more than a line.
class LongLog : public std::streambuf {
 public:
  LongLog(std::string head, std::string line, std::size_t times, std::string tail)
      : parts_{std::move(head), std::move(line), std::move(tail)}, times_(times) {}

 protected:
  int_type underflow() override {
    if (done_ == times_ + 2) return traits_type::eof();
    std::string& part = parts_[done_ == 0 ? 0 : done_ <= times_ ? 1 : 2];
    ++done_;
    setg(part.data(), part.data(), part.data() + part.size());
    return part.empty() ? underflow() : traits_type::to_int_type(part[0]);
  }

 private:
  std::string parts_[3];
  std::size_t times_, done_ = 0;
};

TEST(LineSource, ALongLogIsStreamed) {
  LongLog buffer(kHead, std::string(100'000, 'x') + "\nnode1: NCCL INFO Channel 00/24\n", 500,
                 row("3000", "100", "0.03", "0.02"));  // 50 MB
  std::istream in(&buffer);
  LineSource lines(in, "long.log");
  const auto set = parse_nccl_tests(lines);
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].points.size(), 1u);
  EXPECT_EQ(lines.number(), 3u + 1000u + 1u);
}

TEST(LineSource, LinesAsTheyAre) {
  std::istringstream in(
      "\xEF\xBB\xBF"
      "a\r\n\nlast");
  LineSource lines(in, "x");
  std::string_view line;
  std::vector<std::string> out;
  while (lines.next(line).value()) out.emplace_back(line);
  EXPECT_EQ(out, (std::vector<std::string>{"a", "", "last"}));
  EXPECT_TRUE(lines.unfinished());
  std::istringstream wide(std::string("a\0b\0", 4));
  LineSource binary(wide, "y");
  EXPECT_FALSE(binary.next(line).ok());
}

/// A log of two runs, of 16 and of 32 ranks: the second would name the ranks of both.
TEST(AllReaders, RunsOfOtherRanksBelowARunAreRefused) {
  const std::string osu =
      "# OSU MPI-CUDA Broadcast Latency Test v5.7\n# Size       Avg Latency(us)\n1048576  150\n2097152  300\n";
  EXPECT_TRUE(read("same_osu.txt", "# nodes: 2  ranks: 16\n" + osu + "# nodes: 2  ranks: 16\n" + osu).ok());
  expect_error(read("two_osu.txt", "# nodes: 2  ranks: 16\n" + osu + "# nodes: 4  ranks: 32\n" + osu),
               "two_osu.txt:6: nodes: found 4 below a run of 2, expected the same");
  const std::string param = "\tCOMMS-RES-broadcast-float32 1048576 262144 50.0 51.0 52.0 48.0 53.0 20.972 20.972\n";
  expect_error(read("two_param.log", "world_size: 8\n" + param + "world_size: 16\n" + param),
               "world_size: found 16 below a run of 8");
  const auto nccl = [](int ranks) {
    std::string text =
        "# Collective test starting: broadcast_perf\n# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 iters: 20\n";
    for (int i = 0; i < ranks; ++i)
      text += "#  Rank " + std::to_string(i) + " Group 0 Pid 1 on n0 device " + std::to_string(i) +
              " [0x0] NVIDIA A100-SXM4-80GB\n";
    return text +
           "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
           "     1048576        262144     float    none       0    50.00   20.97   20.97      0\n"
           "# Avg bus bandwidth    : 20.97\n";
  };
  EXPECT_TRUE(read("same_nccl.log", nccl(4) + nccl(4)).ok());
  expect_error(read("two_nccl.log", nccl(4) + nccl(8)), "ranks: found 8 below a run of 4");
}

/// Of two numbers above a table, neither is chosen.
TEST(AllReaders, TwoNumbersAboveATableAreRefused) {
  const std::string row = "# size count type time algbw busbw\n1048576 262144 float 50.00 20.97 20.97\n";
  const auto nccl = [&](const std::string& lines) { return read("broadcast_twice.log", lines + row); };
  EXPECT_TRUE(nccl("# nodes: 1  gpus: 8\n# nodes: 1  gpus: 8\n").ok());
  expect_error(nccl("# nodes: 1  gpus: 8\n# nodes: 2  gpus: 8\n"),
               "log:2: nodes: found 2 after 1, expected one number");
  expect_error(nccl("# nodes: 1  gpus: 8\n# gpus: 4\n"), "log:2: gpus: found 4 after 8, expected one number");
  const std::string osu = "# OSU MPI-CUDA Allgather Latency Test v5.7\n# Size  Avg Latency(us)\n8 5.5\n";
  expect_error(read("osu_twice.txt", "# nodes: 1  ranks: 8\n# gpus: 4\n" + osu),
               "osu_twice.txt:2: ranks: found 4 after 8, expected one number");
  expect_error(read("param_twice.log",
                    "world_size: 8\nworld_size: 16\n"
                    "\tCOMMS-RES-broadcast-float32 1048576 262144 50 51 52 48 53 20.972 20.972\n"),
               "param_twice.log:2: world_size: found 16 after 8, expected one number");
}

/// A flag does not replace what a log says itself.
TEST(AllReaders, FlagsThatContradictTheLogAreRefused) {
  expect_error(read("flag_osu.txt", kOsu, {16, 4}), "--nodes: found 4, but the log states 2");
  expect_error(read("flag_osu.txt", kOsu, {8, 0}), "--ranks: found 8, but the log states 16");
  EXPECT_TRUE(read("flag_osu.txt", kOsu, {16, 2}).ok());
  const std::string own =
      R"({"ranks": 16, "nodes": 4, "tables": [{"collective": "broadcast", "ranks": 16, "nodes": 4,
          "rows": [{"size": 1024, "out_of_place": {"time": 10}}]}]})";
  EXPECT_TRUE(read("flag_own.json", own).ok());
  expect_error(read("flag_own.json", own, {0, 2}), "--nodes: found 2, but the log states 4");
}

/// Prices never fall as sizes grow, so a curve that does is not priced as measured; that is said.
TEST(AllReaders, TimesThatFallAreNamed) {
  const std::string head =
      "# nodes: 2  ranks: 16\n# OSU MPI-CUDA Allreduce Latency Test v5.7\n# Size  Avg Latency(us)\n";
  const auto falls = read("falls.txt", head + "1048576 500\n2097152 60\n4194304 40\n");
  ASSERT_TRUE(falls.ok());
  ASSERT_EQ(falls->remarks.size(), 1u);
  EXPECT_NE(
      falls->remarks[0].find("falls.txt: all_reduce of 16 ranks: found 1048576 B in 500 us and 4194304 B in 40 us, "
                             "expected no larger size in less time"),
      std::string::npos)
      << falls->remarks[0];
  EXPECT_TRUE(read("noise.txt", head + "1048576 100\n2097152 90\n4194304 140\n")->remarks.empty());
}

}  // namespace
}  // namespace distsim::collectives
