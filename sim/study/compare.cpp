#include "sim/study/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/graph/op.hpp"
#include "sim/study/dominance.hpp"
#include "sim/study/ratio_range.hpp"

namespace distsim::study {
namespace {

using report::Report;

/// Value of every leaf below `node` by its dotted path; short lists in one piece.
void collect_leaves(const ConfigNode& node, const std::string& path, std::map<std::string, std::string>& out) {
  if (node.kind == ConfigNode::Kind::map) {
    for (const ConfigNode::Entry& e : node.entries)
      collect_leaves(e.value, path.empty() ? e.key : path + "." + e.key, out);
  } else if (node.kind == ConfigNode::Kind::sequence) {
    for (std::size_t i = 0; i < node.items.size(); ++i)
      collect_leaves(node.items[i], path + "." + std::to_string(i), out);
  } else if (node.kind == ConfigNode::Kind::scalar) {
    out[path] = node.scalar;
  }
}

/// Texts that say nothing about the prediction.
bool is_remark(const std::string& key) {
  return key == "title" || key.ends_with(".source") || key.ends_with(".description") ||
         key.find(".aliases.") != key.npos;
}

std::vector<InputDifference> differing_inputs(const std::vector<const ComparedSide*>& sides) {
  std::map<std::string, std::vector<std::string>> values;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    std::map<std::string, std::string> leaves;
    collect_leaves(sides[i]->experiment.merged, "", leaves);
    for (auto& [key, value] : leaves) {
      auto& row = values.try_emplace(key, sides.size(), "-").first->second;
      row[i] = std::move(value);
    }
  }
  std::vector<InputDifference> out;
  for (auto& [key, row] : values) {
    const std::string& first = row.front();
    const bool same = std::ranges::all_of(row, [&](const std::string& v) { return v == first; });
    if (!same && !is_remark(key)) out.push_back({key, std::move(row)});
  }
  return out;
}

/// Factor from the times of `r` to those for the samples of `first`.
double scale_of(const Report& first, const Report& r) {
  return r.context.samples > 0 ? first.context.samples / r.context.samples : 1;
}

std::vector<DifferencePart> parts_of(const Report& first, const Report& r) {
  const double scale = scale_of(first, r);
  const auto part = [&](std::string_view name, Duration Report::*member) {
    return DifferencePart{name, (first.*member).ms(), (r.*member).ms() * scale};
  };
  return {part("compute", &Report::compute), part("exposed communication", &Report::exposed_comm),
          part("waiting", &Report::waiting), part("host-bound", &Report::host_bound), part("idle", &Report::idle)};
}

/// What two predictions have in common, and with it the errors of its costs.
struct Shared {
  bool device, network, host;
  bool of(const std::string& kind) const {
    if (kind == "host") return host;
    return graph::parse_collective(kind).ok() ? network : device;
  }
};

Shared shared_between(const config::Experiment& a, const config::Experiment& b) {
  return {a.device.name == b.device.name, a.cluster.name == b.cluster.name,
          a.framework.name == b.framework.name && a.cluster.name == b.cluster.name};
}

/// A side with better hardware is not slower, whatever the errors of the costs.
Ratio within_laws(Ratio ratio, const ComparedSide& a, const ComparedSide& b) {
  std::vector<std::string> differing;
  for (InputDifference& input : differing_inputs({&a, &b})) differing.push_back(std::move(input.key));
  const Better better = better_hardware(a.experiment, b.experiment, differing);
  if (better == Better::second) ratio.high = std::max(ratio.value, std::min(ratio.high, 1.0));
  if (better == Better::first) ratio.low = std::min(ratio.value, std::max(ratio.low, 1.0));
  return ratio;
}

Ratio ratio_of(const ComparedSide& a, const ComparedSide& b, double scaled_ms) {
  const double value = scaled_ms / a.prediction.report.iteration.ms();
  const Shared shared = shared_between(a.experiment, b.experiment);
  const double of_a = a.prediction.report.context.uncertainty, of_b = b.prediction.report.context.uncertainty;
  const bool same_framework = a.experiment.framework.name == b.experiment.framework.name;
  const double own = same_framework ? std::abs(of_b - of_a) : std::hypot(of_a, of_b);
  const RatioWidths widths = ratio_widths(class_effects(a.prediction.played()), class_effects(b.prediction.played()),
                                          own, [&](const ErrorClass& of) { return shared.of(of.first); });
  return within_laws({value, value * std::exp(-widths.down), value * std::exp(widths.up)}, a, b);
}

Result<ComparedSide> predicted(const Side& side, pipeline::CostModelCache& cache) {
  auto experiment =
      side.experiment ? side.experiment->with(side.sets) : config::load_experiment(side.config, side.sets);
  if (!experiment) return of_side(side.name, experiment.error());
  pipeline::Passes passes;
  auto prediction = pipeline::predict(*experiment, passes, cache);
  if (!prediction) return of_side(side.name, prediction.error());
  return ComparedSide{side.name, std::move(*experiment), std::move(*prediction)};
}

}  // namespace

Error of_side(const std::string& name, Error error) {
  const bool named = error.where.starts_with(name) || error.what.starts_with(name);
  if (!named) error.what = name + ": " + error.what;
  return error;
}

Result<Comparison> compare(const std::vector<Side>& sides) {
  Comparison out;
  pipeline::CostModelCache cache;
  for (const Side& side : sides) {
    TRY_ASSIGN(ComparedSide done, predicted(side, cache));
    out.sides.push_back(std::move(done));
  }
  const ComparedSide& first = out.sides.front();
  std::vector<const ComparedSide*> all;
  for (const ComparedSide& side : out.sides) all.push_back(&side);
  out.inputs = differing_inputs(all);
  for (const ComparedSide& side : out.sides) {
    const Report& r = side.prediction.report;
    const bool is_first = &side == &first;
    out.per_sample = out.per_sample || r.context.samples != first.prediction.report.context.samples;
    out.scaled_ms.push_back(r.iteration.ms() * scale_of(first.prediction.report, r));
    out.parts.push_back(parts_of(first.prediction.report, r));
    out.ratios.push_back(is_first ? Ratio{} : ratio_of(first, side, out.scaled_ms.back()));
  }
  return out;
}

}  // namespace distsim::study
