#include "mpi_bench/collective/options.hpp"

#include <gtest/gtest.h>

namespace distsim::bench {
namespace {

Result<bench::CommandLine> parse(std::vector<const char*> flags) {
  flags.insert(flags.begin(), "collective_bench");
  return bench::parse_command_line(static_cast<int>(flags.size()), flags.data());
}

std::string error(std::vector<const char*> flags) {
  const auto line = parse(std::move(flags));
  return line.ok() ? "accepted" : line.error().text();
}

TEST(Options, DefaultsAreThoseOfNcclTests) {
  const bench::Options o = parse({})->options;
  EXPECT_EQ(o.min_bytes, 32u << 20);
  EXPECT_EQ(o.max_bytes, 32u << 20);
  EXPECT_EQ(o.iterations, 20);
  EXPECT_EQ(o.warmup, 1);
  EXPECT_TRUE(o.check);
  EXPECT_EQ(o.report, bench::Report::average);
  ASSERT_EQ(o.collectives.size(), 1u);
  EXPECT_EQ(o.collectives[0]->name, "all_reduce");
}

TEST(Options, TheUsualCommandLineOfNcclTests) {
  const bench::Options o = parse({"-b", "8",  "-e", "128M", "-f", "2",  "-g",   "4",  "-t",  "2",  "-n",
                                  "5",  "-w", "3",  "-c",   "0",  "-d", "half", "-o", "max", "-a", "3"})
                               ->options;
  EXPECT_EQ(o.min_bytes, 8u);
  EXPECT_EQ(o.max_bytes, 128u << 20);
  EXPECT_EQ(o.step_factor, 2u);
  EXPECT_EQ(o.iterations, 5);
  EXPECT_EQ(o.warmup, 3);
  EXPECT_FALSE(o.check);
  EXPECT_EQ(o.types, std::vector{bench::DataType::half});
  EXPECT_EQ(o.ops, std::vector{bench::RedOp::max});
  EXPECT_EQ(o.report, bench::Report::maximum);
  EXPECT_EQ(bench::sweep_sizes(o).size(), 25u);  // 2^3 .. 2^27
}

TEST(Options, SeveralCollectivesAndAll) {
  const bench::Options o =
      parse({"--collectives", "all_reduce,alltoallv", "-d", "all", "-o", "all", "-r", "all", "--imbalance", "2.5"})
          ->options;
  ASSERT_EQ(o.collectives.size(), 2u);
  EXPECT_EQ(o.collectives[1]->name, "alltoallv");
  EXPECT_EQ(o.types.size(), 10u);
  EXPECT_EQ(o.ops.size(), 4u);
  EXPECT_TRUE(o.all_roots);
  EXPECT_DOUBLE_EQ(o.imbalance, 2.5);
}

TEST(Options, SizesHaveBinarySuffixes) {
  EXPECT_EQ(*bench::parse_size("8"), 8u);
  EXPECT_EQ(*bench::parse_size("1K"), 1024u);
  EXPECT_EQ(*bench::parse_size("1.5m"), 1572864u);
  EXPECT_EQ(*bench::parse_size("4G"), std::uint64_t{4} << 30);
  for (const char* bad : {"", "K", "1X", "-1", "1e3", "0x10", "nan", "inf", "1.3", "2000000T", "1 K", "1KB", ".",
                          "1.2.3", "99999999999999999999"})
    EXPECT_FALSE(bench::parse_size(bad).ok()) << bad;
}

TEST(Options, StepsAreSumsOrFactors) {
  bench::Options o;
  o.min_bytes = 10;
  o.max_bytes = 35;
  o.step_bytes = 10;
  EXPECT_EQ(bench::sweep_sizes(o), (std::vector<std::uint64_t>{10, 20, 30}));
  o.step_factor = 3;
  EXPECT_EQ(bench::sweep_sizes(o), (std::vector<std::uint64_t>{10, 30}));
}

TEST(Options, RefusalsNameTheFlagAndWhatWasFound) {
  EXPECT_NE(error({"-b", "1X"}).find("-b: found '1X'"), std::string::npos);
  EXPECT_NE(error({"-b", "2M", "-e", "1M"}).find("-e: found 1M, expected at least -b 2M"), std::string::npos);
  EXPECT_NE(error({"-n", "0"}).find("-n: found 0"), std::string::npos);
  EXPECT_NE(error({"-a", "4"}).find("-a: found 4, expected 0 .. 3"), std::string::npos);
  EXPECT_NE(error({"-g", "0"}).find("-g: found 0, expected 1 .. 64"), std::string::npos);
  EXPECT_NE(error({"-z", "1", "-G", "2"}).find("-z: found 1 with -G 2"), std::string::npos);
  EXPECT_NE(error({"-t", "65"}).find("-t: found 65, expected 1 .. 64"), std::string::npos);
  EXPECT_NE(error({"-f", "1"}).find("-f: found 1"), std::string::npos);
  EXPECT_NE(error({"-b", "0", "-f", "2"}).find("-b: found 0"), std::string::npos);
  EXPECT_NE(error({"-b", "0", "-e", "1G", "-i", "1"}).find("more than 100000 sizes"), std::string::npos);
  EXPECT_NE(error({"-r", "x"}).find("-r: found 'x'"), std::string::npos);
  EXPECT_NE(error({"--backend", "ncl"}).find("did you mean 'nccl'"), std::string::npos);
  EXPECT_NE(error({"--imbalance", "0.5"}).find("--imbalance"), std::string::npos);
  EXPECT_NE(error({"--imbalance", "nan"}).find("--imbalance"), std::string::npos);
  EXPECT_NE(error({"-z", "2"}).find("-z: found 2, expected 0 .. 1"), std::string::npos);
  EXPECT_NE(error({"--nonsense"}).find("nonsense"), std::string::npos);
}

TEST(Options, OurOwnFlags) {
  const bench::Options o = parse({"--groups", "nodes,rails,8x2.alone", "--pair-tests", "latency,matrix", "--beside",
                                  "4M", "--hosts", "a,b", "--rank", "1", "--relative-error", "0.02"})
                               ->options;
  ASSERT_EQ(o.groups.size(), 3u);
  EXPECT_EQ(o.groups[2].ranks, 8);
  EXPECT_TRUE(o.groups[2].alone);
  EXPECT_EQ(o.pair_tests, (std::vector{bench::PairTest::latency, bench::PairTest::matrix}));
  EXPECT_EQ(o.beside, bench::Beside::collective);
  EXPECT_EQ(o.beside_bytes, 4u << 20);
  EXPECT_EQ(o.hosts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(o.my_rank, 1);
  EXPECT_EQ(parse({"--config", "x.yaml"})->options.plan, "simulate");
}

TEST(Options, OurOwnFlagsAreChecked) {
  EXPECT_NE(error({"--curve-time", "p11"}).find("did you mean 'p10'"), std::string::npos);
  EXPECT_NE(error({"--groups", "rials"}).find("did you mean 'rails'"), std::string::npos);
  EXPECT_NE(error({"--pair-tests", "latencies"}).find("--pair-tests"), std::string::npos);
  EXPECT_NE(error({"--beside", "0"}).find("--beside: found '0'"), std::string::npos);
  EXPECT_NE(error({"--rank", "1"}).find("without --hosts"), std::string::npos);
  EXPECT_NE(error({"--hosts", "a,b", "--rank", "2"}).find("below 2"), std::string::npos);
  EXPECT_NE(error({"--relative-error", "nan"}).find("--relative-error"), std::string::npos);
  EXPECT_NE(error({"--stall-limit", "0.1"}).find("--stall-limit"), std::string::npos);
  EXPECT_NE(error({"--streams", "0"}).find("--streams: found 0"), std::string::npos);
  EXPECT_NE(error({"--plan", "simulate"}).find("without --config"), std::string::npos);
  EXPECT_NE(error({"--port", "65536"}).find("--port"), std::string::npos);
}

TEST(Options, HelpNamesEveryCollective) {
  const auto line = parse({"--help"});
  ASSERT_TRUE(line.ok() && line->print);
  for (const bench::CollectiveCase& c : bench::collective_cases())
    EXPECT_NE(line->print->find(c.name), std::string::npos) << c.name;
  EXPECT_EQ(line->print->find("inject"), std::string::npos);
}

TEST(Options, TheFirstDifferenceBetweenRanksIsNamed) {
  const std::string a = bench::canonical_text(parse({"-b", "8", "-e", "64", "-n", "7"})->options);
  const std::string b = bench::canonical_text(parse({"-b", "8", "-e", "32", "-n", "9"})->options);
  EXPECT_EQ(bench::first_difference(a, a), "");
  EXPECT_EQ(bench::first_difference(a, b), "found '-e 64', expected '-e 32'");
}

// A flag that is left out of the comparison could differ across ranks unseen.
TEST(Options, EveryFlagThatMattersIsCompared) {
  const std::string base = bench::canonical_text(parse({"-b", "8"})->options);
  const std::vector<std::vector<const char*>> changes = {{"-b", "8", "-e", "64M"},
                                                         {"-b", "8", "-i", "2M"},
                                                         {"-b", "8", "-f", "2"},
                                                         {"-b", "8", "-n", "3"},
                                                         {"-b", "8", "-w", "0"},
                                                         {"-b", "8", "-c", "0"},
                                                         {"-b", "8", "-o", "max"},
                                                         {"-b", "8", "-d", "int8"},
                                                         {"-b", "8", "-r", "1"},
                                                         {"-b", "8", "-a", "0"},
                                                         {"-b", "8", "-G", "1"},
                                                         {"-b", "8", "-J", "x"},
                                                         {"-b", "8", "--out", "y"},
                                                         {"-b", "8", "--system", "s"},
                                                         {"-b", "8", "--imbalance", "2"},
                                                         {"-b", "8", "--backend", "mpi"},
                                                         {"-b", "8", "--collectives", "reduce"},
                                                         {"-b", "8", "--groups", "rails"},
                                                         {"-b", "8", "--pair-tests", "matrix"},
                                                         {"-b", "8", "--relative-error", "0.1"},
                                                         {"-b", "8", "--max-seconds", "1"},
                                                         {"-b", "8", "--stall-limit", "9"},
                                                         {"-b", "8", "--beside", "compute"},
                                                         {"-b", "8", "--streams", "2"},
                                                         {"-b", "8", "--plan", "p.csv"},
                                                         {"-b", "8", "--config", "c.yaml"}};
  for (const auto& flags : changes) EXPECT_NE(bench::canonical_text(parse(flags)->options), base) << flags[2];
}

}  // namespace
}  // namespace distsim::bench
