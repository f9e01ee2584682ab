// nccl-tests logs of every vintage, and broken ones.
#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <tuple>

#include "collectives/curves/curve_provenance.hpp"
#include "collectives/logs/library_maker.hpp"
#include "collectives/logs/log_readers.hpp"
#include "log_fixture.hpp"

namespace distsim::collectives {
namespace {

using collectives::parse_nccl_tests;

const char* const kRanks =
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n"
    "#  Rank  0 Group  0 Pid   1823 on nodeA device  0 [0x07] NVIDIA A100-SXM4-40GB\n"
    "#  Rank  1 Group  0 Pid   1824 on nodeB device  0 [0x07] NVIDIA A100-SXM4-40GB\n";
// n = 2: busbw = algbw. 1 MiB in 104.86 us is 10.00 GB/s; 2 MiB in 209.7 us the same.
const char* const kNew =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
    "     1048576        262144     float     sum      -1   104.86   10.00   10.00      0   100.00   10.49   10.49    N/A\n"
    "     2097152        524288     float     sum      -1    209.7   10.00   10.00      0   200.00   10.49   10.49      0\n";
const char* const kOld =
    "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
    "     1048576        262144   float     sum   104.86   10.00   10.00  2e-07   100.00   10.49   10.49  0e+00\n"
    "     2097152        524288   float     sum    209.7   10.00   10.00  2e-07   200.00   10.49   10.49  0e+00\n";

std::string log(const std::string& table, const std::string& name = "all_reduce_perf") {
  return "# Collective test starting: " + name + "\n" + kRanks + table + "# Avg bus bandwidth    : 10.2 \n";
}

/// Tables of floats print a small error that is right, so that a wrong result may stand behind one that is not 0.
TEST(NcclTests, WrongResultsInEitherFormAreLeftOut) {
  const auto sizes = [](const std::string& out_of_place, const std::string& in_place) {
    const std::string head = "# size count type redop time algbw busbw error time algbw busbw error\n";
    const auto row = [](const std::string& size, const std::string& time, const std::string& a, const std::string& b) {
      return size + " float sum " + time + " 10.00 10.00 " + a + " " + time + " 10.00 10.00 " + b + "\n";
    };
    const auto set = parse_nccl_tests(log(head + row("1048576 262144", "104.86", "5e-07", "5e-07") +
                                          row("2097152 524288", "209.7", out_of_place, in_place)),
                                      "x.log");
    return set.ok() ? set->curves.at(0).points.size() : 0;
  };
  for (const char* good : {"0e+00", "5e-07", "0.1", "N/A"}) {
    EXPECT_EQ(sizes(good, "5e-07"), 2u) << good;
    EXPECT_EQ(sizes("5e-07", good), 2u) << good;
    for (const char* bad : {"17", "1", "0.2", "-3", "nan", "inf"}) {
      EXPECT_EQ(sizes(good, bad), 1u) << good << ' ' << bad;
      EXPECT_EQ(sizes(bad, good), 1u) << bad << ' ' << good;
    }
  }
}

/// Tables with one set of columns print 10 ms and more without a point.
TEST(NcclTests, ARowDamagedBeforeItsFiguresIsRefused) {
  const std::string head = "# nodes: 1  gpus: 2\n# size count type time algbw busbw\n";
  const std::string first = "4294967296 1073741824 float 429497 10.00 10.00\n", size = "8589934592";
  const std::string rest = " 2147483648 float 858993 10.00 10.00\n";
  const auto read = [&](const std::string& row) { return parse_nccl_tests(head + first + row, "all_reduce.log"); };
  ASSERT_TRUE(read(size + rest).ok()) << read(size + rest).error().text();
  for (const char* damaged : {"858r934592", "x", "8589 34592", "858#934592", "-8589934592", ""}) {
    const auto set = read(damaged + rest);
    ASSERT_FALSE(set.ok()) << damaged;
    EXPECT_NE(set.error().text().find("all_reduce.log:4: found the row '"), std::string::npos) << set.error().text();
  }
  for (const char* type : {"2147483648 fmoat", "21474r3648 float", "float"})
    EXPECT_FALSE(read(size + " " + type + " 858993 10.00 10.00\n").ok()) << type;
  for (const char* text : {"real 12.53\n", "took 3 min 10.00 s\n", "# 8589934592 was left out\n", "node1 3 4 5\n"})
    EXPECT_TRUE(read(text).ok()) << text;
}

TEST(NcclTests, RanksFollowFromTheBusFactorWhereNoneAreListed) {
  // 8 ranks: an all-gather's bus bandwidth is 7/8 of 40 GB/s, an all-reduce's 14/8.
  const std::string head = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  const std::string gather = " 1048576 32768 float none -1 26.21 40.00 35.00 0 26.21 40.00 35.00 0\n";
  const std::string reduce = " 1048576 262144 float sum -1 26.21 40.00 70.00 0 26.21 40.00 70.00 0\n";
  for (const auto& [name, row] : {std::pair("all_gather.log", gather), {"all_reduce.log", reduce}}) {
    const auto set = parse_nccl_tests(head + row, name);
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->curves[0].ranks, 8u) << name;
  }
}

/// A table copied without its head: rows of 1 MiB, 2 MiB, ... at about `gbps`, rounded as nccl-tests prints them.
std::string bare_table(int ranks, double gbps) {
  std::string text = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  for (int i = 0; i < 4; ++i) {
    const double bytes = (1 << 20) << i, us = bytes / gbps / 1000 * (1 + 0.03 * i), algbw = bytes / us / 1000;
    char row[200];
    std::snprintf(row, sizeof row, "%.0f %.0f float sum -1 %.2f %.2f %.2f 0 %.2f %.2f %.2f 0\n", bytes, bytes / 4, us,
                  algbw, algbw * 2 * (ranks - 1) / ranks, us, algbw, algbw * 2 * (ranks - 1) / ranks);
    text += row;
  }
  return text;
}

/// Two decimals of 1.2 GB/s fit 56 ranks as well as 48: nothing is chosen among them.
TEST(NcclTests, RanksThatTheDigitsLeaveOpenAreNotGuessed) {
  for (const int ranks : {16, 48, 56, 64, 512}) {
    const auto slow = parse_nccl_tests(bare_table(ranks, 1.2), "all_reduce.log");
    ASSERT_FALSE(slow.ok()) << slow->curves[0].ranks;
    EXPECT_NE(slow.error().text().find("found no rank count in the log"), std::string::npos) << slow.error().text();
  }
  for (const int ranks : {2, 8, 48, 56, 64}) {
    const auto fast = parse_nccl_tests(bare_table(ranks, 180), "all_reduce.log");
    ASSERT_TRUE(fast.ok()) << fast.error().text();
    EXPECT_EQ(fast->curves[0].ranks, static_cast<std::uint32_t>(ranks));
  }
  EXPECT_EQ(parse_nccl_tests(bare_table(2, 0.5), "all_reduce.log")->curves[0].ranks, 2u);
}

TEST(NcclTests, RanksThatTheBandwidthsContradictAreRefused) {
  const auto with = [](std::uint32_t ranks) {
    std::istringstream in{bare_table(64, 180)};
    LineSource lines(in, "all_reduce.log");
    return parse_nccl_tests(lines, {ranks, 4});
  };
  EXPECT_TRUE(with(64).ok());
  for (const std::uint32_t ranks : {32u, 128u, 512u}) {
    const auto set = with(ranks);
    ASSERT_FALSE(set.ok()) << ranks;
    EXPECT_NE(set.error().text().find("all_reduce.log:2: ranks: found " + std::to_string(ranks) +
                                      ", expected 64, as busbw is 1.9687"),
              std::string::npos)
        << set.error().text();
  }
  const auto stated = parse_nccl_tests("# nodes: 6  gpus: 48\n" + bare_table(56, 180), "all_reduce.log");
  ASSERT_FALSE(stated.ok());
  EXPECT_NE(stated.error().text().find("ranks: found 48, expected 56, as busbw is"), std::string::npos)
      << stated.error().text();
  // One decimal, as some tables are copied, says less, and no more is asked of it.
  const std::string coarse =
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      " 1048576 262144 float sum -1 500 2.1 3.7 0 500 2.1 3.7 0\n";
  EXPECT_TRUE(parse_nccl_tests("# gpus: 8\n" + coarse, "all_reduce.log").ok());
}

/// Containers of two hosts may have the same process ids.
TEST(NcclTests, ProcessesAreThoseOfAHost) {
  std::string log = kRanks;
  log.replace(log.find("1824"), 4, "1823");
  const auto set = parse_nccl_tests("# Collective test starting: all_reduce_perf\n" + log + kNew, "x.log");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].processes, 2u);
  EXPECT_FALSE(set->curves[0].single_process);
}

TEST(NcclTests, OneProcessOfSeveralRanksIsSeenInTheirList) {
  const std::string head = kRanks, launch = head.substr(0, head.find('\n') + 1);
  std::string list = head.substr(launch.size());
  for (const auto& [from, to] : {std::pair("1824", "1823"), {"nodeB device  0", "nodeA device  1"}})
    list.replace(list.find(from), std::string_view(from).size(), to);
  const auto without = parse_nccl_tests(list + kNew, "all_reduce.log");
  ASSERT_TRUE(without.ok()) << without.error().text();
  EXPECT_TRUE(without->curves[0].single_process);
  const auto stated = parse_nccl_tests(launch + list + kNew, "all_reduce.log");  // nThread 1 nGpus 1
  ASSERT_TRUE(stated.ok()) << stated.error().text();
  EXPECT_FALSE(stated->curves[0].single_process) << "what the run says of its launch counts";
}

/// hypercube is a test of nccl-tests that no collective of ours is; it must not pass for the one before it.
TEST(NcclTests, ATestOfNoCollectiveIsNotAnother) {
  const std::string other = log(kNew, "hypercube_perf");
  const auto mixed = parse_nccl_tests(log(kNew) + other, "x.log");
  ASSERT_TRUE(mixed.ok()) << mixed.error().text();
  ASSERT_EQ(mixed->curves.size(), 1u);
  EXPECT_EQ(mixed->remarks.back(),
            "x.log:16: left out: the table of the test 'hypercube', which is none of a collective");
  const auto alone = parse_nccl_tests(other, "all_reduce_and_others.log");
  ASSERT_FALSE(alone.ok());
  EXPECT_NE(alone.error().text().find("all_reduce_and_others.log:7: found the test 'hypercube', expected one of a "
                                      "collective"),
            std::string::npos)
      << alone.error().text();
  // An old nccl-tests says no more than how it was called; of a program of any name, nothing follows.
  EXPECT_FALSE(parse_nccl_tests("$ ./build/hypercube_perf -b 8\n" + std::string(kRanks) + kNew, "all_reduce.log").ok());
  EXPECT_TRUE(parse_nccl_tests("$ ./my_perf -b 8\n" + std::string(kRanks) + kNew, "all_reduce.log").ok());
  EXPECT_TRUE(parse_nccl_tests(log(kNew, "bench"), "all_reduce.log").ok());
}

TEST(NcclTests, WhatNcclMayChooseIsReadFromTheCommand) {
  const auto settings = [](const std::string& before) {
    const auto set = parse_nccl_tests(before + kRanks + kNew, "all_reduce.log");
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set.ok() ? set->curves[0].settings : "";
  };
  EXPECT_EQ(settings("+ mpirun -x NCCL_ALGO=Tree -x NCCL_PROTO=LL -np 2 ./build/all_reduce_perf -b 8\n"),
            "NCCL_ALGO=Tree NCCL_PROTO=LL");
  EXPECT_EQ(settings("export NCCL_PROTO=\"LL128,Simple\"\n"), "NCCL_PROTO=LL128,Simple");
  EXPECT_EQ(settings("node1:77:77 [0] NCCL INFO NCCL_ALGO set by environment to Ring.\n"), "NCCL_ALGO=Ring");
  EXPECT_EQ(settings("NCCL_ALGO=Ring ./all_gather_perf\n./all_reduce_perf -b 8\n"), "") << "of another command";
  EXPECT_EQ(settings("# for the other log: NCCL_ALGO=Ring\nMY_NCCL_ALGO=Ring\nNCCL_DEBUG=INFO ./all_reduce_perf\n"),
            "");
  EXPECT_EQ(settings("NCCL_ALGO=Ring ./all_reduce_perf\n# launch: mpirun, NCCL_ALGO=Tree\n"), "NCCL_ALGO=Tree");
}

TEST(NcclTests, WhatTakesLinksAwayIsReadFromTheLog) {
  const auto settings = [](const std::string& before) {
    const auto set = parse_nccl_tests(before + kRanks + kNew, "all_reduce.log");
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set.ok() ? set->curves[0].settings : "";
  };
  EXPECT_EQ(settings("+ mpirun -x NCCL_IB_DISABLE=1 -x NCCL_SOCKET_IFNAME=eth0 ./all_reduce_perf -b 8\n"),
            "NCCL_IB_DISABLE=1");
  EXPECT_EQ(
      settings("n0:7:7 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\nNCCL_ALGO=Ring ./all_reduce_perf\n"),
      "NCCL_ALGO=Ring NCCL_P2P_DISABLE=1");
  EXPECT_EQ(settings("export NCCL_MAX_NCHANNELS=4\n"), "NCCL_MAX_NCHANNELS=4");
  EXPECT_EQ(settings("n0:7:7 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n"), "NCCL_NET=Socket");
  EXPECT_EQ(settings("n0:7:7 [0] NCCL INFO Using network Socket\n"), "NCCL_NET=Socket");
  for (const char* usual :
       {"n0:7:7 [0] NCCL INFO Using network IB\n", "n0:7:7 [0] NCCL INFO Using network AWS Libfabric\n",
        "NCCL_IB_DISABLE=0 NCCL_P2P_DISABLE=0 NCCL_NVLS_ENABLE=1 ./all_reduce_perf\n", "# Using network Socket\n",
        "export NCCL_NET=IB NCCL_DEBUG=INFO NCCL_P2P_LEVEL=SYS\n"})
    EXPECT_EQ(settings(usual), "") << usual;
}

/// nan in the column of errors is a result that was wrong; N/A is one that was not checked.
TEST(NcclTests, ResultsThatAreNoNumbersAreWrong) {
  for (const char* wrong : {"nan", "-nan", "-3", "inf"}) {
    std::string table = kNew;
    table.replace(table.find("10.00      0") + 6, 6, std::string("  ") + wrong);
    const auto set = parse_nccl_tests(log(table), "x.log");
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->curves[0].flagged, 1u) << wrong;
    EXPECT_EQ(set->curves[0].points.size(), 1u) << wrong;
  }
}

TEST(NcclTests, GroupsTheOtherWayRoundAreRefused) {
  const auto set = parse_nccl_tests(log("#    in-place       out-of-place\n" + std::string(kNew)), "x.log");
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().text(), "x.log:5: found the in-place columns first, expected out-of-place and then in-place");
  EXPECT_TRUE(parse_nccl_tests(log("#    out-of-place       in-place\n" + std::string(kNew)), "x.log").ok());
}

TEST(NcclTests, ALogThatEndsBeforeItsSummaryIsPartial) {
  EXPECT_FALSE(parse_nccl_tests(log(kNew), "x.log")->partial);
  const auto cut = parse_nccl_tests(kRanks + std::string(kNew), "all_reduce.log");
  ASSERT_TRUE(cut.ok()) << cut.error().text();
  EXPECT_TRUE(cut->partial);
  EXPECT_EQ(cut->remarks.back(),
            "all_reduce.log: partial: a run ends before the summary of its last table, 'Avg bus bandwidth'");
  EXPECT_TRUE(parse_nccl_tests(log(kNew) + kNew, "all_reduce.log")->partial) << "the second table";
  EXPECT_TRUE(parse_nccl_tests(kRanks + std::string(kNew) + log(kNew), "all_reduce.log")->partial)
      << "the run before the last";
  EXPECT_FALSE(parse_nccl_tests(log(kNew) + log(kNew), "all_reduce.log")->partial);
  EXPECT_FALSE(parse_nccl_tests("# nodes: 2  gpus: 2\n" + std::string(kNew), "all_reduce.log")->partial)
      << "a table copied without its launch line is not cut";
}

TEST(NcclTests, TheHostsTimeIsRefused) {
  std::string table = kNew;
  for (std::size_t at = table.find(" time "); at != std::string::npos; at = table.find(" time ", at + 8))
    table.replace(at, 6, " cputime ");
  const auto set = parse_nccl_tests(log(table), "x.log");
  ASSERT_FALSE(set.ok());
  EXPECT_NE(set.error().text().find("found the column cputime"), std::string::npos) << set.error().text();
}

TEST(NcclTests, NewAndOldColumns) {
  for (const char* table : {kNew, kOld}) {
    auto set = parse_nccl_tests(log(table), "x.log");
    ASSERT_TRUE(set.ok()) << set.error().text();
    ASSERT_EQ(set->curves.size(), 1u);
    const auto& c = set->curves[0];
    EXPECT_EQ(c.kind, graph::CollectiveKind::all_reduce);
    EXPECT_EQ(c.ranks, 2u);
    EXPECT_EQ(c.nodes, 2u) << "two host names";
    EXPECT_FALSE(c.single_process);
    ASSERT_EQ(c.points.size(), 2u);
    EXPECT_EQ(c.points[0].bytes, 1048576);
    EXPECT_DOUBLE_EQ(c.points[0].time_us, 104.86) << "out of place";
    EXPECT_EQ(c.flagged, 0u);
  }
}

TEST(NcclTests, OldAllToAllHasNoRedop) {
  // (n-1)/n = 0.5 of the algorithm bandwidth.
  auto set = parse_nccl_tests(
      log("#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"
          "  1048576  131072  float          104.86   10.00   5.00  0e+00   100.00   10.49   5.24  N/A\n",
          "alltoall_perf"),
      "x");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].kind, graph::CollectiveKind::all_to_all);
}

TEST(NcclTests, PrefixesOfMpirunAndSrun) {
  for (const std::string prefix : {"0: ", "[1,0]<stdout>:", "[1,0]<stdout> ", "> ", "  3: "}) {
    std::string text;
    std::string line;
    for (char ch : log(kNew)) {
      line += ch;
      if (ch == '\n') {
        text += prefix + line;
        line.clear();
      }
    }
    auto set = parse_nccl_tests(text, "x");
    ASSERT_TRUE(set.ok()) << prefix << ": " << set.error().text();
    EXPECT_EQ(set->curves[0].points.size(), 2u) << prefix;
    EXPECT_EQ(set->curves[0].ranks, 2u) << prefix;
  }
}

TEST(NcclTests, SeveralTablesAreSeveralCurves) {
  std::string broadcast = kNew;
  for (std::size_t at = broadcast.find(" sum "); at != std::string::npos; at = broadcast.find(" sum "))
    broadcast.replace(at, 13, " none       0");
  auto set = parse_nccl_tests(log(kNew) + "# Collective test starting: broadcast_perf\n" + broadcast, "x");
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->curves.size(), 2u);
  EXPECT_EQ(set->curves[0].kind, graph::CollectiveKind::all_reduce);
  EXPECT_EQ(set->curves[1].kind, graph::CollectiveKind::broadcast);
}

/// A row of 8 ranks, 1 MiB at 10 GB/s, as nccl-tests prints it for a collective.
struct PrintedRow {
  std::string test, count, redop, root, busbw;
};
constexpr const char *kAll = "262144", *kPart = "32768";  // elements, of all ranks and of each
const PrintedRow kPrinted[] = {
    {"all_reduce", kAll, "sum", "-1", "17.50"},     {"all_gather", kPart, "none", "-1", "8.75"},
    {"reduce_scatter", kPart, "sum", "-1", "8.75"}, {"alltoall", kPart, "none", "-1", "8.75"},
    {"broadcast", kAll, "none", "3", "10.00"},      {"reduce", kAll, "max", "7", "10.00"},
    {"gather", kPart, "none", "0", "8.75"},         {"scatter", kPart, "none", "0", "8.75"},
    {"sendrecv", kAll, "sum", "-1", "10.00"}};

std::string log_of(const PrintedRow& r, const std::string& title, const std::string& head) {
  return title + "# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1048576 iters: 20\n" + head + "1048576 " + r.count +
         " float " + r.redop + " " + r.root + " 104.86 10.00 " + r.busbw + " 0\n# Avg bus bandwidth : " + r.busbw +
         "\n";
}
const char* const kWithRoot = "# size count type redop root time algbw busbw #wrong\n";

Result<CurveSet> read_row(const PrintedRow& r, const std::string& head = kWithRoot) {
  return parse_nccl_tests("# gpus: 8\n" + log_of(r, "# Collective test starting: " + r.test + "_perf\n", head),
                          "x.log");
}

void expect_other(const PrintedRow& r, const std::string& part) {
  const auto set = read_row(r);
  ASSERT_FALSE(set.ok()) << r.test << ": " << part;
  EXPECT_NE(set.error().text().find(part), std::string::npos) << set.error().text();
}

TEST(NcclTests, CountOperationAndRootAreThoseOfTheCollective) {
  for (const PrintedRow& r : kPrinted) {
    const auto set = read_row(r);
    ASSERT_TRUE(set.ok()) << r.test << ": " << set.error().text();
    PrintedRow other = r;
    other.count = r.count == kAll ? kPart : kAll;
    expect_other(other, "expected count x type");
    other = r;
    other.redop = r.redop == "none" ? "sum" : "none";
    if (r.test == "sendrecv")
      EXPECT_TRUE(read_row(other).ok()) << "it runs with any operation";
    else
      expect_other(other, "redop: found " + other.redop + ", expected ");
    other = r;
    other.root = r.root == "-1" ? "0" : "8";
    expect_other(other, "root: found " + other.root + ", expected ");
    other.root = "-1";
    EXPECT_TRUE(read_row(other).ok()) << r.test << ": a root may not be stated";
  }
}

/// Old versions leave the column of operations empty where there is none.
TEST(NcclTests, AnEmptyOperationIsNone) {
  for (const PrintedRow& r : kPrinted) {
    PrintedRow empty = r;
    empty.redop.clear();
    EXPECT_EQ(read_row(empty).ok(), r.redop == "none" || r.test == "sendrecv") << r.test;
    empty.root.clear();
    EXPECT_TRUE(read_row(empty, "# size count type time algbw busbw #wrong\n").ok()) << r.test << ": no such column";
  }
}

/// Each run prints the name of its test; without one, it is not that of the run before.
TEST(NcclTests, ATitleIsThatOfItsRun) {
  const std::string title = "# gpus: 8\n# Collective test starting: all_gather_perf\n";
  const std::string first = log_of(kPrinted[1], title, kWithRoot);
  for (const std::string& end : {std::string(), std::string("# Collective test concluded: all_gather_perf\n")}) {
    const std::string both = first + end + log_of(kPrinted[3], "", kWithRoot);
    const auto set = parse_nccl_tests(both, "x.log");
    ASSERT_FALSE(set.ok());
    EXPECT_NE(set.error().text().find("found no collective name in the log"), std::string::npos) << set.error().text();
    const auto named = parse_nccl_tests(both, "all_gather.log");
    ASSERT_TRUE(named.ok()) << named.error().text();
    EXPECT_EQ(named->curves.size(), 2u);
  }
}

TEST(NcclTests, WrongResultsAreCounted) {
  const auto with = [](const std::string& verdict) {
    return parse_nccl_tests(log(kNew + ("# Out of bounds values : " + verdict + "\n")), "x.log");
  };
  for (const char* good : {"0 OK", "-1 OK", "N/A", "0"}) EXPECT_TRUE(with(good).ok()) << good;
  for (const char* bad : {"3 OK", "3", "3 FAILED", "0 FAILED"}) EXPECT_FALSE(with(bad).ok()) << bad;
}

TEST(NcclTests, RanksAreThoseOfWholeProcesses) {
  const auto with = [](const std::string& launch, std::uint32_t ranks) {
    std::istringstream in{launch + "\n# size count type redop root time algbw busbw #wrong\n" +
                          "1048576 262144 float none 0 104.86 10.00 10.00 0\n"};
    LineSource lines(in, "broadcast.log");
    return parse_nccl_tests(lines, {ranks, 1});
  };
  for (const char* launch : {"# nThread 2 nGpus 4 minBytes 8", "# launch: 1 process, -t 2 -g 4"}) {
    for (const std::uint32_t ranks : {8u, 16u}) EXPECT_TRUE(with(launch, ranks).ok()) << launch << ranks;
    const auto set = with(launch, 4);
    ASSERT_FALSE(set.ok()) << launch;
    EXPECT_EQ(
        set.error().text(),
        "broadcast.log:3: ranks: found 4, expected a multiple of 8, those of a process (threads times GPUs of each)");
  }
  const auto two = with(
      "# nThread 1 nGpus 2\n#  Rank  0 Group  0 Pid 1 on a device 0 [0x07] A\n"
      "#  Rank  1 Group  0 Pid 2 on b device 0 [0x07] A",
      0);
  ASSERT_FALSE(two.ok());
  EXPECT_NE(two.error().text().find("found nGpus 2, but a process for each of 2 ranks"), std::string::npos);
  std::string list = "# nThread 1 nGpus 2";
  for (const auto& [rank, pid] : {std::pair("0", "1"), {"1", "1"}, {"2", "2"}, {"3", "3"}})
    list +=
        "\n#  Rank  " + std::string(rank) + " Group  0 Pid " + pid + " on a device " + rank + " [0x0" + rank + "] A";
  const auto few = with(list, 0);
  ASSERT_FALSE(few.ok());
  EXPECT_NE(few.error().text().find("ranks: found 4, expected at least 6, 2 of each listed process"), std::string::npos)
      << few.error().text();
}

/// `-d all`, `-o all` and `-r all` print one table, in which sizes start again.
TEST(NcclTests, EachTypeOperationAndRootOfATableIsACurve) {
  const std::string head = "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
  const auto rows = [](const std::string& type, const std::string& redop, const std::string& root) {
    const std::string middle = " " + type + " " + redop + " " + root;
    const std::string count = type == "float" ? "262144" : "1048576", twice = type == "float" ? "524288" : "2097152";
    return "1048576 " + count + middle + " 104.86 10.00 10.00 0\n2097152 " + twice + middle + " 209.7 10.00 10.00 0\n";
  };
  const auto set = parse_nccl_tests(
      log(head + rows("int8", "sum", "-1") + rows("float", "sum", "-1") + rows("float", "prod", "-1")), "a.log");
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->curves.size(), 3u);
  EXPECT_EQ(set->curves[0].label, "a.log, int8 sum");
  EXPECT_EQ(set->curves[2].label, "a.log, float prod");
  for (const Curve& c : set->curves) EXPECT_EQ(c.points.size(), 2u);
  const auto roots =
      parse_nccl_tests(log(head + rows("float", "none", "0") + rows("float", "none", "1"), "broadcast_perf"), "b.log");
  ASSERT_TRUE(roots.ok()) << roots.error().text();
  ASSERT_EQ(roots->curves.size(), 2u);
  EXPECT_EQ(roots->curves[1].label, "b.log, float none root 1");
  const auto again = parse_nccl_tests(log(head + rows("float", "sum", "-1") + rows("float", "sum", "-1")), "c.log");
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().text().find("expected ascending sizes"), std::string::npos) << again.error().text();
}

TEST(NcclTests, RowsThatContradictThemselvesAreLeftOutAndCounted) {
  std::string text = log(kNew);
  text +=
      "     4194304       1048576     float     sum      -1    419.4   10.00   10.00      0   400.00   10.49   10.49      0\n";
  text +=
      "     8388608       2097152     float     sum      -1    838.9   10.00   17.50      0   800.00   10.49   10.49      0\n";  // factor of 8 ranks, not 2
  text +=
      "    16777216       4194304     float     sum      -1   1677.7   10.00   10.00     12  1600.00   10.49   10.49      0\n";  // wrong results
  auto set = parse_nccl_tests(text, "x");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].flagged, 2u);
  EXPECT_EQ(set->curves[0].points.size(), 3u);
}

TEST(NcclTests, BandwidthsOfSmallSizesAreRoundedNotWrong) {
  // 512 B in 34.84 us on 16 ranks: algbw 0.0147, printed 0.01; busbw 0.0147 * 30 / 16 = 0.0276, printed 0.03. An algbw
  // of 0.01 would give 0.019. 0.05 is still wrong.
  const std::string head =
      "# Collective test starting: all_reduce_perf\n# nodes: 2  gpus: 16\n"
      "# size count type redop time algbw busbw error time algbw busbw error\n";
  const std::string rest = " 0 34 0.01 0.03 0\n 1024 256 float sum 36.44 0.03 0.05 0 36 0.03 0.05 0\n";
  for (const auto& [busbw, flagged] : {std::pair("0.03", 0u), std::pair("0.05", 1u)}) {
    auto set = parse_nccl_tests(head + " 512 128 float sum 34.84 0.01 " + busbw + rest, "x");
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->curves[0].flagged, flagged) << busbw;
  }
}

TEST(NcclTests, OddBlanksAndEndlessNumbersAreNoTrap) {
  const auto blank = parse_nccl_tests("#  nccl-library=\v\n# hardware: \f\n" + log(kNew), "x");
  ASSERT_TRUE(blank.ok()) << blank.error().text();
  EXPECT_EQ(blank->curves[0].library, "");
  const auto endless =
      parse_nccl_tests(log(kNew) + std::string(400, '9') + " 1 float sum -1 1 1 1 0 1 1 1 0\n", "x.log");
  ASSERT_FALSE(endless.ok());
  EXPECT_NE(endless.error().text().find("too many digits"), std::string::npos) << endless.error().text();
}

void expect_log_error(const std::string& text, const std::string& part) {
  auto r = parse_nccl_tests(text, "x.log");
  ASSERT_FALSE(r.ok()) << text;
  EXPECT_NE(r.error().text().find(part), std::string::npos) << r.error().text();
  EXPECT_EQ(r.error().text().find('\n'), std::string::npos);
}

TEST(NcclTests, BrokenLogsGiveOneClearLine) {
  expect_log_error("", "no rows");
  expect_log_error("# nThread 1 nGpus 1\nnodeA: Test NCCL failure common.cu:1005 'unhandled system error'\n",
                   "no table rows, the run failed: nodeA");
  expect_log_error(std::string("\xFF\xFE#\0 \0", 6), "UTF-16");
  std::string zero = log(kNew);
  zero.replace(zero.find("104.86"), 6, "  0.00");
  expect_log_error(zero, "x.log:7: time: found 0.0");
  std::string nan = log(kNew);
  nan.replace(nan.find("104.86"), 6, "   nan");
  expect_log_error(nan, "time: found");
  const std::string whole = log(kNew);
  expect_log_error(whole.substr(0, whole.find("# Avg") - 30), "row may be truncated");
  expect_log_error(whole.substr(0, whole.rfind("float") - 1), "log may be truncated");
  std::string order = log(kNew);
  order.replace(order.find("2097152"), 7, " 524288");
  expect_log_error(order, "ascending");
  std::string gpus = log(kNew);
  gpus.replace(gpus.rfind("A100-SXM4-40GB"), 14, "H100-SXM5-80GB");
  expect_log_error(gpus, "two kinds of GPU");
  std::string factor = log(kNew);
  for (std::size_t at = factor.find("10.00   10.00"); at != std::string::npos; at = factor.find("10.00   10.00"))
    factor.replace(at, 13, "10.00   18.75");
  expect_log_error(factor, "inconsistent");
  expect_log_error(std::string(kRanks) + kNew, "no collective name");
}

std::string with(std::string text, const std::string& part, const std::string& other) {
  return text.replace(text.find(part), part.size(), other);
}

TEST(NcclTests, OtherUnitsAreRefused) {
  for (const auto& [unit, other, what] :
       {std::tuple("(us)", "(ms)", "x.log:6: unit of time: found (ms), expected (us)"),
        {"(GB/s)", "(MB/s)", "x.log:6: unit of algbw: found (MB/s), expected (GB/s)"},
        {"(B)", "(KiB)", "x.log:6: unit of size: found (KiB), expected (B)"},
        {"(elements)", "(kilo)", "x.log:6: unit of count: found (kilo), expected (elements)"}})
    expect_log_error(with(log(kNew), unit, other), what);
  std::string in_place = log(kNew);
  in_place.replace(in_place.rfind("(GB/s)"), 6, "(MB/s)");
  expect_log_error(in_place, "unit of busbw: found (MB/s), expected (GB/s)");
  expect_log_error(with(log(kOld), "time", "time (ms)"), "x.log:5: unit of time: found (ms), expected (us)");
  const auto behind = parse_nccl_tests(log(kOld) + "# source: a paper\n", "x.log");
  ASSERT_TRUE(behind.ok()) << behind.error().text();
  EXPECT_EQ(behind->curves[0].source, "a paper") << "a table without a line of units";
}

TEST(NcclTests, AMeanThatIsNoNumberIsNamed) {
  const std::string fitting = with(log(kNew), "maxBytes 1024", "maxBytes 2097152");
  EXPECT_TRUE(parse_nccl_tests(fitting, "x.log")->remarks.empty());
  for (const auto& [said, found] : {std::pair("17.3", "17.3"),
                                    {"nan", "nan"},
                                    {"-inf", "-inf"},
                                    {"about 10", "'about'"},
                                    {"10.2x", "'10.2x'"},
                                    {"", "nothing"}}) {
    const auto set = parse_nccl_tests(with(fitting, "10.2 ", said), "x.log");
    ASSERT_TRUE(set.ok()) << set.error().text();
    ASSERT_EQ(set->remarks.size(), 1u) << said;
    EXPECT_EQ(set->remarks[0], "x.log:9: Avg bus bandwidth: found " + std::string(found) +
                                   ", expected 10.25, the mean of the run's rows");
  }
}

TEST(NcclTests, AnyBlanksMayFollowTheSignOfAComment) {
  for (const char* blanks : {" ", "\t", "   ", " \t ", ""}) {
    const std::string sign = "#" + std::string(blanks);
    const auto set = parse_nccl_tests(sign + "hardware:" + blanks + "2x V100\n" + sign + "source: a paper\n" + sign +
                                          "nodes: 2  gpus: 2\n" + sign + "launch: 1 process, -g 2\n" + kNew,
                                      "all_reduce.log");
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->hardware, "2x V100") << blanks;
    EXPECT_EQ(set->curves[0].source, "a paper") << blanks;
    EXPECT_EQ(set->curves[0].nodes, 2u) << blanks;
    EXPECT_TRUE(set->curves[0].single_process) << blanks;
  }
}

TEST(NcclTests, ALogIsUsedAsACurve) {
  const topology::Topology t = a100_cluster(2);
  CollectiveOptions options;
  options.curve_files = {file_with("my.log", log(kNew))};
  const auto models = models_of(t, options);
  const std::vector<std::uint32_t> pair{0, 8};
  const graph::Cost c = *models.price(op_of(graph::CollectiveKind::all_reduce, 2097152), t.facts(pair));
  EXPECT_NEAR(c.mean.us(), 209.7, 0.01);
  EXPECT_EQ(c.basis, graph::Basis::measured);
  EXPECT_EQ(c.source, "my.log");
}

/// RCCL prints NCCL's names beside its own; what any of them says of its version names the GPUs.
TEST(NcclTests, WhatALibrarySaysOfItselfIsKept) {
  const std::string table =
      "# nodes: 1  gpus: 8\n# Collective test starting: all_reduce_perf\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
      "     1048576        262144     float     sum      -1    50.00   20.97   36.70      0    50.00   20.97   36.70      0\n";
  const auto library = [&](const std::string& lines) {
    const auto set = read("library.txt", lines + table);
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set.ok() ? set->curves[0].library : "";
  };
  const std::string code = "# nccl-tests version 2.17.6 nccl-headers=22705 nccl-library=22705\n";
  EXPECT_EQ(library(code), "NCCL 22705");
  EXPECT_EQ(library(code + "n1:12:12 [0] NCCL INFO NCCL version 2.27.5+cuda12.9\n"), "NCCL 2.27.5+cuda12.9");
  EXPECT_EQ(library("n1:12:12 [0] NCCL INFO NCCL version 2.27.5+cuda12.9\n" + code), "NCCL 2.27.5+cuda12.9");
  EXPECT_EQ(library("n1:12:12 [0] NCCL INFO NCCL version 2.26.2+cuda12.9\n" + code), "NCCL 2.26.2+cuda12.9");
  EXPECT_EQ(library("RCCL version 2.18.3+hip6.1 HEAD:2f6d59e\n# nccl: 2.18.3\n"), "RCCL 2.18.3+hip6.1");
  EXPECT_EQ(library("RCCL version : 2.22.3-HEAD:1a2b3c\nHIP version  : 6.4.43482\nROCm version : 6.4.0.0\n"),
            "RCCL 2.22.3-HEAD:1a2b3c");
  EXPECT_EQ(library("RCCL version 2.18.3+hip6.1 HEAD:2f6d59e\n" + code), "RCCL 2.18.3+hip6.1");
  EXPECT_EQ(library("# rccl-tests: Version develop:1f1b5b6\n" + code), "rccl-tests develop:1f1b5b6");
  EXPECT_EQ(library("# nccl: 2.22.3\nHIP version  : 6.4.43482\n"), "NCCL 2.22.3, HIP 6.4.43482");
}

/// Of several runs in one file, each has the version of its own header; one of the same is what was said above.
TEST(NcclTests, TheNextRunHasTheLibraryOfItsHeader) {
  const auto run = [](const std::string& code, const std::string& more) {
    return "# nccl-tests version 2.17.6 nccl-headers=" + code + " nccl-library=" + code +
           "\n# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n" +
           more +
           "# nodes: 1  gpus: 8\n# Collective test starting: all_reduce_perf\n"
           "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
           "     1048576        262144     float     sum      -1    50.00   20.97   36.70      0    50.00   20.97   36.70      0\n"
           "# Avg bus bandwidth    : 36.7\n";
  };
  const auto set =
      read("runs.txt", run("22705", "n1:1:1 [0] NCCL INFO NCCL version 2.27.5+cuda12.9\n") + run("22705", "") +
                           run("2804", "") + run("2804", "n1:1:1 [0] NCCL INFO NCCL version 2.8.4+cuda11.2\n"));
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->curves.size(), 4u);
  EXPECT_EQ(set->curves[0].library, "NCCL 2.27.5+cuda12.9");
  EXPECT_EQ(set->curves[1].library, "NCCL 2.27.5+cuda12.9");
  EXPECT_EQ(set->curves[2].library, "NCCL 2804");
  EXPECT_EQ(set->curves[3].library, "NCCL 2.8.4+cuda11.2");
}

TEST(NcclTests, LibrariesAreOfTheMakerOfTheGpusThatTheyDrive) {
  for (const char* text : {"OSU v7.3, RCCL", "OSU v7.3, MPI-ROCM", "RCCL 2.18.3+hip6.1", "NCCL 2.13.4+hip5.7",
                           "rccl-tests develop:1f1b5b6", "NCCL 2.22.3, HIP 6.4.43482"})
    EXPECT_EQ(maker_of_library(text), Maker::amd) << text;
  for (const char* text : {"NCCL 2.8.4-1, CUDA 11.2.2, nccl-tests 0b30de5", "NCCL 2.21.5+cuda12.4", "NCCL 2.26.6",
                           "NCCL NGC 2024", "OSU v7.3, MPI-CUDA", "OSU v7.3, NCCL"})
    EXPECT_EQ(maker_of_library(text), Maker::nvidia) << text;
  EXPECT_EQ(maker_of_library("OSU v7.3, MPI-SYCL"), Maker::intel);
  for (const char* text :
       {"", "NCCL 22705", "nccl", "PARAM comms", "OSU v7.3, MPI", "OSU v7.3, XCCL", "Open MPI v4.1.4"})
    EXPECT_EQ(maker_of_library(text), Maker::unknown) << text;
  EXPECT_EQ(maker_of_device(94), Maker::amd);
  EXPECT_EQ(maker_of_device(100), Maker::nvidia);
  EXPECT_EQ(maker_of_device(0), Maker::unknown);
}

/// GPUs that a log lists are certain; its libraries may bear other names.
TEST(NcclTests, AListOfGpusCountsMoreThanALibrary) {
  CurveSet set;
  set.curves.push_back({});
  set.curves[0].library = "NCCL 2.22.3";
  EXPECT_EQ(other_makers_library(set, Maker::amd), "NCCL 2.22.3");
  EXPECT_EQ(other_makers_library(set, Maker::nvidia), "");
  EXPECT_EQ(other_makers_library(set, Maker::unknown), "");
  topology::ClusterSpec spec;
  spec.device = "mi300x";
  EXPECT_EQ(other_gpu_remark(set, spec, 94, {}),
            "using curves of 'NCCL 2.22.3', which is for GPUs of NVIDIA, for mi300x");
  EXPECT_EQ(other_gpu_remark(set, spec, 80, {}), "");
  set.listed_gpu = "AMD Instinct MI300X";
  EXPECT_EQ(other_makers_library(set, Maker::amd), "");
  set.listed_gpu = "";
  set.hardware = "AMD Instinct MI300X";
  EXPECT_EQ(other_makers_library(set, Maker::amd), "");
  set.hardware = "";
  set.curves[0].not_used = "host memory";
  EXPECT_EQ(other_makers_library(set, Maker::amd), "");
}

}  // namespace
}  // namespace distsim::collectives
