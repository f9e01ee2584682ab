#include "mpi_bench/collective/options/options.hpp"

#include "mpi_bench/collective/options/idle_flags.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

namespace distsim::bench {
namespace {

Result<CommandLine> parse(std::vector<const char*> flags) {
  flags.insert(flags.begin(), "collective_bench");
  return parse_command_line(static_cast<int>(flags.size()), flags.data());
}

std::string error(std::vector<const char*> flags) {
  const auto line = parse(std::move(flags));
  return line.ok() ? "accepted" : line.error().text();
}

TEST(Options, DefaultsAreThoseOfNcclTests) {
  const Options o = parse({})->options;
  EXPECT_EQ(o.sizes.min_bytes, 32u << 20);
  EXPECT_EQ(o.sizes.max_bytes, 32u << 20);
  EXPECT_EQ(o.timing.iterations, 20);
  EXPECT_EQ(o.timing.warmup, 1);
  EXPECT_TRUE(o.check);
  EXPECT_EQ(o.timing.report, Report::average);
  ASSERT_EQ(o.selected.collectives.size(), 1u);
  EXPECT_EQ(o.selected.collectives[0]->name, "all_reduce");
}

TEST(Options, TheUsualCommandLineOfNcclTests) {
  const Options o = parse({"-b", "8",  "-e", "128M", "-f", "2",  "-g",   "4",  "-t",  "2",  "-n",
                           "5",  "-w", "3",  "-c",   "0",  "-d", "half", "-o", "max", "-a", "3"})
                        ->options;
  EXPECT_EQ(o.sizes.min_bytes, 8u);
  EXPECT_EQ(o.sizes.max_bytes, 128u << 20);
  EXPECT_EQ(o.sizes.step_factor, 2u);
  EXPECT_EQ(o.timing.iterations, 5);
  EXPECT_EQ(o.timing.warmup, 3);
  EXPECT_FALSE(o.check);
  EXPECT_EQ(o.selected.types, std::vector{DataType::half});
  EXPECT_EQ(o.selected.ops, std::vector{RedOp::max});
  EXPECT_EQ(o.timing.report, Report::maximum);
  EXPECT_EQ(sweep_sizes(o.sizes).size(), 25u);  // 2^3 .. 2^27
}

TEST(Options, SeveralCollectivesAndAll) {
  const Options o =
      parse({"--collectives", "all_reduce,alltoallv", "-d", "all", "-o", "all", "-r", "all", "--imbalance", "2.5"})
          ->options;
  ASSERT_EQ(o.selected.collectives.size(), 2u);
  EXPECT_EQ(o.selected.collectives[1]->name, "alltoallv");
  EXPECT_EQ(o.selected.types.size(), 10u);
  EXPECT_EQ(o.selected.ops.size(), 4u);
  EXPECT_TRUE(o.selected.all_roots);
  EXPECT_DOUBLE_EQ(o.selected.imbalance, 2.5);
}

TEST(Options, SizesHaveBinarySuffixes) {
  EXPECT_EQ(*parse_size("8"), 8u);
  EXPECT_EQ(*parse_size("1K"), 1024u);
  EXPECT_EQ(*parse_size("1.5m"), 1572864u);
  EXPECT_EQ(*parse_size("4G"), std::uint64_t{4} << 30);
  for (const char* bad : {"", "K", "1X", "-1", "1e3", "0x10", "nan", "inf", "1.3", "2000000T", "1 K", "1KB", ".",
                          "1.2.3", "99999999999999999999"})
    EXPECT_FALSE(parse_size(bad).ok()) << bad;
}

TEST(Options, StepsAreSumsOrFactors) {
  SizeRange range{.min_bytes = 10, .max_bytes = 35, .step_bytes = 10};
  EXPECT_EQ(sweep_sizes(range), (std::vector<std::uint64_t>{10, 20, 30}));
  range.step_factor = 3;
  EXPECT_EQ(sweep_sizes(range), (std::vector<std::uint64_t>{10, 30}));
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
  EXPECT_NE(error({"-n", "010"}).find("found '010', expected a whole number; write it without zeros in front: 10"),
            std::string::npos);
  EXPECT_NE(error({"-w", "0x10"}).find("found '0x10', expected a whole number"), std::string::npos);
  EXPECT_NE(error({"--max-seconds", "0x1"}).find("found '0x1', expected a number"), std::string::npos);
}

// Also where CLI11 refuses: in our words, with the flag's short name.
TEST(Options, EveryRefusalSaysWhatWasFoundAndExpected) {
  const std::string help = "; see collective_bench --help";
  EXPECT_EQ(error({"-n", "99999999999"}), "-n: found 99999999999, expected 1 .. 10000000");
  EXPECT_EQ(error({"--port", "99999999999"}), "--port: found 99999999999, expected 0 .. 65535");
  EXPECT_EQ(error({"-n", "5", "-n", "7"}), "-n: found twice, expected once" + help);
  EXPECT_EQ(error({"--iters", "5", "-n", "7", "-n", "8"}), "-n: found 3 times, expected once" + help);
  EXPECT_EQ(error({"-n"}), "-n: found nothing, expected N" + help);
  EXPECT_EQ(error({"-n", "x"}), "-n: found 'x', expected a whole number" + help);
  EXPECT_EQ(error({"--overhead=x"}), "--overhead: found 'x', expected no value" + help);
  EXPECT_EQ(error({"--beside", "1M", "--load", "1M"}),
            "--load: found together with --beside, expected one of them" + help);
  EXPECT_EQ(error({"--itres", "5"}),
            "found '--itres', expected a flag of collective_bench; did you mean '--iters'?" + help);
  EXPECT_EQ(error({"all_reduce"}), "found 'all_reduce', expected a flag" + help);
  EXPECT_EQ(error({"--hosts", "a,b", "--rank", "-1"}),
            "--rank: found -1, expected a rank from 0 and below 2, the number of --hosts");
  EXPECT_EQ(error({"--rank", "-1"}), "--rank: found -1 without --hosts");
  EXPECT_EQ(error({"--system", "\xff"}),
            "--system: found the byte 0xff (not UTF-8), expected a name as in configs/systems");
}

TEST(Options, NoWordOfAListIsDropped) {
  for (const char* flag : {"--hosts", "--collectives", "--groups", "--pair-tests"}) {
    for (const std::string list : {"a,,b", ",a", "a,", ","}) {
      EXPECT_EQ(error({flag, list.c_str()}),
                flag + (": found an empty word in '" + list + "', expected a word before and after each comma"));
    }
  }
  EXPECT_EQ(parse({"--hosts", "a,b", "c", "--rank", "2"})->options.launch.hosts,
            (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Options, OurOwnFlags) {
  const Options o = parse({"--groups", "nodes,rails,8x2.alone", "--pair-tests", "latency,matrix", "--load", "4M",
                           "--hosts", "a,b", "--rank", "1", "--relative-error", "0.02"})
                        ->options;
  ASSERT_EQ(o.selected.groups.size(), 3u);
  EXPECT_EQ(o.selected.groups[2].ranks, 8);
  EXPECT_TRUE(o.selected.groups[2].alone);
  EXPECT_EQ(o.selected.pair_tests, (std::vector{PairTest::latency, PairTest::matrix}));
  EXPECT_EQ(o.load.kind, LoadKind::collective);
  EXPECT_EQ(o.load.bytes, 4u << 20);
  EXPECT_EQ(o.launch.hosts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(o.launch.rank, 1);
  EXPECT_EQ(parse({"--config", "x.yaml"})->options.selected.plan, "simulate");
}

TEST(Options, OurOwnFlagsAreChecked) {
  EXPECT_NE(error({"--curve-time", "p11"}).find("did you mean 'p10'"), std::string::npos);
  EXPECT_NE(error({"--groups", "rials"}).find("did you mean 'rails'"), std::string::npos);
  EXPECT_NE(error({"--pair-tests", "latencies"}).find("--pair-tests"), std::string::npos);
  EXPECT_NE(error({"--load", "0"}).find("--load: found '0'"), std::string::npos);
  EXPECT_NE(error({"--beside", "x"}).find("--beside: found 'x', expected compute"), std::string::npos);
  EXPECT_FALSE(error({"--load", "4M", "--beside", "4M"}).empty());
  EXPECT_NE(error({"--beside", "1T"}).find("--beside: found 1T, expected at most 4G"), std::string::npos);
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
  for (const CollectiveCase& c : collective_cases()) EXPECT_NE(line->print->find(c.name), std::string::npos) << c.name;
  EXPECT_EQ(line->print->find("inject"), std::string::npos);
}

TEST(Options, TheFormerNameOfLoadIsAccepted) {
  EXPECT_EQ(parse({"--beside", "compute"})->options.load.kind, LoadKind::compute);
  EXPECT_EQ(parse({"--help"})->print->find("--beside"), std::string::npos);
}

std::string canonical(std::vector<const char*> flags) { return canonical_text(*parse(std::move(flags))); }

TEST(Options, TheFirstDifferenceBetweenRanksIsNamed) {
  const std::string a = canonical({"-b", "8", "-e", "64", "-n", "7"});
  const std::string b = canonical({"-b", "8", "-e", "32", "-n", "9"});
  EXPECT_EQ(first_difference(a, a), "");
  EXPECT_EQ(first_difference(a, b), "found '-e 64', expected '-e 32'");
  EXPECT_EQ(first_difference(canonical({"--stats"}), canonical({})),
            "found '--stats true', expected '--stats (not given)'");
}

TEST(Options, ADefaultEqualsItsOwnSpelling) {
  EXPECT_EQ(canonical({"-e", "32M", "-n", "20", "--backend", "auto"}), canonical({}));
}

/// Flags of the help text, by their last spelling: "--minbytes".
std::vector<std::string> documented_flags() {
  std::vector<std::string> flags;
  std::istringstream help(*parse({"--help"})->print);
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with("  -")) continue;
    const std::string names = line.substr(2, line.find(' ', 2) - 2);
    flags.push_back(names.substr(names.find("--")));
  }
  return flags;
}

// A flag that is left out of the comparison could differ across ranks unseen.
TEST(Options, EveryDocumentedFlagIsComparedUnlessItMayDiffer) {
  const std::set<std::string> may_differ = {"--help", "--rank", "--hosts", "--port", "--topology"};
  const std::map<std::string, const char*> values = {{"--minbytes", "8"},
                                                     {"--maxbytes", "64M"},
                                                     {"--stepbytes", "2M"},
                                                     {"--stepfactor", "2"},
                                                     {"--collectives", "reduce"},
                                                     {"--datatype", "int8"},
                                                     {"--op", "max"},
                                                     {"--root", "1"},
                                                     {"--imbalance", "2"},
                                                     {"--groups", "rails"},
                                                     {"--pair-tests", "matrix"},
                                                     {"--plan", "p.csv"},
                                                     {"--config", "c.yaml"},
                                                     {"--overhead", nullptr},
                                                     {"--iters", "3"},
                                                     {"--warmup_iters", "0"},
                                                     {"--check", "0"},
                                                     {"--average", "0"},
                                                     {"--cudagraph", "1"},
                                                     {"--agg_iters", nullptr},
                                                     {"--blocking", "1"},
                                                     {"--relative-error", "0.1"},
                                                     {"--max-seconds", "1"},
                                                     {"--load", "compute"},
                                                     {"--out", "y"},
                                                     {"--json", "x"},
                                                     {"--stats", nullptr},
                                                     {"--system", "s"},
                                                     {"--curve-time", "p10"},
                                                     {"--hash-hosts", nullptr},
                                                     {"--backend", "mpi"},
                                                     {"--nthreads", "2"},
                                                     {"--ngpus", "2"},
                                                     {"--streams", "2"},
                                                     {"--stall-limit", "9"}};
  const std::string base = canonical({});
  const auto flags = documented_flags();
  EXPECT_GE(flags.size(), 39u);
  for (const std::string& flag : flags) {
    if (may_differ.contains(flag) || flag == "--agg_iters") continue;  // the latter has one value
    ASSERT_TRUE(values.contains(flag)) << flag << " is new: give it a value here";
    std::vector<const char*> line = {flag.c_str()};
    if (values.at(flag) != nullptr) line.push_back(values.at(flag));
    EXPECT_NE(canonical(line), base) << flag;
    (void)idle_flags(*parse(line), {});  // ends the program where the flag has no rule there
  }
  EXPECT_EQ(canonical({"--hosts", "a,b", "--rank", "1", "--port", "99", "--topology", "t.xml"}), base);
}

/// The remarks of a run over tcp, one a line.
std::string idle(std::vector<const char*> flags, const StartFacts& facts = {BackendChoice::tcp, false}) {
  const auto line = parse(std::move(flags));
  if (!line.ok()) return line.error().text();
  std::string text;
  for (const std::string& remark : idle_flags(*line, facts)) text += remark + "\n";
  return text;
}

TEST(IdleFlags, FlagsOfOtherCollectivesAreNamed) {
  EXPECT_EQ(idle({"--imbalance", "2"}), "--imbalance: no effect, no measured collective has uneven sizes\n");
  EXPECT_EQ(idle({"--root", "1"}), "-r: no effect, no measured collective has a root\n");
  EXPECT_EQ(idle({"--op", "max", "--collectives", "alltoall"}), "-o: no effect, no measured collective reduces\n");
  EXPECT_EQ(idle({"--imbalance", "2", "-r", "1", "-o", "max", "--collectives", "alltoallv,reduce"}), "");
}

TEST(IdleFlags, FlagsThatOthersOverruleAreNamed) {
  EXPECT_EQ(idle({"-b", "8", "-i", "8", "-f", "2"}), "-i: no effect, -f says the sizes\n");
  EXPECT_EQ(idle({"--max-seconds", "1"}), "--max-seconds: no effect, it limits --relative-error, which is off\n");
  EXPECT_EQ(idle({"--max-seconds", "1", "--overhead"}), "");
  EXPECT_EQ(
      idle({"--overhead", "-n", "5", "--stats"}),
      "-n: no effect, --overhead only compares two loops\n--stats: no effect, --overhead only compares two loops\n");
  EXPECT_EQ(idle({"--pair-tests", "matrix", "-b", "8", "-e", "64M"}),
            "-b: no effect, the matrix is measured with messages of -e bytes\n");
  EXPECT_EQ(idle({"--pair-tests", "latency,matrix", "-b", "8", "-e", "64M"}), "");
}

TEST(IdleFlags, WhatDescribesTheCurveFileNeedsOne) {
  for (const std::vector<const char*>& flags :
       {std::vector<const char*>{"--system", "x"}, {"--hash-hosts"}, {"--curve-time", "p10"}, {"--topology", "x"}}) {
    EXPECT_EQ(idle(flags), flags.front() + std::string(": no effect, no curve file is written (--out)\n"));
    std::vector<const char*> with = flags;
    with.insert(with.end(), {"--out", "x"});
    EXPECT_EQ(idle(with), "");
  }
}

TEST(IdleFlags, TheBackendCounts) {
  EXPECT_EQ(idle({"--streams", "4", "--port", "99"}), "");
  EXPECT_EQ(idle({"--streams", "4", "--port", "99"}, {BackendChoice::mpi, true}),
            "--streams: no effect, only the tcp backend opens connections of its own\n"
            "--port: no effect, the ranks meet through MPI\n");
  EXPECT_EQ(idle({"-z", "1"}), "-z: no effect, only the nccl backend can return before a call is done\n");
  EXPECT_EQ(idle({"-z", "1"}, {BackendChoice::nccl, true}), "");
}

TEST(IdleFlags, APlanSaysWhatIsMeasured) {
  CommandLine line = *parse({"--plan", "p.csv", "-e", "64M", "-r", "1"});
  line.options.selected.planned = {{*find_case("reduce"), DataType::half, {}, {1024}}};
  EXPECT_EQ(idle_flags(line, {}), std::vector<std::string>{"-e: no effect, the plan says what is measured"});
}

TEST(IdleFlags, HiddenFlagsHaveARuleToo) {
  EXPECT_EQ(idle({"--inject-fault", "0:1", "--inject-stall", "0:1", "--beside", "compute"}), "");
  EXPECT_EQ(idle({"--inject-fault", "0:1", "-c", "0"}), "--inject-fault: no effect, -c is 0\n");
}

TEST(IdleFlags, ADefaultIsNotNamed) {
  EXPECT_EQ(idle({"-r", "0", "-o", "sum", "--imbalance", "1", "--collectives", "alltoall"}), "");
}

TEST(Options, FilesThatWouldHoldNothingAreRefused) {
  EXPECT_EQ(error({"--overhead", "--out", "x"}), "--out: found with --overhead, expected none: it writes no files");
  EXPECT_EQ(error({"--overhead", "-J", "x"}), "-J: found with --overhead, expected none: it writes no files");
  EXPECT_NE(error({"--pair-tests", "matrix", "-J", "x"}).find("only latency is written"), std::string::npos);
  EXPECT_EQ(error({"--pair-tests", "bandwidth,latency", "-J", "x"}), "accepted");
  for (const char* flag : {"--out", "-J", "--topology", "--plan"})
    EXPECT_NE(error({flag, ""}).find("found an empty file name"), std::string::npos) << flag;
  for (const char* flag : {"--system", "--load", "--backend"})
    EXPECT_NE(error({flag, ""}).find("found an empty value"), std::string::npos) << flag;
}

TEST(Options, ThePlanIsCompared) {
  CommandLine line = *parse({"--plan", "p.csv"});
  const std::string without = canonical_text(line);
  line.options.selected.planned = {{line.options.selected.collectives.front(), DataType::half, {}, {1024}}};
  EXPECT_NE(canonical_text(line), without);
}

}  // namespace
}  // namespace distsim::bench
