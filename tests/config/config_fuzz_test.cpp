// Random edits of a valid experiment and of --set: it resolves, or there is one line that says why not.
#include <chrono>

#include "base/random.hpp"
#include "config_fixture.hpp"

namespace distsim::config {
namespace {

class ConfigFuzz : public test::ConfigFixture {
 protected:
  void expect_answer(const std::string& text, const std::vector<std::string>& sets) const {
    const auto parsed = parse_experiment_text(text, dir_ + "/x.yaml", sets);
    const auto resolved = parsed.ok() ? resolve(*parsed) : Result<Experiment>(parsed.error());
    if (resolved.ok()) return;
    const std::string line = resolved.error().text();
    ASSERT_FALSE(line.empty());
    ASSERT_EQ(line.find('\n'), std::string::npos) << line;
    ASSERT_LT(line.size(), 1000u) << line;
  }
};

const std::vector<std::string>& words() {
  static const std::vector<std::string> words{
      "cluster", "system", "nodes", "device",  "model", "name",   "net",   "boxes",  "tables", "pytorch", "0",
      "-1",      "1e19",   "nan",   "25 GB/s", "25",    "1.9 us", "true",  "[1, 2]", "{a: 1}", "~",       "\"x\"",
      ": ",      "\n",     "  ",    "- ",      "{",     "}",      "[",     "]",      "&a ",    "*a",      "!!str ",
      "#",       "../x",   "/",     ".yaml",   "\t",    "\xff",   "|\n  ", "---\n",  "'",      "\"",      "\\"};
  return words;
}

std::string mutated(std::string text, Random& random) {
  for (std::uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
    const std::size_t at = random.below(text.size() + 1);
    switch (random.below(4)) {
      case 0:
        text.insert(at, words()[random.below(words().size())]);
        break;
      case 1:
        text.erase(at, 1 + random.below(6));
        break;
      case 2:
        text.replace(at, random.below(8), words()[random.below(words().size())]);
        break;
      default:
        text.insert(at, text.substr(random.below(text.size() + 1), random.below(40)));
        break;
    }
  }
  return text;
}

TEST_F(ConfigFuzz, EditedExperimentsResolveOrSayWhyNot) {
  const std::string valid =
      "title: DLRM\ncluster:\n  system: boxes\n  nodes: 4\n  nic: {bandwidth: 25 GB/s, latency: 1.9 us}\n"
      "device: {sm_count: 100}\nmodel:\n  name: tables\n  global_batch: 256\n  dlrm: {tables: [{rows: 5}, {rows: 6, dim: 64}]}\n"
      "framework: {name: pytorch}\ncollectives: {use_curves: false}\n";
  expect_answer(valid, {});
  Random random(11);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1200);
  for (int round = 0; round < 5'000 && std::chrono::steady_clock::now() < end; ++round)
    expect_answer(mutated(valid, random), {});
}

TEST_F(ConfigFuzz, EditedSetsResolveOrSayWhyNot) {
  const std::string text = "cluster: {system: boxes, nodes: 4}\nmodel: {name: tables}\n";
  Random random(12);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
  for (int round = 0; round < 3'000 && std::chrono::steady_clock::now() < end; ++round) {
    expect_answer(text, {mutated("model.dlrm.tables.1.rows=20", random), mutated("cluster.nodes=4", random)});
  }
}

TEST_F(ConfigFuzz, AnExperimentCutAtEveryByte) {
  const std::string text =
      "title: \"x\"\ncluster: {system: boxes, nodes: 4}\nmodel:\n  name: net\n  mlp: {layers: [1, 2]}\n";
  for (std::size_t n = 0; n <= text.size(); ++n) expect_answer(text.substr(0, n), {});
}

}  // namespace
}  // namespace distsim::config
