// Stacks of Python's profilers.
#include <gtest/gtest.h>

#include "kineto_text.hpp"
#include "traces/stacks/host_stacks.hpp"

namespace distsim::traces {
namespace {

class HostStacksTest : public testing::Test {
 protected:
  HostStacks read(const std::string& text) {
    auto stacks = read_host_stacks(test::write(folder_, "stacks", text));
    EXPECT_TRUE(stacks.ok()) << stacks.error().text();
    return stacks.ok() ? std::move(stacks).value() : HostStacks{};
  }
  std::string refusal(const std::string& text) {
    const auto stacks = read_host_stacks(test::write(folder_, "stacks", text));
    return stacks.ok() ? "accepted" : stacks.error().text();
  }
  std::string folder_ = test::scratch_dir("host_stacks");
};

const HostFunction& function(const HostStacks& stacks, const std::string& name) {
  static const HostFunction kNone{"none", -1, -1};
  for (const HostFunction& f : stacks.functions) {
    if (f.name == name) return f;
  }
  return kNone;
}

/// 12 samples in all: train itself 2, forward 9 (7 + 2, once per stack though it recurs), load 1.
TEST_F(HostStacksTest, CollapsedStacks) {
  const HostStacks s = read(
      "main (t.py:1);train;forward 7\nmain (t.py:1);train 2\nmain (t.py:1);train;forward;forward 2\n"
      "main (t.py:1);load 1\nno count\n");
  EXPECT_EQ(s.format, "collapsed stacks");
  EXPECT_FALSE(s.seconds);
  EXPECT_EQ(s.sum, 12);
  EXPECT_EQ(s.functions.at(0).name, "forward");
  EXPECT_EQ(function(s, "forward").self, 9);
  EXPECT_EQ(function(s, "forward").total, 9);
  EXPECT_EQ(function(s, "train").self, 2);
  EXPECT_EQ(function(s, "train").total, 11);
  EXPECT_EQ(function(s, "main (t.py:1)").total, 12);
  EXPECT_EQ(function(s, "main (t.py:1)").self, 0);
  ASSERT_EQ(s.notes.dropped.size(), 1u);
  EXPECT_EQ(s.notes.dropped[0].count, 1u);
}

TEST_F(HostStacksTest, Speedscope) {
  const HostStacks s = read(
      R"x({"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"main","file":"t.py","line":3},{"name":"step"}]},)x"
      R"x("profiles":[{"type":"sampled","unit":"milliseconds","samples":[[0],[0,1],[7]],"weights":[10,30,5]},)x"
      R"x({"type":"sampled","unit":"seconds","samples":[[1]],"weights":[0.06]},{"type":"evented","events":[]}]})x");
  EXPECT_TRUE(s.seconds);
  EXPECT_NEAR(s.sum, 0.1, 1e-12);
  EXPECT_NEAR(function(s, "step").self, 0.09, 1e-12);
  EXPECT_NEAR(function(s, "main (t.py)").total, 0.04, 1e-12);
  EXPECT_EQ(s.notes.dropped.size(), 2u);  // the evented profile, the sample of a frame that is not there
  EXPECT_EQ(s.notes.assumptions.size(), 1u);
}

/// As `python3 -m cProfile` prints it; a recursive function has "calls/primitive calls".
TEST_F(HostStacksTest, TableOfCProfile) {
  const HostStacks s = read(
      "         47 function calls (7 primitive calls) in 0.750 seconds\n\n   Ordered by: internal time\n\n"
      "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n"
      "     43/3    0.500    0.012    0.700    0.233 a.py:10(forward)\n"
      "        3    0.200    0.067    0.200    0.067 {method 'item' of 'torch._C.TensorBase' objects}\n"
      "        1    0.050    0.050    0.750    0.750 a.py:1(<module>)\n\n");
  EXPECT_EQ(s.format, "pstats");
  EXPECT_TRUE(s.seconds);
  EXPECT_NEAR(s.sum, 0.75, 1e-12);
  EXPECT_EQ(s.functions.at(0).name, "a.py:10(forward)");
  EXPECT_EQ(function(s, "{method 'item' of 'torch._C.TensorBase' objects}").self, 0.2);
  EXPECT_EQ(function(s, "a.py:1(<module>)").total, 0.75);
  EXPECT_TRUE(s.notes.dropped.empty());
}

/// Cut off within its last row at any byte: what is left of the row names a function, or is counted as unreadable.
TEST_F(HostStacksTest, ATableThatIsCutOffIsReadUpToThere) {
  const std::string table =
      "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n"
      "        1    0.500    0.500    0.750    0.750 a.py:1(<module>)\n";
  const std::string last = "        2    0.200    0.100    0.250    0.125 a.py:10(forward)";
  const std::size_t name = last.find("a.py");
  for (std::size_t n = last.find('2') + 1; n <= last.size(); ++n) {
    const HostStacks s = read(table + last.substr(0, n));
    EXPECT_EQ(s.functions.size(), n > name ? 2u : 1u) << n;
    EXPECT_EQ(s.notes.dropped.empty(), n > name) << n;
  }
}

TEST_F(HostStacksTest, WhatIsNoStackIsRefused) {
  EXPECT_NE(refusal("").find("found no stack with samples"), std::string::npos);
  EXPECT_NE(refusal("hello\n").find("found no stack with samples"), std::string::npos);
  EXPECT_NE(refusal("a;b nan\na;b -3\na;b 1e300\n").find("found no stack with samples"), std::string::npos);
  EXPECT_NE(refusal("{").find("JSON without profiles"), std::string::npos);
  EXPECT_NE(refusal("   3 function calls in 1.000 seconds\n   ncalls  tottime  percall  cumtime  percall f\n")
                .find("found no stack"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"profiles":[{"samples":[[0]],"weights":[1]}]})").find("found no stack"), std::string::npos);
  EXPECT_NE(refusal(R"({"shared":5,"profiles":[1,{"samples":[0],"weights":["x"]}]})").find("found no stack"),
            std::string::npos);
  EXPECT_NE(refusal(std::string("{\x00(\x00", 4)).find("of cProfile print it"), std::string::npos);
  std::string deep = "a";
  for (int i = 0; i < 5000; ++i) deep += ";a";
  EXPECT_NE(refusal(deep + " 1\n").find("found no stack"), std::string::npos);
}

TEST_F(HostStacksTest, TwoTablesInOneFileAreNoProfile) {
  const std::string table =
      "   3 function calls in 1.000 seconds\n\n   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n"
      "        3    1.000    0.333    1.000    0.333 t.py:1(train)\n";
  EXPECT_EQ(refusal(table), "accepted");
  EXPECT_NE(refusal(table + "\n" + table).find("found 2 tables of cProfile, expected one"), std::string::npos);
}

/// What the line above a table says counts, and a total beyond the sum of what is listed.
TEST_F(HostStacksTest, ATableThatLeavesFunctionsOutHasSharesOfTheWhole) {
  const std::string rows =
      "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n"
      "        1    1.000    1.000    1.500    1.500 a.py:1(forward)\n"
      "        1    0.500    0.500    9.000    9.000 a.py:9(main)\n";
  const auto whole = read("   12345 function calls in 10.000 seconds\n\n" + rows), bare = read(rows);
  EXPECT_DOUBLE_EQ(whole.sum, 10);
  EXPECT_DOUBLE_EQ(bare.sum, 9);
  ASSERT_EQ(whole.notes.assumptions.size(), 1u);
  EXPECT_EQ(whole.notes.assumptions[0], "the table lists 1.500 of 10.000 s of the host: functions are left out of it");
}

/// Times of functions are rounded one by one, so that what they add up to may be less than the whole.
TEST_F(HostStacksTest, SharesOfAPrintedTableAreAtMostTheWhole) {
  const HostStacks s = read(
      "   4 function calls in 1.008 seconds\n\n"
      "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n"
      "        1    0.500    0.500    1.008    1.008 a.py:1(main)\n"
      "        3    0.500    0.167    0.508    0.169 a.py:9(forward)\n");
  EXPECT_DOUBLE_EQ(s.sum, 1.008);
  for (const HostFunction& f : s.functions) EXPECT_LE(f.total, s.sum) << f.name;
  EXPECT_TRUE(s.notes.assumptions.empty());
}

/// py-spy's --threads makes threads the roots of stacks, below processes with --subprocesses.
TEST_F(HostStacksTest, ThreadsThatAreAddedUpAreNamed) {
  const auto notes = [&](const std::string& text) { return read(text).notes.assumptions; };
  const std::vector<std::string> two{"2 threads of the host are added up"};
  const std::string main = "thread (0x7F01): MainThread;main (t.py:1);forward (t.py:3) 6\n",
                    loader = "thread (0x7F02): loader;wait (q.py:4) 10\n";
  EXPECT_EQ(notes(main + loader + main), two);
  EXPECT_TRUE(notes(main + main).empty());
  EXPECT_TRUE(notes("main (t.py:1);forward (t.py:3) 6\nmain (t.py:1) 2\n").empty());
  EXPECT_EQ(notes("process 7:\"train\";" + main + "process 8:\"train\";" + main),
            (std::vector<std::string>{"2 processes of the host are added up", two.front()}));
}

/// Loaders of data wait beside the process that trains; none of the time is that of its step alone.
TEST_F(HostStacksTest, ProcessesThatAreAddedUpAreNamed) {
  const auto notes = [&](const std::string& text) { return read(text).notes.assumptions; };
  const std::string main = "process 7:\"train\";main (t.py:1);step (t.py:3) 6\n",
                    loader = "process 7:\"train\";process 8:\"load\";main (t.py:1);wait (q.py:4) 10\n";
  EXPECT_TRUE(notes(main + main).empty());
  EXPECT_EQ(notes(main + loader + main), std::vector<std::string>{"2 processes of the host are added up"});
  const auto profile = [](const std::string& process) {
    return R"({"type": "sampled", "name": "Process )" + process +
           R"( Thread 0x7F01 \"MainThread\"", "unit": "seconds", "samples": [[0]], "weights": [1]})";
  };
  const auto speedscope = [&](const std::string& first, const std::string& second) {
    return notes(R"({"shared": {"frames": [{"name": "main"}]}, "profiles": [)" + profile(first) + ", " +
                 profile(second) + "]}");
  };
  EXPECT_EQ(speedscope("7", "7"), std::vector<std::string>{"2 threads of the host are added up"});
  EXPECT_EQ(speedscope("7", "8").back(), "2 processes of the host are added up");
}

/// Processes and threads are none, whatever functions are called.
TEST_F(HostStacksTest, OnlyFunctionsAreListed) {
  const auto names = [&](const std::string& text) {
    std::string out;
    for (const HostFunction& f : read(text).functions) out += f.name + "|";
    return out;
  };
  const std::string stack = "main (t.py:1);forward (t.py:3)";
  EXPECT_EQ(names("process 7:\"train\";process 8:\"load\";thread (0x7F01): MainThread;" + stack + " 6\n"),
            "forward (t.py:3)|main (t.py:1)|");
  EXPECT_EQ(names("thread (123);" + stack + " 6\nprocess 7:\"train\";" + stack + " 2\n"),
            "forward (t.py:3)|main (t.py:1)|");
  EXPECT_EQ(names("main (t.py:1);thread (t.py:7) 6\nprocess (t.py:9);wait (q.py:4) 2\nthread (t.py:7);run 1\n"),
            "thread (t.py:7)|wait (q.py:4)|run|main (t.py:1)|process (t.py:9)|");
  EXPECT_EQ(names("process 2:\"python -c from a import b; b(fd=13)\";thread (0x7F01): MainThread;" + stack + " 6\n"),
            "forward (t.py:3)|main (t.py:1)|")
      << "a command line with a semicolon";
  const HostStacks idle = read("thread (0x7F01): MainThread 5\nthread (0x7F01): MainThread;" + stack + " 5\n");
  EXPECT_TRUE(idle.notes.dropped.empty());
  EXPECT_DOUBLE_EQ(idle.sum, 10);
  const HostStacks blank = read(stack + " 6\n;; 5\nmain; 3\n");
  EXPECT_EQ(blank.functions.size(), 2u) << "without a name";
  EXPECT_DOUBLE_EQ(blank.sum, 6);
  ASSERT_EQ(blank.notes.dropped.size(), 1u);
  EXPECT_EQ(blank.notes.dropped[0].count, 2u);
}

TEST_F(HostStacksTest, ProfilesOfOneFileHaveOneUnit) {
  const auto profile = [](const char* unit) {
    return std::string(R"({"type": "sampled", "unit": ")") + unit + R"(", "samples": [[0]], "weights": [4]})";
  };
  const auto file = [&](const char* a, const char* b) {
    return R"({"shared": {"frames": [{"name": "f"}]}, "profiles": [)" + profile(a) + ", " + profile(b) + "]}";
  };
  EXPECT_DOUBLE_EQ(read(file("seconds", "milliseconds")).sum, 4.004);
  const auto mixed = refusal(file("seconds", "none"));
  EXPECT_NE(mixed.find("found profiles with times and others without"), std::string::npos) << mixed;
}

TEST_F(HostStacksTest, WeightsBeyondTheEndThatIsStatedAreRefused) {
  const auto file = [](const char* end) {
    return std::string(R"({"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","unit":"seconds",)") +
           R"("startValue":1,"endValue":)" + end + R"(,"samples":[[0],[0]],"weights":[9,1]}]})";
  };
  EXPECT_DOUBLE_EQ(read(file("11")).sum, 10);
  EXPECT_NE(refusal(file("10")).find("weights: found 10 seconds in all, expected at most the 9 from startValue"),
            std::string::npos)
      << refusal(file("10"));
}

TEST_F(HostStacksTest, LinesThatEndInANumberAreNoStacks) {
  const std::string log = "2026-11-28 13:00:01\nstep 10\nloss 5\nepoch 3\n";
  EXPECT_NE(refusal(log).find("found 3 of 3 lines that are no stack such as"), std::string::npos) << refusal(log);
  EXPECT_EQ(read("main (t.py:1) 7\n").sum, 7);
  EXPECT_EQ(read("main;train 7\nidle 3\n").sum, 10);
}

}  // namespace
}  // namespace distsim::traces
