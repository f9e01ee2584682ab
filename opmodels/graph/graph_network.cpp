#include "opmodels/graph/graph_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/random.hpp"
#include "opmodels/checked_text.hpp"

namespace distsim::opmodels {
namespace {

constexpr std::size_t kH = GraphNetwork::kHidden, kRounds = 2;
constexpr std::size_t kMessage = kH + 1;
constexpr std::size_t kInput = kNodeFacts + kDeviceFacts;
constexpr std::string_view kCorrectionMagic = "dsgraph 2";
constexpr double kLargestWeight = 1e6;  // training from small numbers, with decay, stays far below

/// Where the parts of the network are among its weights.
struct Places {
  static constexpr std::size_t kFirst = 0, kFirstBias = kFirst + kH * kInput, kRound = kFirstBias + kH;
  static constexpr std::size_t kOwn = 0, kIn = kOwn + kH * kH, kOut = kIn + kH * kMessage, kBias = kOut + kH * kMessage;
  static constexpr std::size_t kOfRound = kBias + kH;
  static constexpr std::size_t kHead = kRound + kRounds * kOfRound, kHeadBias = kHead + kH, kAll = kHeadBias + 1;
  static bool is_bias(std::size_t i) {
    if (i == kHeadBias || (i >= kFirstBias && i < kRound)) return true;
    return i >= kRound && i < kHead && (i - kRound) % kOfRound >= kBias;
  }
};

using Row = std::array<double, kH>;
using Message = std::array<double, kMessage>;

/// A graph with scaled facts.
struct Scaled {
  std::vector<std::array<double, kInput>> input;
  std::vector<double> share;
  struct Edge {
    std::uint32_t from, to;
    double in, out, bytes;
  };
  std::vector<Edge> edges;
};

/// What a pass over a graph leaves for the pass back.
struct Trail {
  std::vector<Row> h[kRounds + 1];
  std::vector<Message> in[kRounds], out[kRounds];
};

void gather(const Scaled& g, const std::vector<Row>& h, std::vector<Message>& in, std::vector<Message>& out) {
  in.assign(h.size(), {});
  out.assign(h.size(), {});
  for (const Scaled::Edge& e : g.edges) {
    for (std::size_t k = 0; k < kH; ++k) {
      in[e.to][k] += e.in * h[e.from][k];
      out[e.from][k] += e.out * h[e.to][k];
    }
    in[e.to][kH] += e.in * e.bytes;
    out[e.from][kH] += e.out * e.bytes;
  }
}

double forward_pass(const std::vector<double>& w, const Scaled& g, Trail& t) {
  const std::size_t n = g.input.size();
  t.h[0].assign(n, {});
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t k = 0; k < kH; ++k) {
      double sum = w[Places::kFirstBias + k];
      for (std::size_t i = 0; i < kInput; ++i) sum += w[Places::kFirst + k * kInput + i] * g.input[v][i];
      t.h[0][v][k] = std::tanh(sum);
    }
  }
  for (std::size_t r = 0; r < kRounds; ++r) {
    const double* round = w.data() + Places::kRound + r * Places::kOfRound;
    gather(g, t.h[r], t.in[r], t.out[r]);
    t.h[r + 1].assign(n, {});
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t k = 0; k < kH; ++k) {
        double sum = round[Places::kBias + k];
        for (std::size_t i = 0; i < kH; ++i) sum += round[Places::kOwn + k * kH + i] * t.h[r][v][i];
        for (std::size_t i = 0; i < kMessage; ++i)
          sum += round[Places::kIn + k * kMessage + i] * t.in[r][v][i] +
                 round[Places::kOut + k * kMessage + i] * t.out[r][v][i];
        t.h[r + 1][v][k] = std::tanh(sum);
      }
    }
  }
  double y = w[Places::kHeadBias];
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t k = 0; k < kH; ++k) y += g.share[v] * w[Places::kHead + k] * t.h[kRounds][v][k];
  }
  return y;
}

/// Adds the gradient of `dy` times y.
void backward_pass(const std::vector<double>& w, const Scaled& g, const Trail& t, double dy,
                   std::vector<double>& grad) {
  const std::size_t n = g.input.size();
  std::vector<Row> dh(n);
  grad[Places::kHeadBias] += dy;
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t k = 0; k < kH; ++k) {
      grad[Places::kHead + k] += dy * g.share[v] * t.h[kRounds][v][k];
      dh[v][k] = dy * g.share[v] * w[Places::kHead + k];
    }
  }
  for (std::size_t r = kRounds; r-- > 0;) {
    const std::size_t base = Places::kRound + r * Places::kOfRound;
    std::vector<Row> below(n);
    std::vector<Message> din(n), dout(n);
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t k = 0; k < kH; ++k) {
        const double h = t.h[r + 1][v][k], d = dh[v][k] * (1 - h * h);
        grad[base + Places::kBias + k] += d;
        for (std::size_t i = 0; i < kH; ++i) {
          grad[base + Places::kOwn + k * kH + i] += d * t.h[r][v][i];
          below[v][i] += d * w[base + Places::kOwn + k * kH + i];
        }
        for (std::size_t i = 0; i < kMessage; ++i) {
          grad[base + Places::kIn + k * kMessage + i] += d * t.in[r][v][i];
          grad[base + Places::kOut + k * kMessage + i] += d * t.out[r][v][i];
          din[v][i] += d * w[base + Places::kIn + k * kMessage + i];
          dout[v][i] += d * w[base + Places::kOut + k * kMessage + i];
        }
      }
    }
    for (const Scaled::Edge& e : g.edges) {
      for (std::size_t k = 0; k < kH; ++k) {
        below[e.from][k] += e.in * din[e.to][k];
        below[e.to][k] += e.out * dout[e.from][k];
      }
    }
    dh = std::move(below);
  }
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t k = 0; k < kH; ++k) {
      const double h = t.h[0][v][k], d = dh[v][k] * (1 - h * h);
      grad[Places::kFirstBias + k] += d;
      for (std::size_t i = 0; i < kInput; ++i) grad[Places::kFirst + k * kInput + i] += d * g.input[v][i];
    }
  }
}

/// Means of the facts over a graph's time, then the device's.
std::vector<double> graph_summary_of(const GraphFacts& facts) {
  std::vector<double> out(kInput, 0);
  for (const GraphNode& node : facts.nodes) {
    for (std::size_t i = 0; i < kNodeFacts; ++i) out[i] += node.share * node.facts[i];
  }
  std::copy(facts.device.begin(), facts.device.end(), out.begin() + kNodeFacts);
  return out;
}

/// Mean and standard deviation; 1 for what never varies.
struct Moments {
  double sum = 0, squares = 0, weight = 0;
  void add(double value, double w) { sum += w * value, squares += w * value * value, weight += w; }
  double mean() const { return weight > 0 ? sum / weight : 0; }
  double scale() const {
    const double variance = weight > 0 ? squares / weight - mean() * mean() : 0;
    return variance > 1e-12 ? std::sqrt(variance) : 1;
  }
};

}  // namespace

/// Works on a network; also what it is asked with.
class GraphTrainer {
 public:
  static Scaled scaled(const GraphNetwork& net, const GraphFacts& facts) {
    Scaled out;
    std::vector<double> after(facts.nodes.size(), 0);
    for (const GraphNode& node : facts.nodes) {
      auto& input = out.input.emplace_back();
      for (std::size_t i = 0; i < kNodeFacts; ++i) input[i] = (node.facts[i] - net.node_mean_[i]) / net.node_scale_[i];
      for (std::size_t i = 0; i < kDeviceFacts; ++i)
        input[kNodeFacts + i] = (facts.device[i] - net.device_mean_[i]) / net.device_scale_[i];
      out.share.push_back(node.share);
    }
    for (const GraphEdge& e : facts.edges) ++after[e.from];
    for (const GraphEdge& e : facts.edges)
      out.edges.push_back(
          {e.from, e.to, e.weight, 1 / after[e.from], (e.log_bytes - net.edge_mean_) / net.edge_scale_});
    return out;
  }

  static void fit_scales(GraphNetwork& net, const std::vector<const GraphExample*>& examples) {
    std::array<Moments, kNodeFacts> nodes;
    std::array<Moments, kDeviceFacts> device;
    Moments edge;
    net.hull_.assign(kInput, {1e300, -1e300});
    for (const GraphExample* e : examples) {
      for (const GraphNode& node : e->facts.nodes)
        for (std::size_t i = 0; i < kNodeFacts; ++i) nodes[i].add(node.facts[i], 1);
      for (std::size_t i = 0; i < kDeviceFacts; ++i) device[i].add(e->facts.device[i], 1);
      for (const GraphEdge& x : e->facts.edges) edge.add(x.log_bytes, 1);
      const std::vector<double> summary = graph_summary_of(e->facts);
      for (std::size_t i = 0; i < kInput; ++i) {
        net.hull_[i].low = std::min(net.hull_[i].low, summary[i]);
        net.hull_[i].high = std::max(net.hull_[i].high, summary[i]);
      }
    }
    for (const Moments& m : nodes) net.node_mean_.push_back(m.mean()), net.node_scale_.push_back(m.scale());
    for (const Moments& m : device) net.device_mean_.push_back(m.mean()), net.device_scale_.push_back(m.scale());
    net.edge_mean_ = edge.mean();
    net.edge_scale_ = edge.scale();
  }

  static void fit_weights(GraphNetwork& net, const std::vector<const GraphExample*>& examples,
                          const GraphTraining& how) {
    std::vector<Scaled> graphs;
    for (const GraphExample* e : examples) graphs.push_back(scaled(net, e->facts));
    net.weights_.assign(Places::kAll, 0);
    Random random(how.seed);
    for (std::size_t i = 0; i < Places::kAll; ++i) {
      const double draw = 2 * random.uniform() - 1;
      if (!Places::is_bias(i)) net.weights_[i] = draw * (i >= Places::kHead ? 0.1 : 0.3);
    }
    std::vector<double> grad(Places::kAll), first(Places::kAll, 0), second(Places::kAll, 0);
    constexpr double kFirst = 0.9, kSecond = 0.999;
    Trail trail;
    const double each = 1 / static_cast<double>(graphs.size());
    for (int epoch = 1; epoch <= how.epochs; ++epoch) {
      std::fill(grad.begin(), grad.end(), 0);
      for (std::size_t i = 0; i < graphs.size(); ++i) {
        const double y = forward_pass(net.weights_, graphs[i], trail);
        backward_pass(net.weights_, graphs[i], trail, 2 * each * (y - examples[i]->log_ratio), grad);
      }
      for (std::size_t i = 0; i < Places::kAll; ++i) {
        if (!Places::is_bias(i)) grad[i] += 2 * how.decay * net.weights_[i];
        first[i] = kFirst * first[i] + (1 - kFirst) * grad[i];
        second[i] = kSecond * second[i] + (1 - kSecond) * grad[i] * grad[i];
        const double m = first[i] / (1 - std::pow(kFirst, epoch)), s = second[i] / (1 - std::pow(kSecond, epoch));
        net.weights_[i] -= how.rate * m / (std::sqrt(s) + 1e-8);
      }
    }
    double squares = 0;
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      const double left = forward_pass(net.weights_, graphs[i], trail) - examples[i]->log_ratio;
      squares += each * left * left;
    }
    net.residual_ = std::sqrt(squares);
  }
};

Result<GraphNetwork> GraphNetwork::train(const std::vector<GraphExample>& all, const GraphTraining& how) {
  std::vector<const GraphExample*> examples;
  for (const GraphExample& e : all) {
    if (!e.facts.nodes.empty() && std::isfinite(e.log_ratio)) examples.push_back(&e);
  }
  if (examples.size() < kFewestExamples)
    return Error{"found " + std::to_string(examples.size()) + " measured iterations with kernels, expected at least " +
                     std::to_string(kFewestExamples),
                 "", ""};
  // In an order of their own, so that the file's does not matter.
  std::stable_sort(examples.begin(), examples.end(), [](const GraphExample* a, const GraphExample* b) {
    return std::pair(a->log_ratio, graph_summary_of(a->facts)) < std::pair(b->log_ratio, graph_summary_of(b->facts));
  });
  GraphNetwork net;
  net.examples_ = examples.size();
  GraphTrainer::fit_scales(net, examples);
  GraphTrainer::fit_weights(net, examples, how);
  return net;
}

GraphNetwork::Answer GraphNetwork::ask(const GraphFacts& facts) const {
  if (facts.nodes.empty()) return {};
  constexpr double kMargin = 0.1;
  const std::vector<double> summary = graph_summary_of(facts);
  for (std::size_t i = 0; i < kInput; ++i) {
    const double beyond = kMargin * (hull_[i].high - hull_[i].low) + 1e-9;
    if (summary[i] < hull_[i].low - beyond || summary[i] > hull_[i].high + beyond) return {};
  }
  Trail trail;
  const double y = forward_pass(weights_, GraphTrainer::scaled(*this, facts), trail);
  return {std::clamp(std::exp(y), 1 / kMostRatio, kMostRatio), true};
}

namespace {

/// Numbers that read back as what they were.
void append_numbers(std::string& out, std::string_view name, std::span<const double> values) {
  out += name;
  for (const double v : values) out += fmt::format(" {}", v);
  out += '\n';
}

/// Lines of a name and numbers.
class NumberLines {
 public:
  explicit NumberLines(std::string_view text) : rest_(text) {}
  Result<std::vector<double>> next(std::string_view name, std::size_t count) {
    ++line_;
    const std::string_view line = take_line();
    if (!line.starts_with(name) || line.size() < name.size() + 1 || line[name.size()] != ' ')
      return wrong("expected " + std::string(name));
    std::vector<double> out;
    const char *at = line.data() + name.size(), *end = line.data() + line.size();
    while (at < end) {
      if (*at == ' ') {
        ++at;
        continue;
      }
      double value = 0;
      const auto [after, error] = std::from_chars(at, end, value);
      if (error != std::errc() || !std::isfinite(value)) return wrong("expected numbers");
      out.push_back(value);
      at = after;
      if (out.size() > count) break;
    }
    if (out.size() != count) return wrong("expected " + std::to_string(count) + " numbers");
    return out;
  }
  std::string_view take_line() {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return line;
  }

 private:
  Error wrong(const std::string& what) const {
    return {"line " + std::to_string(line_ + 1) + " of a graph correction: " + what, "", ""};
  }
  std::string_view rest_;
  std::size_t line_ = 0;
};

}  // namespace

std::string GraphNetwork::text() const {
  std::string out = std::string(kCorrectionMagic) + '\n';
  const double sizes[] = {static_cast<double>(examples_), residual_, edge_mean_, edge_scale_};
  append_numbers(out, "sizes", sizes);
  append_numbers(out, "node_mean", node_mean_);
  append_numbers(out, "node_scale", node_scale_);
  append_numbers(out, "device_mean", device_mean_);
  append_numbers(out, "device_scale", device_scale_);
  std::vector<double> low, high;
  for (const Range& r : hull_) low.push_back(r.low), high.push_back(r.high);
  append_numbers(out, "low", low);
  append_numbers(out, "high", high);
  append_numbers(out, "weights", weights_);
  return with_checksum(std::move(out));
}

Result<GraphNetwork> GraphNetwork::parse(std::string_view text) {
  if (NumberLines(text).take_line() != kCorrectionMagic)
    return Error{"found another first line, expected '" + std::string(kCorrectionMagic) + "'", "",
                 "distsim calibrate graph writes it"};
  TRY_ASSIGN(const std::string_view body, checked_text(text, "graph correction", "distsim calibrate graph"));
  NumberLines lines(body);
  lines.take_line();
  GraphNetwork net;
  TRY_ASSIGN(const std::vector<double> sizes, lines.next("sizes", 4));
  if (sizes[0] < 0 || sizes[0] > 1e9 || !(sizes[3] > 0))
    return Error{"sizes of a graph correction: found others, expected positive ones", "", ""};
  net.examples_ = static_cast<std::size_t>(sizes[0]);
  net.residual_ = sizes[1];
  net.edge_mean_ = sizes[2];
  net.edge_scale_ = sizes[3];
  TRY_ASSIGN(net.node_mean_, lines.next("node_mean", kNodeFacts));
  TRY_ASSIGN(net.node_scale_, lines.next("node_scale", kNodeFacts));
  TRY_ASSIGN(net.device_mean_, lines.next("device_mean", kDeviceFacts));
  TRY_ASSIGN(net.device_scale_, lines.next("device_scale", kDeviceFacts));
  TRY_ASSIGN(const std::vector<double> low, lines.next("low", kInput));
  TRY_ASSIGN(const std::vector<double> high, lines.next("high", kInput));
  for (std::size_t i = 0; i < kInput; ++i) net.hull_.push_back({low[i], high[i]});
  TRY_ASSIGN(net.weights_, lines.next("weights", Places::kAll));
  if (std::ranges::any_of(net.weights_, [](double w) { return std::abs(w) > kLargestWeight; }))
    return Error{"weights of a graph correction: found one above 1e6, expected what a training ends with", "", ""};
  for (const auto* scales : {&net.node_scale_, &net.device_scale_}) {
    if (std::any_of(scales->begin(), scales->end(), [](double s) { return !(s > 0); }))
      return Error{"scales of a graph correction: found 0 or less, expected positive ones", "", ""};
  }
  return net;
}

}  // namespace distsim::opmodels
