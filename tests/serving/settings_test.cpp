// What an experiment says and what becomes of it: tables beside stated times, duplicates, keys without effect, empty windows.

#include <filesystem>
#include <fstream>

#include "scenarios.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/serving/spec/arrival_file.hpp"
#include "sim/serving/spec/fingerprint.hpp"
#include "sim/serving/spec/serving_spec.hpp"
#include "sim/serving/spec/times_table.hpp"
#include "test_paths.hpp"

namespace distsim::serving {
namespace {

const std::string kOneModel =
    "gpus: [{name: a}, {name: b, speed: 2}]\n"
    "models: [{name: m, layer_times: [1 ms, 2 ms]}]\n"
    "load: {rate_per_s: 100, requests: 1000}\n"
    "policies: [fifo]\n";

std::string file_of(const std::string& name, const std::string& text) {
  const std::string path = (std::filesystem::path(testing::TempDir()) / name).string();
  std::ofstream(path) << text;
  return path;
}
std::string error_of(const std::vector<std::string>& sets, const std::string& text = kOneModel) {
  const auto e = parse_experiment(text, "x.yaml", sets);
  return e.ok() ? "" : e.error().text();
}
std::string table_error(const std::string& rows) {
  TimesTable table;
  const auto read = table.read(file_of("rows.csv", "model,gpu,batch,layer,time_us\n" + rows));
  const std::string text = read.ok() ? "" : read.error().text();
  return text.substr(std::min(text.size(), text.find("rows.csv")));
}
bool has(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

/// A measured table goes before stated times, on the GPUs that it has.
TEST(Settings, TablesGoBeforeStatedTimes) {
  const std::string table = file_of("a_only.csv", "model,gpu,batch,layer,time_us\nm,a,1,x,5000\nm,a,1,y,7000\n");
  const auto e = parse_experiment(kOneModel, "x.yaml", {"times=[" + table + "]"});
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->scenario.time_ps(0, 0, 0, 2, 1), 12 * test::kMs);
  EXPECT_EQ(e->scenario.time_ps(1, 0, 0, 2, 1), 3 * test::kMs / 2);  // stated, at twice the speed
  EXPECT_EQ(e->idle_keys.size(), 0u);
  const auto all = parse_experiment(kOneModel, "x.yaml", {"times=[" + table + "]", "gpus.1.kind=a"});
  ASSERT_TRUE(all.ok()) << all.error().text();
  EXPECT_TRUE(has(all->idle_keys, "x.yaml:2:33: models[0].layer_times: no effect, tables have the times"))
      << (all->idle_keys.empty() ? "" : all->idle_keys[0]);
}

/// Batches that were exchanged when the table was made.
TEST(Settings, ALargerBatchThatTakesLessIsNamed) {
  const auto notes = [](const std::string& rows) {
    TimesTable table;
    EXPECT_TRUE(table.read(file_of("batches.csv", "model,gpu,batch,layer,time_us\n" + rows)).ok());
    return table.notes();
  };
  EXPECT_TRUE(notes("m,a,1,x,10\nm,a,2,x,5.5\nm,a,4,x,20\n").empty());
  const auto odd = notes("m,a,1,x,20\nm,a,1,y,5\nm,a,2,x,10\nm,a,2,y,2\nm,a,4,x,3\nm,a,4,y,2\n");
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_NE(
      odd[0].find("batches.csv: times of m on a: batch 2 takes 12 us, less than batch 1 with 25 us, and 1 more such "
                  "batch"),
      std::string::npos)
      << odd[0];
}

TEST(Settings, ABatchThatTakesFarMoreThanItsPartsIsNamed) {
  TimesTable table;
  ASSERT_TRUE(
      table.read(file_of("slow.csv", "model,gpu,batch,layer,time_us,dtype\nm,a,1,x,10,fp16\nm,a,8,x,330,fp16\n")).ok());
  const auto odd = table.notes();
  ASSERT_EQ(odd.size(), 2u);
  EXPECT_TRUE(odd[0].ends_with("slow.csv: column 'dtype': no effect")) << odd[0];
  EXPECT_TRUE(odd[1].ends_with("batch 8 takes 330 us, more than its requests in parts of batch 1 with 10 us"))
      << odd[1];
}

TEST(Settings, AModelThatATableLeavesWithoutTimesOnAGpuIsNamed) {
  const std::string table = file_of("gaps.csv", "model,gpu,batch,layer,time_us\nm,a,1,x,5000\nn,a,1,x,1\nn,b,1,x,1\n");
  const std::string text =
      "gpus: [{name: a}, {name: b}, {name: c, kind: b}]\nmodels:\n  - {name: m}\n  - {name: n}\n"
      "load: {rate_per_s: 100, requests: 1000}\npolicies: [fifo]\n";
  const auto e = parse_experiment(text, "x.yaml", {"times=[" + table + "]"});
  ASSERT_TRUE(e.ok()) << e.error().text();
  ASSERT_EQ(e->idle_keys.size(), 1u);
  EXPECT_EQ(e->idle_keys[0],
            "x.yaml:3:5: models[0]: the tables of times have no rows of m on b, c, which run none of its requests");
  const auto placed = parse_experiment(text, "x.yaml", {"times=[" + table + "]", "models.0.placed_on=[a]"});
  ASSERT_TRUE(placed.ok()) << placed.error().text();
  EXPECT_EQ(placed->idle_keys.size(), 0u) << "as it says itself";
}

TEST(Settings, TablesHaveSomeTimes) {
  EXPECT_EQ(table_error("m,a,1,x,0\nm,a,1,y,0\n"),
            "rows.csv: time_us: found 0 in all 2 rows of m on a, expected some time above 0");
  EXPECT_EQ(table_error("m,b,1,x,1\nm,a,1,x,0\n"),
            "rows.csv: time_us: found 0 in the one row of m on a, expected some time above 0");
  EXPECT_EQ(table_error("m,a,1,x,0\nm,a,1,y,1\n"), "");
  EXPECT_EQ(table_error("m,a,1,x,0\nm,a,2,x,1\n"), "");
}

TEST(Settings, TablesNameTheirLayers) {
  EXPECT_EQ(table_error("m,a,1,conv,1\nm,a,1,relu,2\nm,a,2,conv,1\nm,a,2,relu,2\n"), "");
  EXPECT_NE(table_error("m,a,1,relu,1\nm,b,1,relu,1\nm,a,1,relu,2\n")
                .find("rows.csv:4: layer: found 'relu' of m twice, expected each layer once; first at "),
            std::string::npos);
  EXPECT_NE(table_error("m,a,1,conv,1\nm,a,1,relu,2\nm,a,2,relu,1\nm,a,2,conv,2\n")
                .find("rows.csv:4: layer: found 'relu' as layer 1 of m, expected 'conv' as at "),
            std::string::npos);
  EXPECT_NE(table_error("m,a,1,conv,1\nm,b,1,relu,2\n").find("rows.csv:3: layer: found 'relu' as layer 1 of m"),
            std::string::npos);
  EXPECT_EQ(table_error("m,a,1,0,1\nm,a,1,1,2\nm,a,1,0,1\n"),
            "rows.csv:4: layer: found '0' after 1, expected layers with numbers in ascending order, each once");
  const std::string rows = "model,gpu,batch,layer,time_us\nm,a,1,x,5000\n";
  const std::string one = file_of("one.csv", rows), other = file_of("other.csv", rows);
  EXPECT_NE(error_of({"times=[" + one + ", " + one + "]"}).find("times[1]: found '" + one + "' twice"),
            std::string::npos);
  EXPECT_NE(error_of({"times=[" + one + ", " + other + "]"})
                .find("found times of m on a at batch 1, expected them in one file"),
            std::string::npos);
}

TEST(Settings, DuplicatesAreRefused) {
  EXPECT_NE(error_of({"policies=[fifo, sjf, fifo]"}).find("policies[2]: found 'fifo', expected each policy once"),
            std::string::npos)
      << error_of({"policies=[fifo, sjf, fifo]"});
  EXPECT_NE(error_of({"run.rates_per_s=[100, 200, 100]"}).find("run.rates_per_s[2]: found 100 twice"),
            std::string::npos);
  EXPECT_NE(error_of({"models.0.placed_on=[a, a]"}).find("models[0].placed_on[1]: found 'a' twice"), std::string::npos);
  EXPECT_NE(
      error_of({"models.0.after=[[], [0, 0]]"}).find("models[0].after[1][1]: found '0', expected each layer once"),
      std::string::npos);
  EXPECT_NE(error_of({"models.0.name=all"}).find("models[0].name: found 'all', expected another name"),
            std::string::npos);
  EXPECT_NE(error_of({"gpus.0.idle_power=100 W", "gpus.0.busy_power=50 W"})
                .find("busy_power: found 50 W, expected at least the idle_power of 100 W"),
            std::string::npos);
  EXPECT_NE(error_of({"gpus.0.device=a100_sxm4_40gb", "gpus.0.busy_power=1 W"}).find("gpus[0].busy_power: found 1 W"),
            std::string::npos)
      << error_of({"gpus.0.device=a100_sxm4_40gb", "gpus.0.busy_power=1 W"});
}

/// The name of an entry of gpus is all of its GPUs.
TEST(Settings, ModelsMayBePlacedOnAllOfAKind) {
  const auto e = parse_experiment(kOneModel, "x.yaml", {"gpus.0.count=3", "models.0.placed_on=[a, b]"});
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->policy_options.placement[0], (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_NE(error_of({"gpus.0.count=3", "models.0.placed_on=[a, a1]"}).find("found 'a1' twice"), std::string::npos);
}

TEST(Settings, KeysWithoutEffectAreNamed) {
  const auto idle = [](const std::vector<std::string>& sets, const std::string& text = kOneModel) {
    const auto e = parse_experiment(text, "x.yaml", sets);
    EXPECT_TRUE(e.ok()) << (e.ok() ? "" : e.error().text());
    return e.ok() ? e->idle_keys : std::vector<std::string>{};
  };
  const std::string trace = file_of("three.csv", "arrival_s\n0\n1\n2\n");
  const std::string of_trace = "load={kind: trace, file: " + trace;
  EXPECT_EQ(idle({}).size(), 0u);
  EXPECT_TRUE(has(idle({of_trace + ", streams: 3}"}), "load.streams: no effect"));
  EXPECT_TRUE(has(idle({of_trace + ", samples: 3}"}), "load.samples: no effect"));
  EXPECT_TRUE(
      has(idle({of_trace + ", requests: 9}"}), "load.requests: no effect, no more than 3 arrivals of the file come"));
  EXPECT_EQ(idle({of_trace + ", requests: 2}"}).size(), 0u);
  EXPECT_TRUE(has(idle({"load.samples=2"}), "--set load.samples: no effect"));
  EXPECT_TRUE(has(idle({"load.cv=2"}), "load.cv: no effect"));
  EXPECT_TRUE(has(idle({"load.clients=2"}), "load.clients: no effect"));
  EXPECT_TRUE(has(idle({"models.0.sm_limit=0.5"}), "--set models.0.sm_limit: no effect"));
  EXPECT_TRUE(has(idle({"models.0.launch_demand=0.5"}), "--set models.0.launch_demand: no effect"));
  EXPECT_EQ(idle({"models.0.sm_limit=0.5", "models.0.launch_demand=0.5", "gpus.0.execution=shared"}).size(), 0u);
  EXPECT_TRUE(has(idle({"models.0.cv=2"}), "--set models.0.cv: no effect"));
  EXPECT_TRUE(has(idle({"models.0.batch_cost=0.5"}), "--set models.0.batch_cost: no effect"));
  EXPECT_EQ(idle({"models.0.batch_cost=0.5", "models.0.max_batch=2", "policies=[lazy_batching]"}).size(), 0u);
  EXPECT_TRUE(has(idle({"models.0.precision=fp16"}), "--set models.0.precision: no effect"));
  EXPECT_TRUE(has(idle({"gpus.0.streams=2"}), "--set gpus.0.streams: no effect, no model has branches"));
  EXPECT_TRUE(has(idle({"gpus.0.box_latency=1 us"}), "--set gpus.0.box_latency: no effect"));
  EXPECT_TRUE(has(idle({"batching.size=2"}), "batching.size: no effect, no policy batches"));
  EXPECT_EQ(idle({"batching.size=2", "models.0.max_batch=4", "policies=[static_batching]"}).size(), 0u);
  for (const char* set : {"batching.size=2", "batching.delay=1 ms"})
    EXPECT_TRUE(has(idle({set, "policies=[dynamic_batching]"}), ": no effect, the max_batch of every model is 1"));
  EXPECT_TRUE(has(idle({"batching.delay=1 ms", "policies=[static_batching]"}), "batching.delay: no effect"));
  EXPECT_TRUE(has(idle({"run.drop_late=true"}), "run.drop_late: no effect"));
}

/// Those that --set gave are named once.
TEST(Settings, ASetWithoutEffectIsOneLine) {
  const std::string path = file_of("idle.yaml", kOneModel);
  for (const char* set :
       {"load.cv=2", "load.samples=2", "models.0.sm_limit=0.5", "batching.size=3", "gpus.0.streams=2"})
    EXPECT_EQ(without_effect(path, {set}).size(), 1u) << set;
  EXPECT_EQ(sets_without_effect(path, {"load.samples=2", "models.0.sm_limit=0.5"}).size(), 2u);
  EXPECT_EQ(sets_without_effect(path, {"batching.size=3", "policies=[static_batching]"}).size(), 1u);  // of one each
}

/// Nothing that is counted is no result.
TEST(Settings, EmptyWindowsAreRefused) {
  EXPECT_EQ(error_of({"run.warm_up=1000"}),
            "--set run.warm_up: found 1000, expected less than the 1000 requests that come");
  EXPECT_EQ(error_of({"run.warm_up=1000", "load.streams=2"}), "");
  const auto failure = [](const std::vector<std::string>& sets) {
    const auto e = parse_experiment(
        "gpus: [{name: a}]\nmodels: [{name: m, layer_times: [1 ms]}]\nload: {rate_per_s: 100, duration: 1 s}\npolicies: [fifo]\n",
        "x.yaml", sets);
    EXPECT_TRUE(e.ok());
    return compare_policies(*e, 1, [] {}).points[0].error;
  };
  EXPECT_EQ(failure({}), "");
  EXPECT_EQ(failure({"load.duration=1 ns"}), "load.duration: no request came within 1 ns, expected at least one");
  EXPECT_NE(failure({"run.warm_up=5000"}).find("run.warm_up: found 5000, expected less than the "), std::string::npos);
}

/// An invocation that began before the file's time 0 keeps its distance to the others.
TEST(Settings, StartsBeforeTimeZeroAreKept) {
  const auto rows =
      read_arrivals(file_of("early.csv", "app,func,end_timestamp,duration\na,f,1,5\na,f,2,1\na,f,3,0.5\n"), {"m"});
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[1].time_ps, 5000 * test::kMs);
  EXPECT_EQ((*rows)[2].time_ps, 6500 * test::kMs);
}

/// A dash, or an empty cell, where there is no figure.
TEST(Settings, RowsWithoutRequestsHaveNoFigures) {
  const auto e =
      parse_experiment(kOneModel, "x.yaml", {"classes=[{name: gold, weight: 0}, {name: other}]", "load.requests=200"});
  ASSERT_TRUE(e.ok());
  const Comparison c = compare_policies(*e, 1, [] {});
  const Figures none = figures_of(*e, c.points[0], 2), other = figures_of(*e, c.points[0], 3);
  EXPECT_FALSE(none.any());
  EXPECT_TRUE(other.any());
  EXPECT_FALSE(other.has_work);
  EXPECT_EQ(none.offered_per_s, 0);
  EXPECT_EQ(other.offered_per_s, 100);
  const std::string csv = comparison_csv(c);
  EXPECT_NE(csv.find("fifo,class gold,,0,,,,,,"), std::string::npos) << csv;
  EXPECT_EQ(csv.find(",error\n"), csv.find('\n') - 6);
  std::size_t commas = std::string::npos;
  for (std::size_t at = 0; at < csv.size(); at = csv.find('\n', at) + 1) {
    const std::string line = csv.substr(at, csv.find('\n', at) - at);
    const auto count = static_cast<std::size_t>(std::ranges::count(line, ','));
    EXPECT_TRUE(commas == std::string::npos || commas == count) << line;
    commas = count;
  }
  const auto closed = parse_experiment(kOneModel, "x.yaml", {"load={kind: closed, clients: 2, requests: 100}"});
  ASSERT_TRUE(closed.ok());
  const Comparison answers = compare_policies(*closed, 1, [] {});
  EXPECT_EQ(figures_of(*closed, answers.points[0], 1).offered_per_s, 0);
  EXPECT_EQ(comparison_json(answers).find("\"rate_per_s\""), std::string::npos);
}

/// Names of any length leave the columns where they are.
TEST(Settings, ColumnsAreAsWideAsTheirNames) {
  const auto e = parse_experiment(
      "gpus: [{name: a}]\nmodels: [{name: a_model_with_a_very_long_name_indeed, layer_times: [1 ms]}, {name: n, layer_times: [1 ms]}]\n"
      "load: {kind: constant, rate_per_s: 10, requests: 100}\npolicies: [fifo]\nrun: {warm_up: 0}\n",
      "x.yaml", {});
  ASSERT_TRUE(e.ok());
  const std::string text = comparison_text(compare_policies(*e, 1, [] {}));
  EXPECT_NE(text.find("1 +- 0 "), std::string::npos) << text;  // equal latencies
  std::size_t end = std::string::npos;
  for (std::size_t at = text.find("policy"); at < text.size() && text[at] != '\n'; at = text.find('\n', at) + 1) {
    const std::size_t length = text.find('\n', at) - at;
    EXPECT_TRUE(end == std::string::npos || end == length) << text;
    end = length;
  }
}

/// What a file calls itself and its models cannot look like lines of ours.
TEST(Settings, NamesAreOneLineEach) {
  const auto e = parse_experiment(
      "title: \"a\\nforged\\tb\"\ngpus: [{name: \"g\\nforged\"}]\n"
      "models: [{name: \"m\\nforged\\t1\", layer_times: [1 ms]}, {name: \"o\\nforged\", layer_times: [1 ms], weight: 0}]\n"
      "classes: [{name: \"c\\nforged\"}]\n"
      "load: {kind: constant, rate_per_s: 10, requests: 100}\npolicies: [fifo]\n",
      "x.yaml", {});
  ASSERT_TRUE(e.ok()) << e.error().text();
  const std::string text = comparison_text(compare_policies(*e, 1, [] {}));
  EXPECT_TRUE(text.starts_with("a\\x0aforged\\x09b\n")) << text;
  EXPECT_EQ(text.find("\nforged"), std::string::npos) << text;
  EXPECT_EQ(text.find('\t'), std::string::npos) << text;
}

/// What a model, a class or a GPU says of what does not happen.
TEST(Settings, KeysOfWhatDoesNotHappenAreNamed) {
  const auto named = [](const std::string& line, const std::vector<std::string>& sets) {
    const auto e = parse_experiment(kOneModel, "x.yaml", sets);
    return e.ok() && has(e->idle_keys, line);
  };
  const struct {
    const char *set, *line, *unless;
  } cases[] = {
      {"models.0.priority=3", "models.0.priority: no effect, no policy goes by priority", "policies=[priority]"},
      {"classes=[{name: c, priority: 3}]", "classes[0].priority: no effect, no policy goes",
       "policies=[layer_preemptive]"},
      {"models.0.max_batch=4", "models.0.max_batch: no effect, no policy batches", "policies=[lazy_batching]"},
      {"models.0.cells=true", "models.0.cells: no effect, it is of policy cellular_batching",
       "policies=[cellular_batching]"},
      {"models.0.state=1 MB", "models.0.state: no effect, no policy moves a request", "policies=[layer_preemptive]"},
      {"models.0.weights=1 GB", "models.0.weights: no effect, they are on every GPU from the start",
       "gpus.0.memory=2 GB"},
      {"gpus.0.memory=2 GB", "gpus.0.memory: no effect, no model has weights", "models.0.weights=1 GB"},
      {"residency=cached", "residency: no effect, no model has weights", "models.0.weights=1 GB"},
      {"gpus.0.host_latency=1 ms", "gpus.0.host_latency: no effect, nothing is copied", "models.0.input=1 MB"},
      {"gpus.0.peer_latency=1 ms", "gpus.0.peer_latency: no effect, nothing moves", "models.0.state=1 MB"},
      {"models.0.weight=2", "models.0.weight: no effect, there is one model", nullptr},
      {"load={kind: constant, rate_per_s: 9, requests: 9, seed: 4}", "load.seed: no effect, nothing is drawn",
       "models.0.variation=exponential"},
  };
  for (const auto& c : cases) {
    EXPECT_TRUE(named(c.line, {c.set})) << c.set;
    if (c.unless == nullptr) continue;
    const bool moves = std::string(c.set).find("peer") != std::string::npos;
    EXPECT_FALSE(named(c.line, {c.set, c.unless, moves ? "policies=[cellular_batching]" : "title=x"})) << c.set;
  }
  EXPECT_TRUE(
      named("load.rate_per_s: no effect, run.rates_per_s has the rates", {"load.rate_per_s=5", "run.rates_per_s=[7]"}));
  EXPECT_FALSE(named("load.rate_per_s", {"run.rates_per_s=[7]"}));  // the file's rate gives way to --set
}

/// What has another default than 0 may be 0 all the same.
TEST(Settings, AStatedZeroIsZero) {
  const std::string text =
      "cluster: {system: dgx_a100_80gb}\n"
      "gpus: [{name: a, device: a100_sxm4_80gb}, {name: b, device: a100_sxm4_80gb, box: 1}]\n"
      "models: [{name: m, graph: " +
      distsim::test::root() +
      "/configs/serving/models/alexnet.graph}]\n"
      "load: {rate_per_s: 100, requests: 1000}\npolicies: [fifo]\n";
  const auto with = [&](const std::vector<std::string>& sets) {
    const auto e = parse_experiment(text, "x.yaml", sets);
    EXPECT_TRUE(e.ok()) << (e.ok() ? "" : e.error().text());
    return e.ok() ? e->scenario : Scenario();
  };
  const Scenario usual = with({});
  const auto latency = [](const Scenario& s, std::uint32_t link) { return s.links[link].latency_ps; };
  EXPECT_GT(latency(usual, usual.gpus[0].peer_out), 0);
  EXPECT_GT(latency(usual, usual.gpus[0].box_out), 0);
  const Scenario none = with({"gpus.0.peer_latency=0 s", "gpus.0.box_latency=0 s"});
  EXPECT_EQ(latency(none, none.gpus[0].peer_out), 0);
  EXPECT_EQ(latency(none, none.gpus[1].peer_out), latency(usual, usual.gpus[1].peer_out));
  EXPECT_EQ(latency(none, none.gpus[0].box_out), 0);
  EXPECT_NE(error_of({"gpus.0.box_latency=0 s", "gpus.1.box_latency=1 us"},
                     text.substr(0, text.find(", box: 1")) + text.substr(text.find("}]\nmodels")))
                .find("box_latency: found 1 us, expected 0 s as of gpus[0], a: box 0 has one adapter"),
            std::string::npos);
  const Model& whole = usual.models[0];
  EXPECT_GT(std::min({whole.weight_bytes, whole.input_bytes, whole.output_bytes}), 0);
  EXPECT_FALSE(whole.state_after.empty());
  const Scenario bare =
      with({"models.0.weights=0 B", "models.0.input=0 B", "models.0.output=0 B", "models.0.state=0 B"});
  const Model& m = bare.models[0];
  EXPECT_EQ(std::max({m.weight_bytes, m.input_bytes, m.output_bytes, m.state_bytes}), 0);
  EXPECT_TRUE(m.state_after.empty());
  EXPECT_NE(error_of({"gpus.0.memory=0 B"}, text).find("of a"), std::string::npos) << "no weights fit";
  EXPECT_EQ(with({"gpus.0.memory=0 B", "models.0.weights=0 B"}).gpus[0].memory_bytes, 0);
}

/// Times that 64 bits do not hold are refused or end the run, and are never another number.
TEST(Settings, NoTimeIsLongerThanARun) {
  EXPECT_NE(error_of({"models.0.layer_times=[1000 s]", "gpus.0.speed=0.001", "gpus.0.time_factors={m: 10}"})
                .find("models[0].name: found layers of m that take more than 1e6 s on a at batch 1, expected less"),
            std::string::npos);
  const auto error = [](const std::vector<std::string>& sets) {
    const auto e = parse_experiment(kOneModel, "x.yaml", sets);
    if (!e.ok()) return e.error().text();
    return compare_policies(*e, 1, [] {}).points[0].error;
  };
  const std::string line = "the run goes on after 4e+06 s";
  for (
      const char* load :
      {"{rate_per_s: 0.000001, requests: 1000}", "{kind: single_stream, requests: 5000}",
       "{kind: closed, think: 1000000 s, requests: 50}", "{rate_per_s: 1, requests: 5000}",
       "{kind: server, rate_per_s: 0.000001, schedule_seed: 3, requests: 1000}",
       "{kind: bursts, bursts: [{rate_per_s: 0.00001, duration: 1 s}, {rate_per_s: 0, duration: 99 s}], requests: 50}"})
    EXPECT_NE(error({std::string("load=") + load, "models.0.layer_times=[10000 s]"}).find(line), std::string::npos)
        << load << ": " << error({std::string("load=") + load, "models.0.layer_times=[10000 s]"});
  EXPECT_NE(error({"models.0.input=10 TB", "gpus.0.host_bandwidth=1 MB/s", "gpus.1.host_bandwidth=1 MB/s"}).find(line),
            std::string::npos);
  EXPECT_NE(
      error_of({"load={kind: bursts, requests: 9, bursts: [{rate_per_s: 0.001, duration: 1 ns}]}"})
          .find("load.bursts: found 1e+12 rounds of all states from one request to the next, expected at most 1e6"),
      std::string::npos);
  EXPECT_NE(error({"load={kind: closed, duration: 1 s}", "models.0.layer_times=[0 ms]"}).find("at the moment they ask"),
            std::string::npos);
}

/// Of a file that is cut by requests or duration, what is said of the load is of what comes.
TEST(Settings, ACutFileHasTheRateOfWhatComes) {
  std::string rows = "arrival_s\n";
  for (int i = 0; i < 100; ++i) rows += std::to_string(i * 0.1) + "\n";
  for (int i = 0; i < 1000; ++i) rows += std::to_string(10 + i * 0.001) + "\n";
  const std::string file = file_of("cut.csv", rows);
  for (const char* cut : {"requests: 100", "duration: 9.95 s"}) {
    const auto e = parse_experiment(kOneModel, "x.yaml", {"load={kind: trace, file: " + file + ", " + cut + "}"});
    ASSERT_TRUE(e.ok()) << e.error().text();
    EXPECT_NEAR(offered_rate(e->load), 10, 1e-6) << cut;
    EXPECT_EQ(e->load.trace.size(), 100u) << cut;
  }
  const std::string late = file_of("late.csv", "arrival_s\n5\n");
  EXPECT_NE(error_of({"load={kind: trace, file: " + late + ", duration: 1 s}"})
                .find("load.duration: found 1 s, expected the time of at least one arrival of the file"),
            std::string::npos);
}

}  // namespace
}  // namespace distsim::serving
