#include "opmodels/graph/graph_network.hpp"
#include "opmodels/checked_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace distsim::opmodels {
namespace {

/// A graph of a few products and pointwise kernels, `share` of its time in products.
GraphFacts facts(double share, double intensity, double bandwidth) {
  GraphFacts out;
  for (const bool product : {true, false}) {
    GraphNode node;
    node.facts[product ? 0 : 4] = 1;
    node.facts[7] = product ? intensity : -1;
    node.facts[8] = 1 + bandwidth;
    node.facts[10] = product ? 0.9 : 0;
    node.facts[12] = product ? 0.1 : 0.9;
    node.share = product ? share : 1 - share;
    out.nodes.push_back(node);
  }
  out.edges = {{0, 1, 1, 1}, {1, 0, 1, 1.5}};
  out.device = {3 + bandwidth, bandwidth, 5, 1, 0};
  return out;
}

/// Iterations that take longer than composed the more of their time pointwise kernels have.
std::vector<GraphExample> examples(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<GraphExample> out;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = random.uniform();
    out.push_back({facts(share, 1 + random.uniform(), random.uniform()), 0.2 * (0.5 - share)});
  }
  return out;
}

double mean_error(const GraphNetwork& network, const std::vector<GraphExample>& on) {
  double sum = 0;
  for (const GraphExample& e : on) sum += std::abs(std::log(network.ask(e.facts).ratio) - e.log_ratio);
  return sum / static_cast<double>(on.size());
}

TEST(GraphNetwork, LearnsWhatGraphsHaveInCommon) {
  const GraphNetwork network =
      GraphNetwork::train(examples(1, 60), {.epochs = 500, .rate = 0.01, .decay = 1e-4}).value();
  const std::vector<GraphExample> others = examples(2, 60);
  double before = 0;
  for (const GraphExample& e : others) before += std::abs(e.log_ratio) / static_cast<double>(others.size());
  EXPECT_LT(mean_error(network, others), 0.35 * before);
  EXPECT_LT(network.residual(), 0.03);
  EXPECT_EQ(network.examples(), 60u);
}

TEST(GraphNetwork, SameSeedAndExamplesGiveTheSameBytes) {
  std::vector<GraphExample> all = examples(3, 20);
  const std::string text = GraphNetwork::train(all, {}).value().text();
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(GraphNetwork::train(all, {}).value().text(), text);
  EXPECT_NE(GraphNetwork::train(all, {.seed = 2}).value().text(), text);
}

TEST(GraphNetwork, TextReadsBackAsWhatItWas) {
  const GraphNetwork network = GraphNetwork::train(examples(4, 20), {}).value();
  const GraphNetwork again = GraphNetwork::parse(network.text()).value();
  EXPECT_EQ(again.text(), network.text());
  EXPECT_EQ(again.ask(examples(5, 1)[0].facts).ratio, network.ask(examples(5, 1)[0].facts).ratio);
}

TEST(GraphNetwork, OutsideOfItsExamplesThereIsNoCorrection) {
  const GraphNetwork network = GraphNetwork::train(examples(6, 40), {}).value();
  EXPECT_TRUE(network.ask(facts(0.5, 1.5, 0.5)).inside);
  for (const GraphFacts& far : {facts(0.5, 9, 0.5), facts(0.5, 1.5, 4), GraphFacts{}}) {
    EXPECT_FALSE(network.ask(far).inside);
    EXPECT_EQ(network.ask(far).ratio, 1);
  }
}

TEST(GraphNetwork, CorrectsByAThirdAtMost) {
  std::vector<GraphExample> wild = examples(7, 30);
  for (GraphExample& e : wild) e.log_ratio *= 50;
  const GraphNetwork network = GraphNetwork::train(wild, {}).value();
  for (const GraphExample& e : wild) {
    EXPECT_LE(network.ask(e.facts).ratio, GraphNetwork::kMostRatio);
    EXPECT_GE(network.ask(e.facts).ratio, 1 / GraphNetwork::kMostRatio);
  }
}

TEST(GraphNetwork, RefusesTooFewExamplesAndDamagedFiles) {
  EXPECT_NE(GraphNetwork::train(examples(8, 7), {}).error().what.find("found 7 measured iterations"),
            std::string::npos);
  const std::string text = GraphNetwork::train(examples(8, 8), {}).value().text();
  EXPECT_FALSE(GraphNetwork::parse("").ok());
  for (std::size_t cut = 0; cut + 1 < text.size(); cut += 97)
    EXPECT_FALSE(GraphNetwork::parse(text.substr(0, cut)).ok());
  const std::string body = text.substr(0, text.rfind("crc32 "));
  const auto with = [&](const char* name, std::string_view number) {
    std::string other = body;
    const std::size_t at = other.find(name) + std::string_view(name).size();
    return other.replace(at, other.find_first_of(" \n", at) - at, number);
  };
  ASSERT_TRUE(GraphNetwork::parse(with_checksum(body)).ok());
  EXPECT_FALSE(GraphNetwork::parse(with_checksum(with("node_scale ", "-1"))).ok());
  EXPECT_FALSE(GraphNetwork::parse(with_checksum(with("weights ", "nan"))).ok());
  EXPECT_FALSE(GraphNetwork::parse(with_checksum(with("weights ", "-1e308"))).ok());
  EXPECT_TRUE(GraphNetwork::parse(with_checksum(with("weights ", "0.5"))).ok());
  for (const std::string& damaged : {with("weights ", "0.5") + text.substr(body.size()), body})
    EXPECT_NE(GraphNetwork::parse(damaged).error().what.find("crc32"), std::string::npos);
}

}  // namespace
}  // namespace distsim::opmodels
