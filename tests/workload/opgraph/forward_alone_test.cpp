// What inference leaves out of a captured graph.
#include "sim/workload/opgraph/forward_alone.hpp"

#include <gtest/gtest.h>

namespace distsim::workload {
namespace {

/// x -> mm -> dropout -> mm -> a loss, and the start of the backward pass.
class TrainingGraph {
 public:
  TrainingGraph() {
    graph_.samples = 8, graph_.any_batch = true;
    x_ = tensor({{0, 1}, {4, 0}});
    weight_ = tensor({{4, 0}, {4, 0}});
    hidden_ = layer(x_);
    dropped_ = tensor({{0, 1}, {4, 0}});
    node("aten::native_dropout", {hidden_}, {dropped_, tensor({{0, 1}, {4, 0}})});
    scores_ = layer(dropped_);
  }

  std::uint32_t tensor(std::vector<opgraph::Extent> dims) {
    graph_.tensors.push_back({.dims = std::move(dims)});
    return static_cast<std::uint32_t>(graph_.tensors.size() - 1);
  }
  void node(const std::string& op, const std::vector<std::uint32_t>& in, std::vector<std::uint32_t> out,
            graph::Phase phase = graph::Phase::forward) {
    opgraph::Node n;
    n.op = op, n.outputs = std::move(out), n.phase = phase;
    for (const std::uint32_t t : in) n.inputs.push_back({opgraph::Argument::Kind::tensors, {t}, {}, ""});
    graph_.nodes.push_back(std::move(n));
  }
  std::uint32_t layer(std::uint32_t in) {
    const std::uint32_t out = tensor({{0, 1}, {4, 0}});
    node("aten::mm", {in, weight_}, {out});
    return out;
  }
  void begin_backward(std::uint32_t loss) {
    node("aten::ones_like", {loss}, {tensor({})}, graph::Phase::backward);
    graph_.gradients.push_back({weight_, static_cast<std::uint32_t>(graph_.nodes.size() - 1)});
  }

  std::vector<std::string> ops() const {
    std::vector<std::string> out;
    for (const opgraph::Node& n : forward_alone(graph_).nodes) out.push_back(n.op);
    return out;
  }

  opgraph::OpGraph graph_;
  std::uint32_t x_ = 0, weight_ = 0, hidden_ = 0, dropped_ = 0, scores_ = 0;
};

const std::vector<std::string> kTwoLayers{"aten::mm", "aten::mm"};

TEST(ForwardAlone, HasNeitherDropoutNorASum) {
  TrainingGraph g;
  const std::uint32_t sum = g.tensor({}), total = g.tensor({});
  g.node("aten::sum", {g.scores_}, {sum});
  g.node("aten::add", {sum, g.tensor({})}, {total});
  g.begin_backward(total);
  EXPECT_EQ(g.ops(), kTwoLayers);
  const opgraph::OpGraph alone = forward_alone(g.graph_);
  EXPECT_TRUE(alone.gradients.empty());
  EXPECT_EQ(alone.nodes[1].inputs[0].tensors[0], g.hidden_) << "what dropout would have read";
}

TEST(ForwardAlone, HasNoCrossEntropy) {
  TrainingGraph g;
  const std::uint32_t logs = g.tensor({{0, 1}, {4, 0}}), loss = g.tensor({});
  g.node("aten::_log_softmax", {g.scores_}, {logs});
  g.node("aten::nll_loss_forward", {logs}, {loss});
  EXPECT_EQ(g.ops(), kTwoLayers) << "of a forward pass alone, too";
  g.begin_backward(loss);
  EXPECT_EQ(g.ops(), kTwoLayers);
}

/// The loss alone reads the targets, through a view: inference has no such input.
TEST(ForwardAlone, HasNoTargets) {
  TrainingGraph g;
  const std::uint32_t loss = g.tensor({}), targets = g.tensor({{0, 1}}), view = g.tensor({{0, 1}});
  g.graph_.tensors[g.x_].role = g.graph_.tensors[targets].role = opgraph::TensorRole::input;
  g.graph_.tensors[targets].storage = g.graph_.tensors[view].storage = 7;
  g.node("aten::nll_loss_forward", {g.scores_, view}, {loss});
  g.begin_backward(loss);
  const opgraph::OpGraph alone = forward_alone(g.graph_);
  EXPECT_EQ(alone.tensors[g.x_].role, opgraph::TensorRole::input);
  EXPECT_EQ(alone.tensors[targets].role, opgraph::TensorRole::activation);
}

TEST(ForwardAlone, KeepsWhatTheModelGives) {
  TrainingGraph g;
  g.node("aten::_log_softmax", {g.scores_}, {g.tensor({{0, 1}, {4, 0}})});
  g.node("aten::mean", {g.scores_}, {g.tensor({})});
  EXPECT_EQ(g.ops(), (std::vector<std::string>{"aten::mm", "aten::mm", "aten::_log_softmax", "aten::mean"}));
}

TEST(ForwardAlone, KeepsALogSoftmaxThatIsGivenBesideTheLoss) {
  TrainingGraph g;
  const std::uint32_t logs = g.tensor({{0, 1}, {4, 0}}), loss = g.tensor({});
  g.node("aten::_log_softmax", {g.scores_}, {logs});
  g.node("aten::nll_loss_forward", {logs}, {loss});
  g.graph_.results = {loss};
  EXPECT_EQ(g.ops(), kTwoLayers);
  g.graph_.results = {logs, loss};
  EXPECT_EQ(g.ops(), (std::vector<std::string>{"aten::mm", "aten::mm", "aten::_log_softmax"}));
}

TEST(ForwardAlone, KeepsALogSoftmaxThatIsNotOfTheLoss) {
  const std::vector<std::string> kept{"aten::mm", "aten::mm", "aten::_log_softmax"};
  TrainingGraph summed;
  const std::uint32_t logs = summed.tensor({{0, 1}, {4, 0}}), sum = summed.tensor({});
  summed.node("aten::_log_softmax", {summed.scores_}, {logs});
  summed.node("aten::sum", {logs}, {sum});
  summed.begin_backward(sum);
  EXPECT_EQ(summed.ops(), kept) << "the sum is of what the model gives";

  TrainingGraph entropy;
  const std::uint32_t given = entropy.tensor({{0, 1}, {4, 0}}), again = entropy.tensor({{0, 1}, {4, 0}});
  const std::uint32_t loss = entropy.tensor({});
  entropy.node("aten::_log_softmax", {entropy.scores_}, {given});
  entropy.node("aten::_log_softmax", {given}, {again});
  entropy.node("aten::nll_loss_forward", {again}, {loss});
  entropy.begin_backward(loss);
  EXPECT_EQ(entropy.ops(), kept) << "a cross entropy has one of its own";
}

TEST(ForwardAlone, AttentionHasNoDropout) {
  TrainingGraph g;
  g.node("aten::scaled_dot_product_attention", {g.scores_, g.scores_, g.scores_, g.scores_}, {g.tensor({{0, 1}})});
  g.graph_.nodes.back().inputs.push_back({opgraph::Argument::Kind::number, {}, {0.1}, ""});
  EXPECT_EQ(forward_alone(g.graph_).nodes.back().inputs[4].numbers, std::vector<double>{0});
}

}  // namespace
}  // namespace distsim::workload
