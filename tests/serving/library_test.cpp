// Policies of the user's own: the shipped example and broken ones, compiled here against the installed header.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "scenarios.hpp"
#include "sim/serving/policies/library/policy_library.hpp"
#include "sim/serving/spec/serving_spec.hpp"
#include "test_paths.hpp"

namespace distsim::serving {
namespace {

const std::string kHeader = distsim::test::root() + "/sim/serving/policies/library";

/// Path of the shared object of a source file.
std::string compiled(const std::string& source, const std::string& name) {
  const std::string library = (std::filesystem::path(testing::TempDir()) / (name + ".so")).string();
  const std::string command = "c++ -std=c++20 -O1 -shared -fPIC -Wall -Wextra -Werror -I '" + kHeader + "' -o '" +
                              library + "' '" + source + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return library;
}

/// A policy whose bodies of arrived() and next() are given.
std::string source_of(const std::string& name, const std::string& arrived, const std::string& next,
                      const std::string& before = "") {
  const std::string source = (std::filesystem::path(testing::TempDir()) / (name + ".cpp")).string();
  std::ofstream(source)
      << "#include <stdexcept>\n#include \"distsim_policy.hpp\"\nusing namespace serving_policy;\n"
      << before
      << "struct P : Policy {\n  std::vector<std::uint32_t> waiting;\n"
         "  std::uint32_t arrived(const State& state, std::uint32_t id) override { (void)state; (void)id; " +
             arrived + " }\n  Work next(const State& state, std::uint32_t gpu) override { (void)state; (void)gpu; " +
             next + " }\n};\nextern \"C\" Policy* distsim_create_policy(int) { return new P; }\n";
  return compiled(source, name);
}

TEST(PolicyLibrary, TheExampleDoesWhatItSays) {
  const std::string library = compiled(distsim::test::root() + "/docs/examples/longest_first.cpp", "longest_first");
  const auto policy = load_policy(library);
  ASSERT_TRUE(policy.ok()) << policy.error().text();
  EXPECT_STREQ((*policy)->name, "longest_first");
  EXPECT_EQ(*load_policy(library), *policy);
  Scenario s = test::gpus_of_one_kind(1);
  test::set_models(s, {{"short", {test::kMs}}, {"long", {3 * test::kMs}}});
  Load load;
  load.kind = LoadKind::trace;
  load.trace = {{0, 0}, {1, 0}, {2, 1}};
  const auto r = emulate(s, **policy, {}, load, {});
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(r->models[1].latency_ps.quantile(1), 4 * test::kMs - 2);  // before the second short one
  EXPECT_EQ(r->makespan_ps, 5 * test::kMs);
}

/// A library that takes the oldest request is fifo.
TEST(PolicyLibrary, OfFirstComeFirstServedIsFifo) {
  const auto policy = load_policy(source_of("oldest", "waiting.push_back(id); return kAny;",
                                            "if (waiting.empty()) return {}; const auto id = waiting.front(); "
                                            "waiting.erase(waiting.begin()); return {{id}};"));
  ASSERT_TRUE(policy.ok());
  Scenario s = test::gpus_of_one_kind(2);
  test::set_models(s, {{"m", {test::kMs, test::kMs}}});
  Load load;
  load.rate_per_s = 800;
  load.requests = 5000;
  const auto own = emulate(s, **policy, {}, load, {});
  const RunResult fifo = test::run(s, "fifo", load);
  ASSERT_TRUE(own.ok()) << own.error().text();
  EXPECT_EQ(own->all.latency_ms.mean(), fifo.all.latency_ms.mean());
  EXPECT_EQ(own->makespan_ps, fifo.makespan_ps);
}

/// What policies of one library do wrong, each by the name of its file: bodies of arrived() and next().
struct Wrong {
  const char *name, *arrived, *next;
};
constexpr Wrong kWrong[] = {
    {"no_such_gpu", "return 7;", "return {};"},
    {"no_such_request", "return kAny;", "return {{12345}};"},
    {"twice", "waiting.push_back(id); return kAny;",
     "if (waiting.empty()) return {}; return {{waiting[0], waiting[0]}};"},
    {"throws", "throw std::runtime_error(\"no idea\");", "return {};"},
    {"asks_wrongly", "state.request(99999); return kAny;", "return {};"},
    {"keeps", "waiting.push_back(id); return kAny;", "if (waiting.empty()) return {}; return {{waiting[0]}};"},
    {"idle", "return kAny;", "return {};"},
    {"forgets", "if (state.request(id).number > 0) waiting.push_back(id); return kAny;",
     "if (waiting.empty()) return {}; const auto last = waiting.back(); waiting.pop_back(); return {{last}};"},
};

/// All of them are compiled once; which one a copy is comes from the environment when it is loaded.
std::string refusal_of(const std::string& name, const RunOptions& options = {}) {
  static const std::string library = [] {
    std::string arrived = "const std::string me = name();\n", next = arrived;
    for (const Wrong& w : kWrong) {
      arrived += "if (me == \"" + std::string(w.name) + "\") { " + w.arrived + " }\n";
      next += "if (me == \"" + std::string(w.name) + "\") { " + w.next + " }\n";
    }
    return source_of(
        "wrong", arrived + "return kAny;", next + "return {};",
        "#include <cstdlib>\n#include <string>\n"
        "static const std::string& name() { static const std::string n = std::getenv(\"WRONG\"); return n; }\n"
        "static const std::string& at_load = name();\n"
        "extern \"C\" const char* loaded_as() { return at_load.c_str(); }\n");
  }();
  const std::string copy = (std::filesystem::path(testing::TempDir()) / (name + ".so")).string();
  static std::set<std::string> copies;  // one that is loaded is not written again
  if (copies.insert(name).second)
    std::filesystem::copy_file(library, copy, std::filesystem::copy_options::overwrite_existing);
  setenv("WRONG", name.c_str(), 1);
  const auto policy = load_policy(copy);
  EXPECT_TRUE(policy.ok()) << (policy.ok() ? "" : policy.error().text());
  Scenario s = test::gpus_of_one_kind(2);
  test::set_models(s, {{"m", {test::kMs}}});
  Load load;
  load.rate_per_s = 1000;
  load.requests = 20'000;
  const auto result = emulate(s, **policy, {}, load, options);
  return result.ok() ? "" : result.error().text();
}

TEST(PolicyLibrary, NonsenseIsNamed) {
  const auto expect = [](const std::string& name, const std::string& part, const RunOptions& options = {}) {
    const std::string error = refusal_of(name, options);
    EXPECT_NE(error.find("policy " + name + ": " + part), std::string::npos) << error;
    return error;
  };
  EXPECT_EQ(refusal_of("no_such_gpu"), "policy no_such_gpu: named GPU 7 for request 0, expected one of 0 to 1");
  expect("no_such_request", "handed out a request with id 12345, which no request has had");
  expect("twice", "handed out request 0 (id 0) twice in one batch");
  EXPECT_EQ(refusal_of("throws"), "policy throws: threw an exception: no idea");
  EXPECT_EQ(refusal_of("asks_wrongly"),
            "policy asks_wrongly: asked for the request with id 99999, which no request has had");
  EXPECT_NE(refusal_of("keeps").find("(id 0), which is being executed or answered already and does not wait"),
            std::string::npos);
  // It never hands anything out.
  expect("idle", "request 0 of m waits since");
  // It takes the newest and so starves the first while others come: named after the wait that the user allows, or ours.
  RunOptions bounded;
  bounded.max_wait_ps = 100 * test::kMs;
  const std::string starved = expect("forgets", "request 0 of m waits since", bounded);
  EXPECT_NE(starved.find("expected a wait of at most 100 ms"), std::string::npos) << starved;
  EXPECT_NE(expect("forgets", "request 0 of m waits since").find("had no work for more than 1 s"), std::string::npos);
}

TEST(PolicyLibrary, WhatIsNoLibraryIsRefused) {
  EXPECT_NE(load_policy("/no/such.so").error().text().find("no such file"), std::string::npos);
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "folder.so";
  std::filesystem::create_directories(folder);
  EXPECT_NE(load_policy(folder.string()).error().text().find("it is a folder"), std::string::npos);
  const std::string text = (std::filesystem::path(testing::TempDir()) / "text.so").string();
  std::ofstream(text) << "no library\n";
  EXPECT_FALSE(load_policy(text).ok());
  const std::string source = (std::filesystem::path(testing::TempDir()) / "empty.cpp").string();
  std::ofstream(source) << "int nothing;\n";
  EXPECT_NE(load_policy(compiled(source, "empty")).error().text().find("does not define distsim_create_policy"),
            std::string::npos);
  const std::string newer = (std::filesystem::path(testing::TempDir()) / "newer.cpp").string();
  std::ofstream(newer) << "#include \"distsim_policy.hpp\"\n"
                          "extern \"C\" serving_policy::Policy* distsim_create_policy(int) { return nullptr; }\n";
  EXPECT_NE(load_policy(compiled(newer, "newer")).error().text().find("not for version 1"), std::string::npos);
  const auto e = parse_experiment(
      "gpus: [{name: a}]\nmodels: [{name: m, layer_times: [1 ms]}]\n"
      "load: {rate_per_s: 1, requests: 1}\npolicies: [fifo, ./none.so]\n",
      "x.yaml", {});
  ASSERT_FALSE(e.ok());
  EXPECT_NE(e.error().text().find("x.yaml:4:18: policies[1]: found 'none.so', expected a library with a policy"),
            std::string::npos)
      << e.error().text();
}

/// Branches of a request come to a policy that says so; each of its own, on a GPU of its own.
TEST(PolicyLibrary, MayTakeBranches) {
  const std::string body = "waiting.push_back(id); return kAny;";
  const std::string next =
      "Work w; if (!waiting.empty()) { w.requests = {waiting[0]}; waiting.erase(waiting.begin()); } return w;";
  const auto whole = load_policy(source_of("whole", body, next));
  const std::string apart = source_of("apart", body,
                                      next +
                                          "\n  }\n};\nextern \"C\" bool distsim_policy_takes_branches() { "
                                          "return true; }\nstruct Unused { void none() {");
  const auto branches = load_policy(apart);
  ASSERT_TRUE(whole.ok() && branches.ok());
  Scenario s = test::gpus_of_one_kind(2);
  test::set_models(s, {{"m", {test::kMs, 4 * test::kMs, 3 * test::kMs, test::kMs}}});
  s.models[0].graph = LayerGraph({{}, {{0, 0}}, {{0, 0}}, {{1, 0}, {2, 0}}});
  Load load;
  load.kind = LoadKind::trace;
  load.trace = {{0, 0}};
  EXPECT_EQ(emulate(s, **whole, {}, load, {})->makespan_ps, 9 * test::kMs);
  EXPECT_EQ(emulate(s, **branches, {}, load, {})->makespan_ps, 6 * test::kMs);
}

}  // namespace
}  // namespace distsim::serving
