#include "collectives/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "collectives/curves/launch_floor.hpp"

namespace distsim::collectives {

namespace {

// Weight of a curve in the blend, as a product of factors. All are chosen: only their order of magnitude matters, which
// decides which curve wins where several apply. Where curves of equal rank disagree, they are averaged.
constexpr double kUserTrust = 1000;          // a log that the user names wins over everything
constexpr double kOwnTrust = 1;              // the system's own curves
constexpr double kSiblingTrust = 0.3;        // those of a system with the same node
constexpr double kNetworkTrust = 0.1;        // those of a system with other GPUs behind the same NICs
constexpr double kOtherLaunchTrust = 0.3;    // another launch mode moves latencies only
constexpr double kForcedTrust = 0.1;         // other NCCL settings: another algorithm or protocol
constexpr double kOtherShapeTrust = 0.02;    // another group; also halved for each factor of two in ranks
constexpr double kOtherPerNodeTrust = 0.1;   // and with another number of GPUs per node
constexpr double kOtherKindTrust = 0.001;    // another collective: only where no curve of this one is near
constexpr double kOtherTrafficTrust = 0.02;  // concurrent groups on the same nodes, or none
// A curve that was not timed by nccl-tests, for another group or kind: what is left of a time after its dispatch holds
// more than the links (each call starts on idle GPUs), which other groups do not share. Such a curve yields to the
// analytic model, whose trust is 0.00001 (blend.cpp).
constexpr double kOtherTimingTrust = 0.0001;

// Relative uncertainty that each difference adds to a carried curve, found by predicting the published sweeps of one
// system from each other (tests/collectives/sweep_validation_test.cpp: median error 6.9 % to more nodes, 6.1 % to other
// collectives).
constexpr double kShapeSpread = 0.08, kSpreadPerOctave = 0.04;  // another group, and per factor of two in ranks
constexpr double kRatesSpread = 0.10, kKindSpread = 0.12, kLaunchSpread = 0.05, kTrafficSpread = 0.10;

// Most curves that are blended, and most of them of other groups or kinds; chosen: more change little but the time it takes.
constexpr std::size_t kMostCurves = 8, kMostCarried = 3;

/// Part of a residual that is carried to other ranks or another collective. Found by predicting the published sweeps of
/// a system from each other. Of a residual carried to grouped send/recv, which switches no protocols, it is 0.
constexpr double kCarriedShare = 0.8;

// Rates and latencies within these are those of the same hardware: what rounding in data sheets leaves; chosen.
constexpr double kSameRate = 0.02, kSameLatency = 0.5;

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max({std::abs(a), std::abs(b), 1e-12});
}

bool same_shape(const topology::GroupFacts& a, const topology::GroupFacts& b) {
  return a.ranks == b.ranks && a.nodes == b.nodes && a.min_per_node == b.min_per_node &&
         a.max_per_node == b.max_per_node;
}

/// Whether the curve was measured as it is asked for: with or without concurrent groups on the same nodes. A log that
/// does not state it counts for both.
bool same_traffic(const LibraryCurve& c, const topology::GroupFacts& asked) {
  return c.curve.groups_at_once == 0 || c.facts.beside_others == asked.beside_others;
}

/// Uplinks count as far as the model's algorithms load them: a fabric that is too narrow for all_to_all may leave rings
/// as they were.
bool same_network(const topology::GroupFacts& a, const topology::GroupFacts& b, const AnalyticModel& model) {
  return std::all_of(model.candidates().begin(), model.candidates().end(), [&](const Candidate& c) {
    const topology::Traffic traffic = c.algorithm->traffic;
    return near(a.network_rate(traffic).value(), b.network_rate(traffic).value(), kSameRate);
  });
}

bool same_rates(const topology::GroupFacts& a, const topology::GroupFacts& b, const AnalyticModel& model) {
  return near(a.intra_bandwidth.value(), b.intra_bandwidth.value(), kSameRate) &&
         (a.nodes == 1 || same_network(a, b, model)) &&
         near(a.inter_latency.us(), b.inter_latency.us(), kSameLatency) && a.sharp == b.sharp &&
         a.multicast == b.multicast;
}

/// The slower of the links that a large collective takes. Rings and trees are alike in that, however they load each of them;
/// of others it is what limits them.
std::string_view slower_link_of(const AnalyticModel& model, const topology::GroupFacts& facts,
                                const ModelConstants& constants) {
  constexpr double kLarge = 1 << 30;  // bytes: bandwidth decides
  const Candidate& chosen = *model.choice(kLarge).candidate;
  if (!chosen.algorithm->by_slower_link) return chosen.limit;
  const Channels c = channels_of(facts, constants);
  const topology::Traffic traffic = chosen.algorithm->traffic;
  return slower_link(c, traffic, c.intra_gbps, nics_gbps(c, traffic));
}

/// A curve inside a node says nothing about the network, and the other way round, unless the same link limits both.
bool comparable(const topology::GroupFacts& a, const AnalyticModel& model_a, const topology::GroupFacts& b,
                const AnalyticModel& model_b, const ModelConstants& constants) {
  if ((a.max_per_node == 1) != (b.max_per_node == 1)) return false;
  return (a.nodes == 1) == (b.nodes == 1) ||
         slower_link_of(model_a, a, constants) == slower_link_of(model_b, b, constants);
}

bool is_exchange(graph::CollectiveKind kind) {
  return kind == graph::CollectiveKind::all_to_all || kind == graph::CollectiveKind::all_to_all_v;
}

/// One rank starts or ends with all the data, and calls of a loop overlap: such a sweep looks unlike others.
bool is_rooted(graph::CollectiveKind kind) {
  return kind == graph::CollectiveKind::broadcast || kind == graph::CollectiveKind::reduce;
}

/// Curves of collectives apply to each other, and to exchanges what they show of the links; those of exchanges apply to
/// no other kind.
bool applies_to(graph::CollectiveKind measured, graph::CollectiveKind asked) {
  return measured == asked || (is_nccl_collective(measured) && (is_nccl_collective(asked) || is_exchange(asked)));
}

LaunchMode mode_of(const Curve& c) {
  return {c.single_process, c.cuda_graph, selection_for(c.kind, selection_of_settings(c.settings))};
}

/// Settings that the model does not know, such as NCCL_P2P_DISABLE.
bool has_unknown_settings(const LibraryCurve& c) {
  return has_other_settings(c.curve.settings, c.facts.nodes > 1 && c.facts.transport != topology::Transport::tcp);
}

/// Between the ranks measured and those in question, in factors of two.
double octaves_between(const LibraryCurve& c, const topology::GroupFacts& facts) {
  return std::abs(std::log2(static_cast<double>(c.facts.ranks) / facts.ranks));
}

double trust_of(Origin origin) {
  switch (origin) {
    case Origin::user:
      return kUserTrust;
    case Origin::own_system:
      return kOwnTrust;
    case Origin::sibling_system:
      return kSiblingTrust;
    case Origin::same_network:
      return kNetworkTrust;
  }
  return 0;
}

/// Whether the user named a curve of this kind without such settings.
bool has_plain_of_user(const std::vector<LibraryCurve>& library, graph::CollectiveKind kind) {
  return std::any_of(library.begin(), library.end(), [&](const LibraryCurve& c) {
    return c.origin == Origin::user && c.curve.kind == kind && !has_unknown_settings(c);
  });
}

/// `plain`: has_plain_of_user; settings are held against a curve that the user chose only where he named a better one.
/// `nearest`: octaves to the nearest group that was measured with this kind. Of this kind only the difference to it
/// counts: what is carried far keeps its weight against the analytic model, so that a correction does not fade as a
/// group grows, which would make larger groups cheaper. What distance costs is in the spread.
double trust_of(const LibraryCurve& c, graph::CollectiveKind kind, const topology::GroupFacts& facts,
                const LaunchMode& mode, double nearest, bool plain) {
  double trust = trust_of(c.origin);
  const LaunchMode measured = mode_of(c.curve);
  if (!measured.same_launch(mode)) trust *= kOtherLaunchTrust;
  const bool unlike = has_unknown_settings(c) && (c.origin != Origin::user || plain);
  if (measured.selection != selection_for(c.curve.kind, mode.selection) || unlike) trust *= kForcedTrust;
  if (c.curve.kind != kind)
    trust *= kOtherKindTrust * (is_rooted(c.curve.kind) == is_rooted(kind) ? 1 : kOtherShapeTrust);
  if (!same_traffic(c, facts)) trust *= kOtherTrafficTrust;
  if (c.curve.timed_by != TimedBy::nccl_tests && (c.curve.kind != kind || !same_shape(c.facts, facts)))
    trust *= kOtherTimingTrust;
  if (same_shape(c.facts, facts)) return trust;
  if (c.facts.max_per_node != facts.max_per_node) trust *= kOtherPerNodeTrust;
  return trust * kOtherShapeTrust * std::exp2((c.curve.kind == kind ? nearest : 0) - octaves_between(c, facts));
}

/// Relative uncertainty of carrying a curve to the group in question.
double carry_spread(const LibraryCurve& c, graph::CollectiveKind kind, const topology::GroupFacts& facts,
                    const AnalyticModel& model, const LaunchMode& mode) {
  double spread = 0;
  if (!same_shape(c.facts, facts)) spread += kShapeSpread + kSpreadPerOctave * octaves_between(c, facts);
  if (!same_rates(c.facts, facts, model)) spread += kRatesSpread;
  if (c.curve.kind != kind) spread += kKindSpread;
  if (!mode_of(c.curve).same_launch(mode)) spread += kLaunchSpread;
  if (!same_traffic(c, facts)) spread += kTrafficSpread;
  return spread;
}

Carry carry_of(const LibraryCurve& c, graph::CollectiveKind kind, const topology::GroupFacts& facts,
               const AnalyticModel& model, const LaunchMode& mode) {
  if (c.curve.kind != kind || !same_shape(c.facts, facts)) return Carry::regime;
  const LaunchMode measured = mode_of(c.curve);
  const bool same_selection = measured.selection == selection_for(kind, mode.selection);
  return same_rates(c.facts, facts, model) && same_traffic(c, facts) && same_selection && measured.same_launch(mode)
             ? Carry::none
             : Carry::same_size;
}

/// The system's own curve of this very group makes those of other kinds superfluous.
bool has_own(const std::vector<LibraryCurve>& library, graph::CollectiveKind kind, const topology::GroupFacts& facts) {
  return std::any_of(library.begin(), library.end(), [&](const LibraryCurve& c) {
    return c.curve.kind == kind && is_own(c.origin) && same_shape(c.facts, facts);
  });
}

struct Applicable {
  const LibraryCurve* curve;
  double trust;
};

/// The most trusted first.
std::vector<Applicable> applicable_curves(graph::CollectiveKind kind, const topology::GroupFacts& facts,
                                          const LaunchMode& mode, const std::vector<LibraryCurve>& library) {
  const bool own = has_own(library, kind, facts);
  const auto applies = [&](const LibraryCurve& c) {
    return c.curve.kind == kind || (!own && applies_to(c.curve.kind, kind));
  };
  double nearest = std::numeric_limits<double>::infinity();
  for (const LibraryCurve& c : library) {
    if (c.curve.kind == kind) nearest = std::min(nearest, octaves_between(c, facts));
  }
  const bool plain = has_plain_of_user(library, kind);
  std::vector<Applicable> out;
  for (const LibraryCurve& c : library) {
    if (applies(c)) out.push_back({&c, trust_of(c, kind, facts, mode, nearest, plain)});
  }
  std::stable_sort(out.begin(), out.end(), [](const Applicable& a, const Applicable& b) { return a.trust > b.trust; });
  return out;
}

}  // namespace

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

Calibration calibration_of(const Curve& curve, const topology::GroupFacts& facts, const ModelConstants& constants) {
  const AnalyticModel model(curve.kind, facts, mode_of(curve), constants);
  const FreeFactors free = curve.timed_by == TimedBy::nccl_tests ? FreeFactors::both : FreeFactors::bandwidth;
  return calibrate(model.candidates(), model.launch_us(), curve.points, free);
}

Curve curve_without_launch(const Curve& curve, const topology::GroupFacts& facts, const ModelConstants& constants) {
  const AnalyticModel model(curve.kind, facts, mode_of(curve), constants);
  return without_launch_floor(curve, launch_floor_of(curve, model));
}

LaunchMode mode_of_evidence(graph::CollectiveKind kind, const topology::GroupFacts& facts, LaunchMode mode,
                            const std::vector<LibraryCurve>& library) {
  const Selection asked = selection_for(kind, mode.selection);
  const bool measured = std::any_of(library.begin(), library.end(), [&](const LibraryCurve& c) {
    return c.curve.kind == kind && same_shape(c.facts, facts) && mode_of(c.curve).selection == asked;
  });
  if (!measured) mode.selection.algorithms = mode.selection.protocols = 0;
  return mode;
}

std::vector<Evidence> evidence_for(graph::CollectiveKind kind, const topology::GroupFacts& facts,
                                   const AnalyticModel& model, const LaunchMode& mode,
                                   const std::vector<LibraryCurve>& library, const ModelConstants& constants) {
  std::vector<Evidence> out;
  if (model.candidates().front().algorithm->reduction) return out;  // curves are NCCL's
  std::size_t carried_curves = 0;
  for (const Applicable& s : applicable_curves(kind, facts, mode, library)) {
    if (out.size() == kMostCurves) break;
    const LibraryCurve& c = *s.curve;
    const Carry carry = carry_of(c, kind, facts, model, mode);
    if (carry == Carry::regime && carried_curves == kMostCarried) continue;
    AnalyticModel source(c.curve.kind, c.facts, mode_of(c.curve), constants);
    if (!comparable(c.facts, source, facts, model, constants)) continue;
    const Calibration factors = c.calibration.points > 0 ? c.calibration : calibration_of(c.curve, c.facts, constants);
    const bool same_group = c.curve.kind == kind && same_shape(c.facts, facts);
    const Calibration& used = same_group ? factors : carried(factors);
    Evidence e{&c.curve, source.with(used), model.with(used), factors, carry};
    carried_curves += carry == Carry::regime ? 1 : 0;
    if (e.carry == Carry::none) e.target = e.source;
    if (e.carry == Carry::regime) e.share = is_exchange(kind) && c.curve.kind != kind ? 0 : kCarriedShare;
    e.trust = s.trust;
    e.carry_spread = carry_spread(c, kind, facts, model, mode);
    e.own = is_own(c.origin);
    e.of_user = c.origin == Origin::user;
    e.source_name = c.source;
    out.push_back(std::move(e));
  }
  return out;
}

}  // namespace distsim::collectives
