// Logs in JSON: of nccl-tests and of collective_bench.
#include <gtest/gtest.h>

#include "collectives/logs/curve_import.hpp"
#include "log_fixture.hpp"

namespace distsim::collectives {
namespace {

const char* const kJson =
    R"({"args": ["./all_gather_perf", "-J", "x"], "config": {"nthreads": 1, "ngpus": 1, "graph": 1},
        "devices": [{"rank": 0, "group": 0, "hostname": "a", "device_info": "NVIDIA H100"}, {"rank": 1, "group": 0, "hostname": "b", "device_info": "NVIDIA H100"}],
        "results": [{"size": 1048576, "count": 131072, "out_of_place": {"time": 104.86, "alg_bw": 10.0, "bus_bw": 5.0, "nwrong": 0}, "in_place": null}]})";

TEST(JsonLog, WrongResultsInPlaceAreRefused) {
  const std::string in_place = R"("in_place": {"time": 104.86, "alg_bw": 10.0, "bus_bw": 5.0, "nwrong": )";
  const auto with = [&](const std::string& wrong) {
    std::string text = kJson;
    return text.replace(text.find(R"("in_place": null)"), 16, in_place + wrong + "}");
  };
  for (const char* good : {"0", "-1", "\"N/A\""}) EXPECT_TRUE(read("good.json", with(good)).ok()) << good;
  expect_error(read("wrong.json", with("17")), "#wrong: found 17, expected 0");
  expect_error(read("text.json", with("\"x\"")), "nwrong: found \"x\", expected a number of wrong results");
}

TEST(JsonLog, ATestOfNoCollectiveIsNotThatOfTheFileName) {
  const std::string rest =
      R"(, "devices": [{"rank": 0}, {"rank": 1}], "results": [{"size": 1024, "out_of_place": {"time": 10}}]})";
  expect_error(read("all_reduce_1.json", R"({"test": "hypercube_perf")" + rest), "found the test 'hypercube'");
  expect_error(read("all_reduce_2.json", R"({"args": ["/build/hypercube_perf"])" + rest), "found the test 'hypercube'");
  EXPECT_TRUE(read("all_reduce_3.json", R"({"args": ["/opt/bench"])" + rest).ok());
  EXPECT_TRUE(read("x.json", R"({"args": ["/opt/all_reduce"])" + rest).ok());
}

TEST(JsonLog, WhatNcclMayChooseIsReadFromTheEnvironment) {
  const std::string rest =
      R"(, "test": "all_reduce_perf", "devices": [{"rank": 0}, {"rank": 1}], "results": [{"size": 1024, "out_of_place": {"time": 10}}]})";
  const auto settings = [&](const std::string& env) {
    const auto set = read("env.json", "{\"env\": " + env + rest);
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set.ok() ? set->curves[0].settings : "";
  };
  EXPECT_EQ(settings(R"({"NCCL_ALGO": "Ring", "NCCL_DEBUG": "INFO"})"), "NCCL_ALGO=Ring");
  EXPECT_EQ(settings(R"(["PATH=/bin", "NCCL_PROTO=LL"])"), "NCCL_PROTO=LL");
  EXPECT_EQ(settings(R"({"NCCL_IB_DISABLE": 1, "NCCL_P2P_DISABLE": "0", "NCCL_IB_HCA": "mlx5"})"), "NCCL_IB_DISABLE=1");
  EXPECT_EQ(settings("{}"), "");
}

TEST(JsonLog, CallsAtOnceAreNamedInAnySpelling) {
  for (const char* key : {"agg_iters", "aggIters", "agg_iterations", "aggregated_iterations"}) {
    std::string text = kJson;
    text.replace(text.find(R"("graph": 1)"), 10, "\"" + std::string(key) + "\": 8");
    const auto set = read("aggregated.json", text);
    ASSERT_TRUE(set.ok()) << set.error().text();
    ASSERT_FALSE(set->remarks.empty()) << key;
    EXPECT_NE(set->remarks[0].find("8"), std::string::npos) << set->remarks[0];
  }
}

TEST(JsonLog, NcclTests) {
  const auto set = read("results.json", kJson);
  ASSERT_TRUE(set.ok()) << set.error().text();
  const Curve& c = set->curves[0];
  EXPECT_EQ(c.kind, graph::CollectiveKind::all_gather);
  EXPECT_EQ(c.ranks, 2u);
  EXPECT_EQ(c.nodes, 2u);
  EXPECT_TRUE(c.cuda_graph);
  EXPECT_DOUBLE_EQ(c.points[0].time_us, 104.86);
  std::string text = kJson;
  text.replace(text.find("104.86"), 6, "\"x\"");
  expect_error(read("text_time.json", text), "results[0]: time: found \"x\"");
}

TEST(JsonLog, EachTypeOfATableIsACurve) {
  const auto row = [](const char* type, const char* count, const char* bytes) {
    return std::string(R"({"size": )") + bytes + R"(, "count": )" + count + R"(, "type": ")" + type +
           R"(", "redop": "sum", "root": -1, "out_of_place": {"time_us": 10}})";
  };
  const std::string rows = row("int8", "8", "8") + "," + row("int8", "1024", "1024") + "," + row("float", "2", "8") +
                           "," + row("float", "256", "1024");
  const auto set = read("types.json", R"({"ranks": 2, "nodes": 1, "tables": [{"collective": "all_reduce", "ranks": 2,
        "nodes": 1, "rows": [)" + rows + "]}]}");
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->curves.size(), 2u);
  EXPECT_EQ(set->curves[1].label, "types.json, float sum");
}

/// Processes that see one GPU each all say device 0; buses tell them apart.
TEST(JsonLog, RanksOfOneGpuAreRefused) {
  const auto with = [](const std::string& first, const std::string& second, const std::string& third) {
    const auto rank = [](int i, const std::string& device) {
      return R"({"rank": )" + std::to_string(i) + R"(, "hostname": "a", "pid": )" + std::to_string(i) + ", " + device +
             "}";
    };
    return R"({"test": "all_reduce_perf", "devices": [)" + rank(0, first) + "," + rank(1, second) + "," +
           rank(2, third) + R"(], "results": [{"size": 1024, "out_of_place": {"time": 10}}]})";
  };
  const std::string zero = R"("device": 0)", one = R"("device": 1)", two = R"("device": 2)";
  EXPECT_TRUE(read("three.json", with(zero, one, two)).ok());
  EXPECT_TRUE(read("each_sees_one.json", with(zero, zero, zero)).ok());
  expect_error(read("two_on_one.json", with(zero, one, one)), "found ranks 1 and 2 on one GPU, 'a device 1'");
  const std::string bus = R"("device": 0, "device_hex": "07:00")";
  expect_error(read("one_bus.json", with(bus, R"("device": 0, "device_hex": "08:00")", bus)), "found ranks 0 and 2");
}

TEST(JsonLog, CutAnywhereIsRefused) {
  const std::string text = kJson;
  for (std::size_t n = 1; n < text.size(); n += 7) EXPECT_FALSE(read("cut.json", text.substr(0, n)).ok()) << n;
  expect_error(read("other.json", "{\"a\": 1}"), "'results' (nccl-tests -J) or 'tables'");
}

Result<CurveSet> read_bench(const std::string& iterations) {
  return read(
      "bench.json",
      R"({"version": 1, "partial": true, "backend": "nccl 2.28", "tables": [{"collective": "all_reduce", "ranks": 8, "nodes": 1, "rows": [
      {"size": 1048576, "count": 262144, "out_of_place": {"time_us": 50.0, "algbw": 20.97, "busbw": 36.70, "wrong": 0, "iterations": {)" +
          iterations + "}}}]}]}");
}

TEST(JsonLog, CollectiveBench) {
  const auto set = read_bench(R"("p10_us": 45, "p90_us": 60)");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_TRUE(set->partial);
  EXPECT_EQ(set->curves[0].ranks, 8u);
  EXPECT_DOUBLE_EQ(set->curves[0].points[0].high_us, 60);
}

TEST(JsonLog, CollectiveBenchSaysHowItWasLaunched) {
  const auto read_run = [](const std::string& run, const std::string& table) {
    return read(
        "launched.json",
        "{" + run + R"("ranks": 8, "tables": [{"collective": "all_reduce", )" + table +
            R"("nodes": 1, "rows": [{"size": 1048576, "count": 262144, "out_of_place": {"time_us": 50.0}}]}]})");
  };
  const std::string lanes = R"("nThread": 4, "nGpus": 2, "graph": true, "date": "2026-11-20", )";
  const auto set = read_run(lanes, R"("ranks": 8, "settings": "NCCL_IB_DISABLE=1", )");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_TRUE(set->curves[0].single_process);
  EXPECT_TRUE(set->curves[0].cuda_graph);
  EXPECT_EQ(set->curves[0].date, "2026-11-20");
  EXPECT_EQ(set->curves[0].settings, "NCCL_IB_DISABLE=1");
  const auto group = read_run(lanes, R"("ranks": 2, )");  // of the lanes of one process
  EXPECT_TRUE(group.ok()) << group.error().text();
  EXPECT_FALSE(read_run("", R"("ranks": 8, )")->curves[0].single_process_stated);
}

TEST(JsonLog, PercentilesLieAroundTheirTime) {
  expect_error(read_bench(R"("p10_us": 55, "p90_us": 60)"), "rows[0]: low_us: found 55, expected at most time_us, 50");
  expect_error(read_bench(R"("p10_us": 45, "p90_us": 48)"),
               "rows[0]: high_us: found 48, expected at least time_us, 50");
  expect_error(read_bench(R"("p90_us": 48, "max_us": 49)"), "rows[0]: max_us: found 49, expected at least time, 50");
}

/// One sample of 20 may be so long that the mean lies above the 90th percentile.
TEST(JsonLog, AMeanMayLieOutsideThePercentiles) {
  const auto set = read_bench(R"("min_us": 40, "p10_us": 41, "p90_us": 45, "max_us": 200)");
  ASSERT_TRUE(set.ok()) << set.error().text();
  const CurvePoint& point = set->curves[0].points[0];
  EXPECT_EQ(point.low_us, 41);
  EXPECT_EQ(point.high_us, 50);
}

TEST(JsonLog, WhatTheRunSaysOfItselfIsChecked) {
  const auto with = [](const std::string& more) { return std::string(kJson).replace(1, 0, more); };
  expect_error(read("oob.json", with(R"("out_of_bounds": {"count": 5, "okay": false}, )")),
               "expected results without errors");
  EXPECT_TRUE(read("fine.json", with(R"("out_of_bounds": {"count": 0, "okay": true}, )")).ok());
  const auto other = read("mean.json", with(R"("average_bus_bandwidth": {"bandwidth": 77.0}, )"));
  ASSERT_TRUE(other.ok());
  ASSERT_EQ(other->remarks.size(), 1u);
  EXPECT_NE(other->remarks[0].find("Avg bus bandwidth: found 77, expected 5"), std::string::npos) << other->remarks[0];
  std::string typed = kJson;
  typed.replace(typed.find("\"count\": 131072"), 15, R"("type": "double", "count": 77)");
  expect_error(read("typed.json", typed), "expected count x type (77 x double of each rank)");
}

/// The program that was called is the test that the file names.
TEST(JsonLog, AProgramOfAnotherTestIsRefused) {
  const auto with = [](const std::string& test) {
    return std::string(kJson).replace(1, 0, R"("test": ")" + test + "\", ");
  };
  for (const char* same : {"all_gather_perf", "all_gather", "build/all_gather_perf"})
    EXPECT_TRUE(read("same.json", with(same)).ok()) << same;
  for (const char* other : {"all_reduce_perf", "hypercube_perf"})
    expect_error(read("other.json", with(other)),
                 "args: found './all_gather_perf', expected the program of the test '" + std::string(other) + "'");
}

TEST(JsonLog, AnOperationOfAnotherCollectiveIsRefused) {
  const std::string row = R"("count": 131072)";
  const auto with = [&](const std::string& more) {
    std::string text = kJson;
    return text.replace(text.find(row), row.size(), row + more);
  };
  EXPECT_TRUE(read("none.json", with(R"(, "redop": "none", "root": -1)")).ok());
  expect_error(read("sum.json", with(R"(, "redop": "sum")")), "redop: found sum, expected none");
  expect_error(read("root.json", with(R"(, "root": 1)")), "root: found 1, expected -1: it has none");
}

TEST(JsonLog, RanksAreThoseOfWholeProcesses) {
  const auto with = [](const std::string& config, std::uint32_t ranks) {
    return read("launch.json",
                R"({"test": "broadcast_perf", "config": {)" + config +
                    R"(}, "results": [{"size": 1024, "out_of_place": {"time": 10}}]})",
                {ranks, 1});
  };
  EXPECT_TRUE(with(R"("nthreads": 2, "ngpus": 4)", 8).ok());
  EXPECT_TRUE(with(R"("nthreads": 2, "ngpus": 4)", 16).ok());
  expect_error(with(R"("nthreads": 2, "ngpus": 4)", 4), "ranks: found 4, expected a multiple of 8");
  expect_error(with(R"("ngpus": 16)", 8), "ranks: found 8, expected a multiple of 16");
}

std::string json_with(const std::string& old, const std::string& now) {
  std::string text = kJson;
  return text.replace(text.find(old), old.size(), now);
}

std::string only_remark(const std::string& name, const std::string& text) {
  const auto set = read(name, text);
  EXPECT_TRUE(set.ok()) << set.error().text();
  if (!set.ok() || set->remarks.size() != 1) return "";
  return set->remarks[0];
}

TEST(JsonLog, FiguresInPlaceThatContradictThemselvesAreNamed) {
  const auto in_place = [](const std::string& time) {
    return json_with(R"("in_place": null)", R"("in_place": {"time": )" + time + R"(, "alg_bw": 10.0, "bus_bw": 5.0})");
  };
  EXPECT_TRUE(read("in_place.json", in_place("104.86"))->remarks.empty());
  EXPECT_NE(only_remark("in_place.json", in_place("999999")).find("1 row whose in-place algbw is not size / time"),
            std::string::npos);
  expect_error(read("in_place.json", in_place("\"x\"")), "results[0]: time: found \"x\", expected a number");
}

TEST(JsonLog, IterationsAreAtLeastOne) {
  for (const char* none : {"0", "-1", "\"0\""})
    expect_error(read("iters.json", json_with("\"graph\": 1", R"("graph": 1, "iters": )" + std::string(none))),
                 "expected at least 1");
  expect_error(read_bench(R"("count": 0)"), "rows[0]: iterations.count: found 0, expected at least 1");
}

TEST(JsonLog, AMeanThatIsNoNumberIsNotThatOfTheRows) {
  const auto mean = [](const std::string& said) {
    return json_with("{\"args\"", R"({"average_bus_bandwidth": )" + said + ", \"args\"");
  };
  for (const auto& [said, found] : {std::pair("\"x\"", "found 'x'"),
                                    {"\"1\"", "found 1"},
                                    {"-1", "found -1"},
                                    {"{\"bandwidth\": true}", "found 'true'"}})
    EXPECT_NE(only_remark("mean.json", mean(said)).find(std::string(found) + ", expected 5"), std::string::npos)
        << said;
  EXPECT_TRUE(read("mean.json", mean("\"5.0\""))->remarks.empty());
}

TEST(JsonLog, ARowWithoutABandwidthIsNoneOfNothing) {
  const auto bench = [](const std::string& said) {
    return R"({"tables": [{"collective": "all_reduce", "ranks": 2, "nodes": 1, "avg_busbw": 10, "rows": [)"
           R"({"size": 1048576, "out_of_place": {"time_us": 104.86, "algbw": 10, "busbw": 10}},)"
           R"({"size": 2097152, "out_of_place": {"time_us": 209.72, "algbw": )" +
           said + R"(, "busbw": )" + said + "}}]}]}";
  };
  for (const char* said : {"10", "null"}) EXPECT_TRUE(read("bench_null.json", bench(said))->remarks.empty()) << said;
}

TEST(JsonLog, EachTableOfCollectiveBenchHasItsMean) {
  const auto bench = [](const std::string& mean) {
    return R"({"tables": [{"collective": "all_reduce", "ranks": 2, "nodes": 1, "avg_busbw": )" + mean +
           R"(, "rows": [{"size": 1048576, "out_of_place": {"time_us": 104.86, "algbw": 10, "busbw": 10}}]}]})";
  };
  EXPECT_TRUE(read("bench_mean.json", bench("10"))->remarks.empty());
  EXPECT_NE(only_remark("bench_mean.json", bench("77")).find("tables[0]: Avg bus bandwidth: found 77, expected 10"),
            std::string::npos);
}

TEST(JsonLog, ARunIsPartialInAnyForm) {
  const auto partial = [](const std::string& said) {
    return R"({"partial": )" + said +
           R"(, "tables": [{"collective": "all_reduce", "ranks": 2, "rows": [{"size": 8, "out_of_place": {"time_us": 10}}]}]})";
  };
  for (const char* yes : {"true", "\"true\"", "1"}) EXPECT_TRUE(read("partial.json", partial(yes))->partial) << yes;
  for (const char* no : {"false", "0", "null"}) EXPECT_FALSE(read("partial.json", partial(no))->partial) << no;
  expect_error(read("partial.json", partial("\"so\"")), "partial: found \"so\", expected true or false");
}

TEST(JsonLog, WhatIsOfAnotherTypeIsNotUnsaid) {
  const auto gpus = [](const std::string& n) { return json_with("\"ngpus\": 1", "\"ngpus\": " + n); };
  const auto text = read("gpus.json", gpus("\"2\""));
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_TRUE(text->curves[0].single_process);
  for (const auto& [said, found] : {std::pair("1e30", "1e+30"), {"-2", "-2"}, {"\"x\"", "\"x\""}, {"true", "true"}})
    expect_error(read("gpus.json", gpus(said)), "ngpus: found " + std::string(found) + ", expected a whole number");
  expect_error(read("count.json", json_with("\"count\": 131072", "\"count\": true")), "count: found true");
  expect_error(read("type.json", json_with("\"count\": 131072", "\"type\": []")), "type: found [], expected text");
  expect_error(read("config.json", json_with("\"config\": {", "\"config\": 1, \"c\": {")), "config: found 1");
  expect_error(read("device.json", json_with("{\"rank\": 1", "{\"rank\": 1.5")), "devices[1]: rank: found 1.5");
}

/// As of a text: the first group represents those of its size.
TEST(JsonLog, GroupsOfASplitAreOfOneSize) {
  const std::string first = json_with("{\"rank\": 1,", "{\"rank\": 2,");
  const auto with = [&](const std::string& others) {
    std::string text = first;
    return text.replace(text.find("}],\n"), 4, "}, " + others + "],\n");
  };
  const std::string one = R"({"rank": 1, "group": 1, "hostname": "a"})";
  const auto set = read("groups.json", with(one + R"(, {"rank": 3, "group": 1, "hostname": "b"})"));
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].ranks, 2u);
  expect_error(read("groups.json", with(one)), "found 2 ranks in group 0 and 1 in group 1");
}

TEST(JsonLog, AKeyThatARowHasTwiceIsRefused) {
  std::string text = kJson;
  text.insert(text.find("\"alg_bw\""), "\"time\": 52.43, ");
  expect_error(read("twice.json", text), "twice.json: found the key 'time' twice, expected it once");
}

}  // namespace
}  // namespace distsim::collectives
