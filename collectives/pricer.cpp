#include "collectives/pricer.hpp"

#include <array>
#include <cstdio>

#include "collectives/evidence.hpp"

namespace distsim::collectives {

namespace {

struct Spread {
  double low, high;
};
/// 10th and 90th percentile of measured over predicted, from hardware facts alone, over 62 published sweeps
/// (tests/collectives/sweep_validation_test.cpp).
Spread analytic_spread(bool one_node, double bytes) {
  if (bytes >= 64e6) return one_node ? Spread{0.08, 0.15} : Spread{0.10, 0.40};
  if (bytes >= 1e6) return one_node ? Spread{0.26, 0.35} : Spread{0.25, 1.20};
  return one_node ? Spread{0.25, 0.40} : Spread{0.45, 0.65};
}

std::string_view analytic_source(const Candidate& c) {
  static const auto texts = [] {
    std::array<std::array<std::string, 3>, kAlgorithmCount> out;
    for (std::size_t a = 0; a < out.size(); ++a) {
      for (Protocol p : kProtocols) {
        out[a][static_cast<std::size_t>(p)] =
            "NCCL model: " + std::string(name_of(static_cast<Algorithm>(a))) + " " + std::string(name_of(p));
      }
    }
    return out;
  }();
  return texts[static_cast<std::size_t>(c.algorithm)][static_cast<std::size_t>(c.protocol)];
}

std::string note_of(const Evidence& e, graph::CollectiveKind kind) {
  const char* const how[] = {"as measured", "scaled at equal size", "scaled by regime"};
  const Curve& c = *e.curve;
  char line[320];
  std::snprintf(line, sizeof line,
                "%.60s: %s%zu sizes, %u ranks on %u nodes, %s%s, %s, latency x%.2f, transfer time x%.2f, weight %.2g",
                std::string(e.source_name).c_str(),
                c.kind == kind ? "" : (std::string(graph::name_of(c.kind)) + ", ").c_str(), c.points.size(), c.ranks,
                c.nodes, c.single_process ? "one process" : "one process per GPU", c.cuda_graph ? ", CUDA graph" : "",
                how[static_cast<int>(e.carry)], e.factors.latency, e.factors.bandwidth, e.trust);
  return line + (c.flagged > 0 ? ", " + std::to_string(c.flagged) + " rows left out" : "");
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
