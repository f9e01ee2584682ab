// Experiments as files: what is read, and the one line that each kind of bad input gets.

#include <filesystem>
#include <fstream>

#include "scenarios.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/serving/spec/arrival_file.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {
namespace {

const std::string kSmall =
    "gpus: [{name: a}]\n"
    "models: [{name: m, layer_times: [1 ms, 2 ms]}]\n"
    "load: {rate_per_s: 100, requests: 1000}\n"
    "policies: [fifo]\n";

std::string refusal(const std::string& text, const std::vector<std::string>& sets = {}) {
  const auto e = parse_experiment(text, "x.yaml", sets);
  return e.ok() ? "" : e.error().text();
}
std::string refusal_of_set(const std::string& set) { return refusal(kSmall, {set}); }

std::string written(const std::string& name, const std::string& text) {
  const std::string path = (std::filesystem::path(testing::TempDir()) / name).string();
  std::ofstream(path) << text;
  return path;
}

TEST(Experiment, ReadsAFile) {
  const auto e =
      parse_experiment(kSmall, "x.yaml", {"gpus.0.count=3", "models.0.batch_cost=0.5", "models.0.max_batch=2"});
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->scenario.gpus.size(), 3u);
  EXPECT_EQ(e->scenario.gpus[2].name, "a2");
  EXPECT_EQ(e->scenario.time_ps(0, 0, 0, 2, 1), 3 * test::kMs);
  EXPECT_EQ(e->scenario.time_ps(0, 0, 1, 2, 2), 3 * test::kMs);
  EXPECT_EQ(e->title, "x");
}

TEST(Experiment, NamesWhatIsWrong) {
  EXPECT_EQ(refusal_of_set("policies=[fifi]"),
            "--set policies[0]: found 'fifi', expected a policy of `distsim list policies`; did you mean 'fifo'?");
  EXPECT_NE(refusal_of_set("models.0.max_batch=0").find("models[0].max_batch: found '0', expected"), std::string::npos);
  EXPECT_NE(refusal_of_set("load.rate_per_s=-1").find("load.rate_per_s: found '-1'"), std::string::npos);
  EXPECT_EQ(refusal_of_set("load.kind=bursts"),
            "x.yaml:3:20: load.rate_per_s: found a rate, expected none with this kind of load");
  EXPECT_EQ(refusal(kSmall + "times: [no_such.csv]\n").substr(0, 11), "no_such.csv");
  EXPECT_NE(refusal_of_set("gpus=[{name: a}, {name: a}]").find("gpus[1].name: found 'a' twice"), std::string::npos);
  EXPECT_NE(refusal_of_set("gpus.0.memory=1 GB").size(), 1u);
  EXPECT_EQ(refusal(kSmall, {"gpus.0.memory=1 GB", "models.0.weights=2 GB"}),
            "--set models[0].weights: found 2 GB, expected at most the 1 GB of a; name other GPUs in placed_on");
  EXPECT_EQ(refusal(kSmall, {"models.0.placed_on=[b]"}),
            "--set models[0].placed_on[0]: found 'b', expected the name of a GPU; one of a");
  EXPECT_NE(refusal("gpus: [{name: a}]\nmodels: [{name: m}]\nload: {rate_per_s: 1, requests: 1}\npolicies: fifo\n")
                .find("x.yaml:2:17: models[0].name: found 'm' without times for any GPU"),
            std::string::npos);
}

TEST(Experiment, ReadsAndRefusesArrivals) {
  const std::vector<std::string> models{"m"};
  const auto own = read_arrivals(written("own.csv", "arrival_s,model\n0,m\n0.5,m\n"), models);
  ASSERT_TRUE(own.ok()) << own.error().text();
  EXPECT_EQ((*own)[1].time_ps, 500 * test::kMs);
  const auto llm = read_arrivals(
      written("llm.csv", "TIMESTAMP,ContextTokens\n2023-11-16 23:59:59.5000000,1\n2023-11-17 00:00:01.0000000,2\n"),
      models);
  ASSERT_TRUE(llm.ok()) << llm.error().text();
  EXPECT_EQ((*llm)[1].time_ps, 1500 * test::kMs);
  const auto of_2024 = read_arrivals(written("llm24.csv",
                                             "TIMESTAMP,ContextTokens\n2024-05-10 00:00:00.500000+00:00,1\n"
                                             "2024-05-10T00:00:01Z,2\n2024-05-10 02:00:01.25+02:00,2\n"),
                                     models);
  ASSERT_TRUE(of_2024.ok()) << of_2024.error().text();
  EXPECT_EQ((*of_2024)[1].time_ps, 500 * test::kMs);
  EXPECT_EQ((*of_2024)[2].time_ps, 750 * test::kMs);
  const auto functions =
      read_arrivals(written("functions.csv", "app,func,end_timestamp,duration\na,f,10,1\na,f,10.5,5\n"), models);
  ASSERT_TRUE(functions.ok()) << functions.error().text();
  EXPECT_EQ((*functions)[1].time_ps, 3500 * test::kMs);
  const auto bad = [&](const std::string& text) {
    const auto read = read_arrivals(written("bad.csv", text), models);
    return read.ok() ? "" : read.error().text().substr(read.error().text().find("bad.csv"));
  };
  EXPECT_EQ(bad("arrival_s\n1\n0.5\n"),
            "bad.csv:3: arrival_s: found '0.5' below a later time, expected arrivals in ascending order");
  EXPECT_EQ(bad("arrival_s\n-1\n"), "bad.csv:2: arrival_s: found '-1', expected seconds from 0 to 4e6");
  EXPECT_EQ(bad("arrival_s\n"), "bad.csv: found no arrival, expected rows below the header");
  EXPECT_EQ(bad("arrival_s,model\n1\n").substr(0, 9), "bad.csv:2");
  EXPECT_EQ(bad("arrival_s,model\n1,n\n").substr(0, 47), "bad.csv:2: model: found 'n', expected a model o");
  const auto unused = [&](const std::string& text) { return unused_arrival_columns(written("columns.csv", text)); };
  EXPECT_EQ(unused("arrival_s,Model,class\n1,m,a\n"), (std::vector<std::string>{"Model", "class"}));
  EXPECT_TRUE(unused("arrival_s,model\n1,m\n").empty());
  EXPECT_EQ(unused("TIMESTAMP,ContextTokens\n2023-11-16 18:15:46.5,1\n"), std::vector<std::string>{"ContextTokens"});
  EXPECT_EQ(unused("app,func,end_timestamp,duration\na,f,10,1\n"), (std::vector<std::string>{"app", "func"}));
  // "1.25" may have been "1.2575": nothing is wrong with it, so that it is only said.
  EXPECT_TRUE(ends_within_a_line(written("cut.csv", "arrival_s\n1\n1.25")));
  EXPECT_FALSE(ends_within_a_line(written("whole.csv", "arrival_s\n1\n1.25\n")));
  EXPECT_FALSE(ends_within_a_line(written("empty.csv", "")));
  EXPECT_FALSE(ends_within_a_line("/dev/null"));
}

/// A policy of somebody else's, which is not to be trusted.
template <int kind>
class Nonsense : public Policy {
 public:
  Nonsense(const Scenario&, const PolicyOptions&) {}
  std::uint32_t arrived(const View&, RequestSlot slot) override {
    slot_ = slot;
    return kind == 0 ? 7 : kAnyGpu;
  }
  Answer next(const View&, std::uint32_t, Assignment& out, std::int64_t& wake_ps) override {
    if (kind == 1) return Answer::nothing;
    if (kind == 2) out.requests = {slot_, slot_};
    if (kind == 3) out.requests = {slot_ + 1};
    if (kind == 5) wake_ps = 0;
    return kind == 5 ? Answer::later : Answer::work;
  }

 private:
  RequestSlot slot_ = 0;
};

template <int kind>
std::string refusal_of_policy() {
  Scenario s = test::gpus_of_one_kind(2);
  test::set_models(s, {{"m", {1}, 4}});
  Load load;
  load.kind = LoadKind::trace;
  load.trace = {{5, 0}};
  const PolicyEntry entry{"mine", "", [](const Scenario& a, const PolicyOptions& b) -> std::unique_ptr<Policy> {
                            return std::make_unique<Nonsense<kind>>(a, b);
                          }};
  const auto result = emulate(s, entry, {}, load, {});
  return result.ok() ? "" : result.error().text();
}

TEST(Experiment, RefusesNonsenseOfPolicies) {
  EXPECT_EQ(refusal_of_policy<0>(), "policy mine: named GPU 7 of 2 GPUs, expected an assignment that can be executed");
  EXPECT_EQ(
      refusal_of_policy<1>(),
      "policy mine: request 0 of m waits since 5 ps and is not started at 5 ps, though nothing else is left to do");
  EXPECT_EQ(refusal_of_policy<2>(),
            "policy mine: handed out request 0 (id 0) twice in one batch, expected an assignment that can be executed");
  EXPECT_EQ(
      refusal_of_policy<3>(),
      "policy mine: handed out a request with id 1, which no request has had, expected an assignment that can be executed");
  EXPECT_EQ(refusal_of_policy<4>(), "policy mine: handed out no request, expected an assignment that can be executed");
  EXPECT_EQ(refusal_of_policy<5>(),
            "policy mine: asked to be woken at a time that has passed, expected an assignment that can be executed");
}

TEST(Experiment, NamesAnOverload) {
  const auto above = parse_experiment(kSmall, "x.yaml", {"load.rate_per_s=1000", "load.requests=20000"});
  ASSERT_TRUE(above.ok());
  const Comparison c = compare_policies(*above, 1, [] {});
  EXPECT_TRUE(c.points[0].result.unstable);
  EXPECT_NEAR(c.points[0].result.saturates_per_s, 1000.0 / 3, 1);
  EXPECT_NE(comparison_text(c).find("saturates at 333.3 requests/s"), std::string::npos) << comparison_text(c);
  const auto below = parse_experiment(kSmall, "x.yaml", {"load.rate_per_s=300", "load.requests=20000"});
  EXPECT_FALSE(compare_policies(*below, 1, [] {}).points[0].result.unstable);
  const auto capped =
      parse_experiment(kSmall, "x.yaml", {"load.rate_per_s=1000", "load.requests=20000", "run.max_in_system=1000"});
  EXPECT_NE(compare_policies(*capped, 1, [] {}).points[0].error.find("at most 333.3 can be served"), std::string::npos);
}

/// The same seed gives the same bytes on any number of threads; another one does not.
TEST(Experiment, DependsOnTheSeedAlone) {
  const std::string text =
      "gpus: [{name: a, count: 3, slots: 2}]\n"
      "models: [{name: m, layer_times: [1 ms, 2 ms], variation: lognormal, max_batch: 4, input: 1 MB, deadline: 10 ms}]\n"
      "load: {kind: bursts, bursts: [{rate_per_s: 1000, duration: 100 ms}, {rate_per_s: 10, duration: 100 ms}], requests: 5000}\n"
      "policies: [fifo, least_loaded, dynamic_batching, lazy_batching, layer_preemptive]\n";
  const auto e = parse_experiment(text, "x.yaml", {}), other = parse_experiment(text, "x.yaml", {"load.seed=2"});
  ASSERT_TRUE(e.ok()) << e.error().text();
  const std::string once = comparison_json(compare_policies(*e, 1, [] {}));
  EXPECT_EQ(once, comparison_json(compare_policies(*e, 4, [] {})));
  EXPECT_NE(once, comparison_json(compare_policies(*other, 1, [] {})));
}

TEST(Experiment, ScenariosOfLoadGen) {
  const auto of = [](const std::string& kind) {
    auto e =
        parse_experiment(kSmall, "x.yaml",
                         {"load={kind: " + kind + (kind == "server" ? ", rate_per_s: 10" : "") + "}", "run.warm_up=0"});
    EXPECT_TRUE(e.ok()) << (e.ok() ? "" : e.error().text());
    return compare_policies(*e, 1, [] {}).points[0].result;
  };
  const RunResult single = of("single_stream"), multi = of("multi_stream"), offline = of("offline");
  EXPECT_EQ(single.query_ps.quantile(0.9), 3 * test::kMs);
  EXPECT_GE(single.makespan_ps, 600'000 * test::kMs);
  EXPECT_EQ(multi.query_ps.quantile(0.99), 8 * 3 * test::kMs);
  EXPECT_EQ(offline.sent, 24'576u);
  EXPECT_EQ(of("offline, duration: 1 s").sent, 24'576u);
  EXPECT_FALSE(offline.unstable);
  EXPECT_NEAR(offline.served_per_s, 1000.0 / 3, 1e-6);
  EXPECT_NEAR(static_cast<double>(of("server").sent), 6000, 400);
}

/// Batches: static ones are full but for the last, dynamic ones wait no longer than they may.
TEST(Experiment, Batches) {
  Scenario s = test::gpus_of_one_kind(1);
  test::set_models(s, {{"m", {test::kMs}, 8}});
  Load load;
  load.kind = LoadKind::constant;
  load.rate_per_s = 100;
  load.requests = 20;
  PolicyOptions options;
  options.batch = 8;
  options.delay_ps = 25 * test::kMs;
  EXPECT_EQ(test::run(s, "static_batching", load, {}, options).batches, 3u);
  const RunResult dynamic = test::run(s, "dynamic_batching", load, {}, options);
  EXPECT_EQ(dynamic.batches, 7u);  // 3 requests each come within 25 ms
  EXPECT_EQ(dynamic.all.latency_ps.quantile(1), 26 * test::kMs);
}

TEST(Experiment, QuantilesAreExactOrNear) {
  Quantiles few, many;
  for (std::int64_t i = 1; i <= 1000; ++i) few.add(i * 1000);
  EXPECT_EQ(few.quantile(0.5), 500'000);
  EXPECT_EQ(few.quantile(0.999), 999'000);
  for (std::int64_t i = 1; i <= 1'000'000; ++i) many.add(i * 1'000'003);
  for (const double q : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = q * 1e6 * 1'000'003;
    EXPECT_NEAR(static_cast<double>(many.quantile(q)), exact, exact * Quantiles::kRelativeError + 2e6) << q;
  }
  EXPECT_EQ(many.quantile(1), std::int64_t{1'000'000} * 1'000'003);
}

}  // namespace
}  // namespace distsim::serving
