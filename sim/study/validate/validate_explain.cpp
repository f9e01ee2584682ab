// What one validated prediction is made of, and which uncertain term could account for its error.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/counted.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/validate/validate.hpp"

namespace distsim::study {
namespace {

struct Explained {
  const Case& source;
  const config::Experiment& experiment;
  const report::Report& report;
  double measured_ms() const { return *source.measured_ms; }
  double difference_ms() const { return measured_ms() - report.iteration.ms(); }
};

/// What a term of `time` would have to be multiplied by for the prediction to meet the measurement, and whether its own
/// range holds that.
std::string remedy(double time_ms, double below_ms, double above_ms, double difference_ms) {
  if (time_ms <= 0) return "";
  const double factor = 1 + difference_ms / time_ms;
  if (factor <= 0) return "none: it would have to be negative";
  const bool inside = difference_ms >= 0 ? difference_ms <= above_ms : -difference_ms <= below_ms;
  return fmt::format("x{:.2f}, {}", factor, inside ? "within its range" : "outside its range");
}

std::string row(const std::string& name, const std::string& basis, double time, double below, double above,
                const Explained& e) {
  return fmt::format("  {:<26} {:<12} {:>11.3f} {:>6.1f} %  {:>11.3f} .. {:<11.3f} {}\n", name, basis, time,
                     100 * time / e.report.iteration.ms(), std::max(0.0, time - below), time + above,
                     remedy(time, below, above, e.difference_ms()));
}

std::string headline(const Explained& e) {
  const report::Report& r = e.report;
  const config::Experiment& x = e.experiment;
  const bool inside = r.low.ms() <= e.measured_ms() && e.measured_ms() <= r.high.ms();
  const std::string refused = why_implausible(e.source, r.iteration.ms(), r.mfu);
  return fmt::format(
      "{}\n{} with {} on {}: {}, {}, {}, global batch {}, accumulation {}\n"
      "measured {:.3f} ms, predicted {:.3f} ms ({:+.1f} %), range {:.3f} .. {:.3f} ms: {}\n{}\n",
      printable(e.source.id), x.model.name, x.framework.name, x.cluster.name, counted(x.cluster.nodes, "node"),
      counted(x.cluster.nodes * x.cluster.gpus_per_node, "GPU"), text_at(x.merged, "model.precision"),
      r.context.samples, x.model.accumulation, e.measured_ms(), r.iteration.ms(),
      100 * (r.iteration.ms() / e.measured_ms() - 1), r.low.ms(), r.high.ms(),
      inside ? "measurement within range" : "measurement out of range",
      refused.empty() ? "" : "refused  " + printable(refused, 400) + "; it counts in no table\n");
}

std::string parts(const Explained& e) {
  const report::Report& r = e.report;
  return fmt::format(
      "parts    compute {:.3f}, exposed communication {:.3f}, waiting {:.3f}, host {:.3f}, idle {:.3f} ms; {:.3f} ms of communication hidden\n\n",
      r.compute.ms(), r.exposed_comm.ms(), r.waiting.ms(), r.host_bound.ms(), r.idle.ms(), r.hidden_comm.ms());
}

std::string terms(const Explained& e) {
  std::string out = fmt::format("  {:<26} {:<12} {:>11} {:>8}  {:>26} {}\n", "term of the critical cycle", "basis",
                                "ms", "share", "range, ms", "       factor that would explain the error");
  for (const report::UncertainTerm& t : e.report.terms) {
    out += row(t.kind, std::string(graph::name_of(t.basis)), t.time.ms(), t.below.ms(), t.above.ms(), e);
  }
  const double own = e.report.context.uncertainty * e.report.iteration.ms();
  return out + row("profile of " + e.experiment.framework.name, "fitted", e.report.iteration.ms(), own, own, e);
}

std::string assumptions(const report::Report& r) {
  std::string out = "\n";
  for (const graph::Assumption& a : r.context.assumptions) out += "assumes  " + printable(a.text, 400) + "\n";
  return out;
}

Result<const Case*> find_case(const CaseFile& file, const std::string& id) {
  std::vector<std::string> ids;
  for (const Case& c : file.cases) {
    if (c.id == id) return &c;
    ids.push_back(c.id);
  }
  return Error{"--explain: found '" + printable(id) + "', expected the case_id of a row", "", spelling_hint(id, ids)};
}

}  // namespace

Result<std::string> explain_case(const CaseFile& file, const std::string& case_id) {
  TRY_ASSIGN(const Case* const c, find_case(file, case_id));
  if (!c->failure.empty()) return Error{c->failure, "", ""};
  if (!c->measured_ms) return Error{"measured_ms: found nothing, expected a time to explain", c->where, ""};
  TRY_ASSIGN(const config::Experiment experiment, experiment_of(file, *c));
  pipeline::Passes passes;
  TRY_ASSIGN(const pipeline::Prediction prediction, pipeline::predict(experiment, passes));
  const Explained e{*c, experiment, prediction.report};
  return headline(e) + parts(e) + terms(e) + assumptions(e.report);
}

}  // namespace distsim::study
