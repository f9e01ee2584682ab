// Decisions as requests come, and classes of service.

#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "base/random.hpp"
#include "scenarios.hpp"
#include "sim/serving/online/online.hpp"
#include "sim/serving/report/comparison.hpp"

namespace distsim::serving {
namespace {

Experiment experiment(const std::vector<std::string>& sets = {}) {
  auto e = parse_experiment(
      "gpus: [{name: a, count: 2}]\n"
      "models: [{name: m, layer_times: [10 ms, 20 ms], max_batch: 4, deadline: 50 ms}, {name: n, layer_times: [5 ms]}]\n"
      "load: {rate_per_s: 100, requests: 2000}\npolicies: [fifo]\n",
      "x.yaml", sets);
  EXPECT_TRUE(e.ok()) << (e.ok() ? "" : e.error().text());
  return std::move(*e);
}

struct Online {
  Result<RunResult> result;
  std::string out;
};
Online online(const Experiment& e, const std::string& lines) {
  std::istringstream in(lines);
  std::ostringstream out;
  auto result = serve_online(e, in, "input", out);
  return {std::move(result), out.str()};
}

TEST(Online, DecidesLineByLine) {
  const Online o = online(experiment(), "# two requests\n0,m\n\n0.001,n\nadvance 1\n");
  ASSERT_TRUE(o.result.ok()) << o.result.error().text();
  EXPECT_EQ(o.out, R"({"time_s":0.0,"do":"assign","gpu":"a0","model":"m","layers":[0,2],"requests":[0]})"
                   "\n"
                   R"({"time_s":0.001,"do":"assign","gpu":"a1","model":"n","layers":[0,1],"requests":[1]})"
                   "\n"
                   R"({"time_s":0.006,"do":"answer","request":1,"model":"n","latency_s":0.005})"
                   "\n"
                   R"({"time_s":0.03,"do":"answer","request":0,"model":"m","latency_s":0.03})"
                   "\n");
}

/// Latencies in milliseconds of every answer, by request.
std::vector<double> latencies(const Experiment& e, bool as_they_come) {
  struct Answers : Observer {
    std::vector<double> ms;
    void answered(const Answered& a) override {
      ms.resize(std::max<std::size_t>(ms.size(), a.number + 1));
      ms[a.number] = static_cast<double>(a.answer_ps - a.arrival_ps) * 1e-9;
    }
  } answers;
  if (as_they_come) {
    std::string lines;
    for (const TraceRow& row : e.load.trace)
      lines += fmt::format("{:.12f},{}\n", static_cast<double>(row.time_ps) * 1e-12, e.scenario.models[row.model].name);
    std::istringstream in(online(e, lines).out);
    for (std::string line; std::getline(in, line);) {
      const auto json = nlohmann::json::parse(line);
      if (json["do"] != "answer") continue;
      const std::size_t number = json["request"];
      answers.ms.resize(std::max(answers.ms.size(), number + 1));
      answers.ms[number] = json["latency_s"].get<double>() * 1e3;
    }
    return answers.ms;
  }
  RunOptions options = e.run;
  options.warm_up = 0;
  const auto r = emulate(e.scenario, *e.policies[0], e.policy_options, e.load, options, &answers);
  EXPECT_TRUE(r.ok()) << (r.ok() ? "" : r.error().text());
  return answers.ms;
}

/// The last requests of a trace are decided as if more could come: whoever sends them one by one does not say when it ends.
TEST(Online, AReplayDoesNotKnowTheFuture) {
  for (const char* policy : {"dynamic_batching", "static_batching", "fifo", "lazy_batching"}) {
    Experiment e = experiment({std::string("policies=[") + policy + "]", "batching.delay=7 ms", "batching.size=4"});
    e.load.kind = LoadKind::trace;
    e.load.requests = 0;
    Random random(3);
    std::int64_t at = 0;
    for (int i = 0; i < 101; ++i) {
      at += 1'000'000 + static_cast<std::int64_t>(random.below(20'000)) * 1'000'000;
      e.load.trace.push_back({at, static_cast<std::uint32_t>(i % 2)});
    }
    const std::vector<double> replayed = latencies(e, false), online = latencies(e, true);
    ASSERT_EQ(replayed.size(), online.size()) << policy;
    for (std::size_t i = 0; i < replayed.size(); ++i) EXPECT_NEAR(replayed[i], online[i], 1e-6) << policy << " " << i;
  }
  Experiment e = experiment({"policies=[dynamic_batching]", "batching.delay=1 ms"});
  e.load.kind = LoadKind::trace;
  e.load.requests = 0;
  e.load.trace = {{0, 1}, {5'000'000'000'000, 1}};
  const std::vector<double> both = latencies(e, false);
  EXPECT_NEAR(both[0], 5, 1e-9);  // n has batches of one, which are full at once
  e.load.trace = {{0, 0}, {5'000'000'000'000, 0}};
  EXPECT_NEAR(latencies(e, false)[0], 31, 1e-9);
  EXPECT_NEAR(latencies(e, false)[1], 31, 1e-9);
}

/// A stream that hands out a line when the test says so, to see what has been written by then.
class Watched : public std::stringbuf {
 public:
  Watched(std::vector<std::string> lines, std::ostringstream& out) : lines_(std::move(lines)), out_(out) {}
  std::vector<std::string> seen;  ///< output at the moment when each line was asked for

 protected:
  int underflow() override {
    if (at_ == lines_.size()) return traits_type::eof();
    seen.push_back(out_.str());
    line_ = lines_[at_++] + "\n";
    setg(line_.data(), line_.data(), line_.data() + line_.size());
    return traits_type::to_int_type(line_[0]);
  }
  int uflow() override {
    if (gptr() == egptr() && underflow() == traits_type::eof()) return traits_type::eof();
    const int c = traits_type::to_int_type(*gptr());
    gbump(1);
    return c;
  }

 private:
  std::vector<std::string> lines_;
  std::ostringstream& out_;
  std::string line_;
  std::size_t at_ = 0;
};

/// What is decided at a line's time is written before the next line is read.
TEST(Online, DoesNotWaitForTheNextLine) {
  std::ostringstream out;
  Watched lines({"0,n", "0.001,n", "advance 0.01"}, out);
  std::istream in(&lines);
  ASSERT_TRUE(serve_online(experiment(), in, "input", out).ok());
  ASSERT_EQ(lines.seen.size(), 3u);
  EXPECT_EQ(lines.seen[0], "");
  EXPECT_NE(lines.seen[1].find("\"requests\":[0]"), std::string::npos);
  EXPECT_NE(lines.seen[2].find("\"requests\":[1]"), std::string::npos);
  EXPECT_EQ(lines.seen[2].find("answer"), std::string::npos);
}

/// Online and offline make the same decisions for the same arrivals.
TEST(Online, AgreesWithTheReplay) {
  for (const char* policy :
       {"fifo", "sjf", "edf", "least_loaded", "layer_preemptive", "dynamic_batching", "lazy_batching"}) {
    const Experiment e = experiment({"policies=[" + std::string(policy) + "]"});
    Load load;
    load.kind = LoadKind::trace;
    std::string lines;
    for (int i = 0; i < 500; ++i) {
      load.trace.push_back(
          {std::int64_t{i} * 9 * test::kMs + i % 7 * test::kMs, static_cast<std::uint32_t>(i % 3 == 0)});
      lines += std::to_string(i * 9 + i % 7) + "e-3," + (i % 3 == 0 ? "n" : "m") + "\n";
    }
    RunOptions options = e.run;
    options.warm_up = 0;
    const auto offline = emulate(e.scenario, *e.policies[0], e.policy_options, load, options);
    const Online o = online(e, lines);
    ASSERT_TRUE(offline.ok() && o.result.ok()) << policy;
    EXPECT_EQ(offline->makespan_ps, o.result->makespan_ps) << policy;
    EXPECT_EQ(offline->all.latency_ms.mean(), o.result->all.latency_ms.mean()) << policy;
    EXPECT_EQ(offline->batches, o.result->batches) << policy;
  }
}

TEST(Online, NamesABadLine) {
  const auto refusal = [](const std::string& lines) {
    const Online o = online(experiment(), lines);
    return o.result.ok() ? "" : o.result.error().text();
  };
  EXPECT_EQ(refusal("0,m\n0.5,k\n"), "input:2: found 'k', expected a model of the experiment; one of m, n");
  EXPECT_EQ(refusal("1\n0.5\n"), "input:2: found '0.5' after 1, expected times in ascending order");
  EXPECT_EQ(refusal("2000\n0.5\n"), "input:2: found '0.5' after 2000, expected times in ascending order");
  EXPECT_NE(refusal("-1\n").find("input:1: found '-1', expected TIME"), std::string::npos);
  EXPECT_NE(refusal("nan\n").find("input:1: "), std::string::npos);
  EXPECT_NE(refusal("now\n").find("input:1: found 'now'"), std::string::npos);
  EXPECT_NE(refusal("advance\n").find("input:1: found 'advance'"), std::string::npos);
  EXPECT_NE(refusal(std::string(100'000, '1')).find("more than 4096 characters"), std::string::npos);
  EXPECT_NE(
      online(experiment({"policies=[fifo, sjf]"}), "").result.error().text().find("policies: found 2, expected one"),
      std::string::npos);
}

/// No end of the input: nothing is decided as if no more came.
TEST(Online, AReadErrorIsNamed) {
  class Breaking : public std::streambuf {
   public:
    explicit Breaking(std::string text) : text_(std::move(text)) { setg(text_.data(), text_.data(), &*text_.end()); }

   protected:
    int underflow() override { throw std::system_error(EIO, std::generic_category()); }

   private:
    std::string text_;
  };
  const auto said = [](const std::string& lines) {
    Breaking buffer(lines);
    std::istream in(&buffer);
    std::ostringstream out;
    const auto result = serve_online(experiment(), in, "input", out);
    return std::pair(result.ok() ? "" : result.error().text(), out.str());
  };
  EXPECT_EQ(said(""),
            std::pair(std::string("input:1: cannot be read beyond this point (Input/output error)"), std::string()));
  const auto [error, decided] = said("0,m\n0.00");
  EXPECT_EQ(error, "input:2: cannot be read beyond this point (Input/output error)");
  EXPECT_NE(decided.find("\"requests\":[0]"), std::string::npos);
  EXPECT_EQ(decided.find("answer"), std::string::npos) << decided;
}

/// Urgent requests wait less under a policy that heeds priorities, and as long as the others under one that does not.
TEST(ServiceClasses, ArePromisedDifferentThings) {
  const std::string classes =
      "classes=[{name: gold, weight: 1, priority: 5, deadline: 40 ms}, {name: other, weight: 3}]";
  const Experiment e = experiment({classes, "policies=[priority, fifo]", "load.rate_per_s=85", "load.requests=20000"});
  ASSERT_EQ(e.scenario.classes.size(), 2u);
  const Comparison c = compare_policies(e, 1, [] {});
  for (const Point& p : c.points) {
    ASSERT_EQ(p.error, "");
    const RunResult& r = p.result;
    ASSERT_EQ(r.classes.size(), 2u);
    EXPECT_EQ(r.classes[0].requests + r.classes[1].requests, r.all.requests);
    EXPECT_EQ(r.classes[0].violations + r.classes[1].violations, r.all.violations);
    EXPECT_NEAR(static_cast<double>(r.classes[0].requests) / static_cast<double>(r.all.requests), 0.25, 0.02);
    const double gold = r.classes[0].latency_ms.mean(), other = r.classes[1].latency_ms.mean();
    if (std::string(p.policy->name) == "priority") {
      EXPECT_LT(gold, 0.8 * other);
    } else {
      EXPECT_NEAR(gold / other, 1, 0.1);
    }
  }
  EXPECT_NE(comparison_csv(c).find("priority,class gold,"), std::string::npos);
  EXPECT_NE(comparison_json(c).find("\"class gold\""), std::string::npos);
  const auto page = nlohmann::json::parse(comparison_page_json(c));
  EXPECT_EQ(page["rows"], nlohmann::json::parse(R"(["all", "m", "n", "class gold", "class other"])"));
  ASSERT_EQ(page["points"].size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const RunResult& r = c.points[i].result;
    const auto& gold = page["points"][i]["rows"][3];
    EXPECT_EQ(gold["requests"], r.classes[0].requests);
    EXPECT_EQ(gold["violations"], r.classes[0].violations);
    EXPECT_NEAR(gold["p99_ms"].get<double>(), static_cast<double>(r.classes[0].latency_ps.quantile(0.99)) * 1e-9,
                1e-3 * gold["p99_ms"].get<double>());
    const auto latencies = gold["latencies_ms"].get<std::vector<double>>();
    ASSERT_EQ(latencies.size(), page["shares"].size());
    EXPECT_TRUE(std::ranges::is_sorted(latencies));
  }
  const auto twice = parse_experiment(
      "gpus: [{name: a}]\nmodels: [{name: m, layer_times: [1 ms]}]\nclasses: [{name: x}, {name: x}]\n"
      "load: {rate_per_s: 1, requests: 1}\npolicies: fifo\n",
      "x.yaml", {});
  EXPECT_EQ(twice.error().text(), "x.yaml:3:29: classes[1].name: found 'x' twice, expected each class's name once");
}

}  // namespace
}  // namespace distsim::serving
