#include "collectives/pricer.hpp"

#include <array>
#include <cstdio>

#include "base/text/counted.hpp"
#include "collectives/evidence.hpp"

namespace distsim::collectives {

namespace {

struct Spread {
  double low, high;
};
/// From `from_bytes` on, how far measured times are below and above predicted ones, relative: 10th and 90th percentile
/// of the analytic model alone over 62 published sweeps (tests/collectives/sweep_validation_test.cpp).
struct SpreadBySize {
  double from_bytes;
  Spread one_node, several_nodes;
};
constexpr SpreadBySize kAnalyticSpread[] = {
    {64e6, {0.08, 0.15}, {0.10, 0.40}}, {1e6, {0.26, 0.35}, {0.25, 1.20}}, {0, {0.25, 0.40}, {0.45, 0.65}}};

Spread analytic_spread(bool one_node, double bytes) {
  const SpreadBySize* row = std::begin(kAnalyticSpread);
  while (bytes < row->from_bytes) ++row;
  return one_node ? row->one_node : row->several_nodes;
}

std::string_view analytic_source(const Candidate& c) {
  static const auto texts = [] {
    std::vector<std::array<std::string, std::size(kProtocols)>> out(algorithms().size());
    for (const AlgorithmInfo* a : algorithms()) {
      for (const Protocol p : kProtocols) {
        out[index_of(*a)][static_cast<std::size_t>(p)] =
            "NCCL model: " + std::string(a->name) + " " + std::string(name_of(p));
      }
    }
    return out;
  }();
  return texts[index_of(*c.algorithm)][static_cast<std::size_t>(c.protocol)];
}

std::string_view text_of(Carry carry) {
  switch (carry) {
    case Carry::none:
      return "as measured";
    case Carry::same_size:
      return "scaled at equal size";
    case Carry::regime:
      return "scaled by regime";
  }
  return "?";
}

std::string note_of(const Evidence& e, graph::CollectiveKind kind) {
  const Curve& c = *e.curve;
  char factors[96];
  std::snprintf(factors, sizeof factors, ", latency x%.2f, transfer time x%.2f, weight %.2g", e.factors.latency,
                e.factors.bandwidth, e.trust);
  std::string line = std::string(e.source_name.substr(0, 60)) + ": ";
  if (c.kind != kind) line += std::string(graph::name_of(c.kind)) + ", ";
  line += counted(c.points.size(), "size") + ", " + counted(c.ranks, "rank");
  line += c.nodes == 0 ? ", nodes not stated" : " on " + counted(c.nodes, "node");
  line += c.single_process ? ", one process per node" : ", one process per GPU";
  if (c.cuda_graph) line += ", CUDA graph";
  line += ", " + std::string(text_of(e.carry)) + factors;
  if (c.flagged > 0) line += ", " + counted(c.flagged, "row") + " left out";
  return line;
}

}  // namespace

Pricer::Pricer(graph::CollectiveKind kind, const topology::GroupFacts& facts, LaunchMode mode,
               const std::vector<LibraryCurve>& library, const ModelConstants& constants)
    : one_node_(facts.nodes == 1), model_(kind, facts, mode, constants) {
  const std::vector<Evidence> evidence = evidence_for(kind, facts, model_, mode, library, constants);
  for (const Evidence& e : evidence) notes_.push_back(note_of(e, kind));
  if (!evidence.empty()) blend_.emplace(evidence, model_);
}

Result<graph::Cost> Pricer::price(double bytes) const {
  if (!blend_) {
    const Spread spread = analytic_spread(one_node_, bytes);
    const Choice choice = model_.choice(bytes);
    return graph::make_cost(model_.with_launch(choice.us) * 1e-6, spread.low, spread.high, graph::Basis::analytic,
                            analytic_source(*choice.candidate));
  }
  const Blend::Value v = blend_->at(bytes);
  return graph::make_cost(v.time_us * 1e-6, 1 - v.low_us / v.time_us, v.high_us / v.time_us - 1, v.basis, v.source);
}

}  // namespace distsim::collectives
