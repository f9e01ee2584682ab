#include "collectives/pricer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "collectives/curves/link_limits.hpp"
#include "collectives/curves/spread.hpp"
#include "collectives/evidence.hpp"

namespace distsim::collectives {

namespace {

/// What other links than those measured add to the relative uncertainty; as evidence.cpp has it for other rates.
constexpr double kOtherLinksSpread = 0.10;
constexpr double kSameTime = 1.01;  // closer than that, a price is not said to be that of fewer nodes

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

std::string launch_text(double floor_us) {
  char text[64];
  std::snprintf(text, sizeof text, ", timed through PyTorch: %.0f us of launch subtracted", floor_us);
  return text;
}

std::string note_of(const Evidence& e, graph::CollectiveKind kind) {
  const Curve& c = *e.curve;
  const bool same_group = e.carry == Carry::none;
  const Calibration used = same_group ? e.factors : carried(e.factors);
  char factors[96];
  const bool counts_little = e.trust < 0.01;
  std::snprintf(factors, sizeof factors, ", latency x%.2f, transfer time x%.2f, weight %s%.2f", used.latency,
                used.bandwidth, counts_little ? "below " : "", counts_little ? 0.01 : e.trust);
  std::string line = printable(e.source_name) + ": ";
  if (c.kind != kind) line += std::string(graph::name_of(c.kind)) + ", ";
  line += counted(c.points.size(), "size") + ", " + counted(c.ranks, "rank");
  line += c.nodes == 0 ? ", nodes not stated" : " on " + counted(c.nodes, "node");
  line += c.single_process ? ", one process per node" : ", one process per GPU";
  if (c.cuda_graph) line += ", CUDA graph";
  if (c.timed_by == TimedBy::pytorch) line += launch_text(c.launch_floor_us);
  line += ", " + std::string(text_of(e.carry)) + factors;
  if (c.flagged > 0) line += ", " + counted(c.flagged, "row") + " left out";
  return line;
}

/// Within a node or an NVLink domain: the largest smaller group that a curve was measured on, which is nearest to the one in
/// question.
std::vector<topology::GroupFacts> fewer_ranks(const topology::GroupFacts& facts,
                                              const std::vector<LibraryCurve>& library) {
  topology::GroupFacts fewer = facts;
  fewer.ranks = 0;
  for (const LibraryCurve& c : library) {
    if (c.facts.nodes == 1 && c.facts.ranks < facts.ranks) fewer.ranks = std::max(fewer.ranks, c.facts.ranks);
  }
  if (fewer.ranks == 0) return {};
  fewer.min_per_node = fewer.max_per_node = fewer.ranks;
  return {fewer};
}

/// Groups of 2, 3, 4, 6, ... nodes, and of as many as curves were measured on, with the links of the one in question.
std::vector<topology::GroupFacts> fewer_nodes(const topology::GroupFacts& facts,
                                              const std::vector<LibraryCurve>& library) {
  if (facts.nodes == 1) return fewer_ranks(facts, library);
  if (facts.min_per_node != facts.max_per_node) return {};
  std::set<std::uint32_t> nodes;
  Duration nearest = facts.inter_latency;
  for (std::uint32_t n = 2; n < facts.nodes; n *= 2) nodes.insert({n, n + n / 2});
  for (const LibraryCurve& c : library) {
    nodes.insert(c.facts.nodes);
    if (c.facts.nodes > 1) nearest = std::min(nearest, c.facts.inter_latency);
  }
  std::vector<topology::GroupFacts> out;
  for (const std::uint32_t n : nodes) {
    if (n < 2 || n >= facts.nodes) continue;
    topology::GroupFacts fewer = facts;
    fewer.nodes = n;
    fewer.ranks = n * facts.max_per_node;
    out.push_back(fewer);
    if (nearest == facts.inter_latency) continue;
    fewer.inter_latency = nearest;  // fewer nodes may be fewer switches apart
    out.push_back(fewer);
  }
  return out;
}

/// A group of fewer nodes, as it was measured, on the links of `now`, which were those of `measured`.
topology::GroupFacts fewer_now(const topology::GroupFacts& fewer, const topology::GroupFacts& measured,
                               const topology::GroupFacts& now) {
  topology::GroupFacts out = now;
  out.nodes = fewer.nodes;
  out.ranks = fewer.ranks;
  if (fewer.nodes == 1) out.min_per_node = out.max_per_node = fewer.ranks;
  if (measured.inter_latency > Duration())
    out.inter_latency = Duration::picoseconds(std::llround(static_cast<double>(now.inter_latency.ps()) *
                                                           (fewer.inter_latency.us() / measured.inter_latency.us())));
  return out;
}

}  // namespace

MeasuredPrice::MeasuredPrice(graph::CollectiveKind kind, const topology::GroupFacts& group, LaunchMode asked,
                             const std::vector<LibraryCurve>& library, const ModelConstants& constants)
    : facts(group), mode(mode_of_evidence(kind, group, asked, library)), model(kind, group, mode, constants) {
  const std::vector<Evidence> evidence = evidence_for(kind, facts, model, mode, library, constants);
  for (const Evidence& e : evidence) notes.push_back(note_of(e, kind));
  if (evidence.empty()) return;
  blend.emplace(evidence, model, facts.nodes == 1);
  factors = carried(evidence.front().factors);
  if (blend->same_group()) return;
  if (mode.single_process) {
    LaunchMode each = mode;
    each.single_process = false;
    of_processes = std::make_shared<const MeasuredPrice>(kind, facts, each, library, constants);
  }
  if (!is_nccl_collective(kind)) return;  // exchanges: of a rank's bytes, a larger part may stay where links are fast
  for (const topology::GroupFacts& fewer : fewer_nodes(facts, library)) {
    const AnalyticModel of_fewer(kind, fewer, mode, constants);
    const std::vector<Evidence> known = evidence_for(kind, fewer, of_fewer, mode, library, constants);
    if (!known.empty())
      smaller.push_back({fewer, of_fewer, carried(known.front().factors), Blend(known, of_fewer, false)});
  }
}

Pricer::Pricer(graph::CollectiveKind kind, const topology::GroupFacts& facts, LaunchMode mode,
               const std::vector<LibraryCurve>& library, const ModelConstants& constants)
    : Pricer(kind, facts, mode, constants, std::make_shared<const MeasuredPrice>(kind, facts, mode, library, constants),
             true) {}

Pricer::Pricer(graph::CollectiveKind kind, const topology::GroupFacts& facts, LaunchMode mode,
               const ModelConstants& constants, std::shared_ptr<const MeasuredPrice> measured,
               bool constants_as_measured)
    : one_node_(facts.nodes == 1),
      same_links_(constants_as_measured && facts == measured->facts),
      least_us_of_byte_(0),
      model_(kind, facts, mode, constants),
      measured_(std::move(measured)) {
  if (!measured_->blend) return;
  if (const double most = highest_busbw(kind, facts); most > 0 && !measured_->blend->same_group())
    least_us_of_byte_ = graph::busbw_factor(kind, facts.ranks) / most * 1e6;
  if (measured_->of_processes) {
    LaunchMode each = mode;
    each.single_process = false;
    of_processes_ =
        std::make_shared<const Pricer>(kind, facts, each, constants, measured_->of_processes, constants_as_measured);
  }
  // Links that the group does not use may be others: of a group inside a node, those between nodes.
  if (!(same_links_ && mode == measured_->mode)) {
    const auto unless_same = [&](const AnalyticModel& now, const AnalyticModel& before, const Calibration& factors) {
      const bool same = constants_as_measured && now.prices_as(before);
      return same ? std::nullopt : std::optional(WhatIf{now.with(factors), before.with(factors)});
    };
    what_if_ = unless_same(model_, measured_->model, measured_->factors);
    const bool is_even = facts.min_per_node == facts.max_per_node;
    for (const FewerNodes& fewer : measured_->smaller) {
      const AnalyticModel now(kind, fewer_now(fewer.facts, measured_->facts, facts), mode, constants);
      of_fewer_.push_back(is_even ? unless_same(now, fewer.model, fewer.factors) : what_if_);
    }
  }
  if (!what_if_ && std::ranges::none_of(of_fewer_, [](const auto& fewer) { return fewer.has_value(); })) return;
  for (double bytes = 1, most = 0; bytes <= kMaxCurveBytes; bytes *= 2)
    of_smaller_.push_back(most = std::max(most, measured_at(bytes).us));
}

double Pricer::now_over_measured(const std::optional<WhatIf>& what_if, double bytes) {
  return what_if ? what_if->now.time_us(bytes) / what_if->measured.time_us(bytes) : 1;
}

Result<graph::Cost> Pricer::price(double bytes) const {
  TRY_ASSIGN(graph::Cost cost, alone(bytes));
  if (!of_processes_) return cost;
  TRY_ASSIGN(graph::Cost of_processes, of_processes_->price(bytes));
  if (of_processes.mean <= cost.mean) return cost;
  of_processes.basis = std::max(of_processes.basis, graph::Basis::scaled);
  return of_processes;
}

Result<graph::Cost> Pricer::alone(double bytes) const {
  const Choice choice = model_.choice(bytes);
  if (!measured_->blend) {
    const RelativeSpread spread = analytic_spread(one_node_, bytes);
    return graph::make_cost(model_.with_launch(choice.us) * 1e-6, spread.low, spread.high, graph::Basis::analytic,
                            analytic_source(*choice.candidate));
  }
  const Measured measured = measured_at(bytes);
  const Blend::Value& v = measured.value;
  const double apart = measured.other ? kOtherLinksSpread : 0;
  const double us = std::max({measured.us, of_smaller(bytes), least_us_of_byte_ * bytes});
  return graph::make_cost(us * 1e-6, 1 - v.low_us / v.time_us * std::exp(-apart),
                          v.high_us / v.time_us * std::exp(apart) - 1, v.basis,
                          v.basis == graph::Basis::analytic ? analytic_source(*choice.candidate) : v.source);
}

double Pricer::of_smaller(double bytes) const {
  if (of_smaller_.empty() || bytes < 1) return 0;
  return of_smaller_[std::min(of_smaller_.size() - 1, static_cast<std::size_t>(std::log2(bytes)))];
}

Pricer::Measured Pricer::measured_at(double bytes) const {
  Measured out{measured_->blend->at(bytes), 0, false};
  Blend::Value& v = out.value;
  const double ratio = now_over_measured(what_if_, bytes);
  out.other = what_if_ && !(same_links_ && ratio == 1);  // NCCL may be refused what it would not take
  if (v.basis != graph::Basis::analytic && out.other) v.basis = graph::Basis::scaled;
  out.us = v.time_us * ratio;
  for (std::size_t i = 0; i < measured_->smaller.size(); ++i) {
    const Blend::Value floor = measured_->smaller[i].blend.at(bytes);
    const double us = floor.time_us * (of_fewer_.empty() ? 1 : now_over_measured(of_fewer_[i], bytes));
    if (us > out.us * kSameTime) {  // the price is that of fewer nodes, so what it rests on is theirs
      v.basis = floor.basis == graph::Basis::analytic ? floor.basis : graph::Basis::scaled;
      if (v.basis == graph::Basis::scaled) v.source = floor.source;
    }
    out.us = std::max(out.us, us);
  }
  return out;
}

}  // namespace distsim::collectives
