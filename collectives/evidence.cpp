#include "collectives/evidence.hpp"

#include <algorithm>
#include <cmath>

namespace distsim::collectives {

namespace {

// Weights of evidence. Any order of magnitude will do: what matters is that the closer group wins where it has been
// measured.
constexpr double kUserTrust = 1000, kOwnTrust = 1, kSiblingTrust = 0.3;
constexpr double kOtherLaunchTrust = 0.3, kForcedTrust = 0.1, kOtherShapeTrust = 0.02, kOtherPerNodeTrust = 0.1,
                 kOtherKindTrust = 0.001, kOtherCompanyTrust = 0.02;
// The most trusted; more change little but the time it takes.
constexpr std::size_t kMostCurves = 8, kMostCarried = 3;

/// Of a residual that is carried to other ranks or another collective: four fifths, of grouped send/recv none, which
/// has no protocols to switch. Found by predicting the published sweeps of a system from each other.
constexpr double kCarriedShare = 0.8;

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max({std::abs(a), std::abs(b), 1e-12});
}

bool same_shape(const topology::GroupFacts& a, const topology::GroupFacts& b) {
  return a.ranks == b.ranks && a.nodes == b.nodes && a.min_per_node == b.min_per_node &&
         a.max_per_node == b.max_per_node;
}

/// Whether the curve was measured as it is asked for: beside other groups on the same nodes, or alone. A log that does
/// not say speaks of both.
bool same_company(const LibraryCurve& c, const topology::GroupFacts& asked) {
  return c.curve.groups_at_once == 0 || c.facts.beside_others == asked.beside_others;
}

bool same_rates(const topology::GroupFacts& a, const topology::GroupFacts& b) {
  return near(a.intra_bandwidth.value(), b.intra_bandwidth.value(), 0.02) &&
         (a.nodes == 1 || near(a.node_bandwidth.value(), b.node_bandwidth.value(), 0.02)) &&
         near(a.inter_latency.us(), b.inter_latency.us(), 0.5) && a.sharp == b.sharp && a.multicast == b.multicast;
}

/// A curve inside a node says nothing about the network, and the other way round, unless the same link limits both.
bool comparable(const topology::GroupFacts& a, const AnalyticModel& model_a, const topology::GroupFacts& b,
                const AnalyticModel& model_b) {
  constexpr double kLarge = 1 << 30;
  if ((a.max_per_node == 1) != (b.max_per_node == 1)) return false;
  return (a.nodes == 1) == (b.nodes == 1) ||
         model_a.choice(kLarge).candidate->limit == model_b.choice(kLarge).candidate->limit;
}

bool is_exchange(graph::CollectiveKind kind) {
  return kind == graph::CollectiveKind::all_to_all || kind == graph::CollectiveKind::all_to_all_v;
}

/// Kinds that NCCL does with rings, trees and switches; they share links, protocols and channels.
bool is_nccl_collective(graph::CollectiveKind kind) {
  switch (kind) {
    case graph::CollectiveKind::all_reduce:
    case graph::CollectiveKind::all_gather:
    case graph::CollectiveKind::reduce_scatter:
    case graph::CollectiveKind::broadcast:
    case graph::CollectiveKind::reduce:
      return true;
    default:
      return false;
  }
}

/// One rank starts or ends with all the data, and calls of a loop overlap: such a sweep looks unlike the others.
bool is_rooted(graph::CollectiveKind kind) {
  return kind == graph::CollectiveKind::broadcast || kind == graph::CollectiveKind::reduce;
}

/// Collectives tell of each other, and of exchanges what the links reach; exchanges tell of none.
bool tells_of(graph::CollectiveKind measured, graph::CollectiveKind asked) {
  return measured == asked || (is_nccl_collective(measured) && (is_nccl_collective(asked) || is_exchange(asked)));
}

LaunchMode mode_of(const Curve& c) {
  return {c.single_process, c.cuda_graph, selection_for(c.kind, selection_of_settings(c.settings))};
}

/// Settings that the model does not know, such as NCCL_P2P_DISABLE.
bool has_other_settings(const Curve& c) {
  return !c.settings.empty() && selection_of_settings(c.settings) == Selection{};
}

double trust_of(const LibraryCurve& c, graph::CollectiveKind kind, const topology::GroupFacts& facts,
                const LaunchMode& mode) {
  double trust = c.origin == Origin::user ? kUserTrust : c.origin == Origin::own_system ? kOwnTrust : kSiblingTrust;
  const LaunchMode measured = mode_of(c.curve);
  if (!measured.same_launch(mode)) trust *= kOtherLaunchTrust;
  if (measured.selection != selection_for(c.curve.kind, mode.selection) || has_other_settings(c.curve))
    trust *= kForcedTrust;
  if (c.curve.kind != kind)
    trust *= kOtherKindTrust * (is_rooted(c.curve.kind) == is_rooted(kind) ? 1 : kOtherShapeTrust);
  if (!same_company(c, facts)) trust *= kOtherCompanyTrust;
  if (same_shape(c.facts, facts)) return trust;
  if (c.facts.max_per_node != facts.max_per_node) trust *= kOtherPerNodeTrust;
  return trust * kOtherShapeTrust * std::exp2(-std::abs(std::log2(static_cast<double>(c.facts.ranks) / facts.ranks)));
}

/// Relative spread of carrying a curve to another group: found by predicting the sweeps of one system from each other.
double carry_spread(const LibraryCurve& c, graph::CollectiveKind kind, const topology::GroupFacts& facts,
                    const LaunchMode& mode) {
  double spread = 0;
  if (!same_shape(c.facts, facts))
    spread += 0.08 + 0.04 * std::abs(std::log2(static_cast<double>(c.facts.ranks) / facts.ranks));
  if (!same_rates(c.facts, facts)) spread += 0.10;
  if (c.curve.kind != kind) spread += 0.12;
  if (!mode_of(c.curve).same_launch(mode)) spread += 0.05;
  if (!same_company(c, facts)) spread += 0.10;
  return spread;
}

Carry carry_of(const LibraryCurve& c, graph::CollectiveKind kind, const topology::GroupFacts& facts,
               const LaunchMode& mode) {
  if (c.curve.kind != kind || !same_shape(c.facts, facts)) return Carry::regime;
  const LaunchMode measured = mode_of(c.curve);
  const bool same_selection = measured.selection == selection_for(kind, mode.selection);
  const bool same_launch = measured.same_launch(mode) || c.origin == Origin::user;  // whoever names a log means it
  return same_rates(c.facts, facts) && same_company(c, facts) && same_selection && same_launch ? Carry::none
                                                                                               : Carry::same_size;
}

/// The system's own curve of this very group makes those of other kinds superfluous.
bool has_own(const std::vector<LibraryCurve>& library, graph::CollectiveKind kind, const topology::GroupFacts& facts) {
  return std::any_of(library.begin(), library.end(), [&](const LibraryCurve& c) {
    return c.curve.kind == kind && c.origin != Origin::sibling_system && same_shape(c.facts, facts);
  });
}

struct Speaker {
  const LibraryCurve* curve;
  double trust;
};

std::vector<Speaker> speakers(graph::CollectiveKind kind, const topology::GroupFacts& facts, const LaunchMode& mode,
                              const std::vector<LibraryCurve>& library) {
  const bool own = has_own(library, kind, facts);
  std::vector<Speaker> out;
  for (const LibraryCurve& c : library) {
    if (c.curve.kind == kind || (!own && tells_of(c.curve.kind, kind)))
      out.push_back({&c, trust_of(c, kind, facts, mode)});
  }
  std::stable_sort(out.begin(), out.end(), [](const Speaker& a, const Speaker& b) { return a.trust > b.trust; });
  return out;
}

}  // namespace

Calibration calibration_of(const Curve& curve, const topology::GroupFacts& facts, const ModelConstants& constants) {
  const AnalyticModel model(curve.kind, facts, mode_of(curve), constants);
  return calibrate(model.candidates(), model.launch_us(), curve.points);
}

std::vector<Evidence> evidence_for(graph::CollectiveKind kind, const topology::GroupFacts& facts,
                                   const AnalyticModel& model, const LaunchMode& mode,
                                   const std::vector<LibraryCurve>& library, const ModelConstants& constants) {
  std::vector<Evidence> out;
  std::size_t carried = 0;
  for (const Speaker& s : speakers(kind, facts, mode, library)) {
    if (out.size() == kMostCurves) break;
    const LibraryCurve& c = *s.curve;
    const Carry carry = carry_of(c, kind, facts, mode);
    if (carry != Carry::none && carried == kMostCarried) continue;
    AnalyticModel source(c.curve.kind, c.facts, mode_of(c.curve), constants);
    if (!comparable(c.facts, source, facts, model)) continue;
    const Calibration factors = c.calibration.points > 0 ? c.calibration : calibration_of(c.curve, c.facts, constants);
    Evidence e{&c.curve, source.with(factors), model.with(factors), factors, carry};
    carried += carry == Carry::none ? 0 : 1;
    if (e.carry == Carry::none) e.target = e.source;
    if (e.carry == Carry::regime) e.share = is_exchange(kind) && c.curve.kind != kind ? 0 : kCarriedShare;
    e.trust = s.trust;
    e.carry_spread = carry_spread(c, kind, facts, mode);
    e.own = c.origin != Origin::sibling_system;
    e.source_name = c.source;
    out.push_back(std::move(e));
  }
  return out;
}

}  // namespace distsim::collectives
