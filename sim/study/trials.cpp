#include "sim/study/trials.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "base/system/signals.hpp"
#include "base/threads/stop.hpp"
#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim::study {
namespace {

constexpr double kNinetieth = 1.2815515655446004;  // 90th percentile of a standard normal value
constexpr double kLeast = 0.05;                    // of a cost's mean

std::pair<std::string_view, graph::Basis> class_of(const graph::Op& op, const graph::Cost& cost) {
  const auto* collective = std::get_if<graph::Collective>(&op);
  return {collective ? graph::name_of(collective->kind) : graph::kind_of(op), cost.basis};
}

/// Factor that a draw puts on a cost.
double factor_of(const graph::Cost& cost, double z) {
  const double mean = cost.mean.seconds();
  if (mean <= 0) return 1;
  const double width = z > 0 ? cost.high.seconds() - mean : mean - cost.low.seconds();
  return std::max(kLeast, 1 + z / kNinetieth * width / mean);
}

class Trials {
 public:
  explicit Trials(const pipeline::Prediction& p) : p_(p), graph_(p.costed->graph), program_(p.lowered->program) {
    for (std::uint32_t i = 0; i < graph_.ops.size(); ++i) {
      const auto key = class_of(graph_.ops[OpId(i)], p.costed->costs[OpId(i)]);
      class_of_op_.push_back(classes_.try_emplace(key, classes_.size()).first->second);
    }
  }

  Result<Duration> run(std::uint64_t seed) {
    draw(seed);
    for (std::uint32_t s = 0; s < program_.steps.size(); ++s) set_duration(StepId(s));
    TRY_ASSIGN(const engine::Timeline timeline, engine::evaluate_rows(program_));
    return Duration::picoseconds(
        report::steady_state({p_.costed.get(), &program_, &p_.lowered->origins, &timeline, p_.lowered->iterations})
            .period());
  }

 private:
  void draw(std::uint64_t seed) {
    NormalDraws draws(seed);
    std::vector<double> of_class(classes_.size());
    for (double& z : of_class) z = draws.next();
    op_factor_.resize(class_of_op_.size());
    for (std::uint32_t i = 0; i < op_factor_.size(); ++i) {
      const OpId id(i);
      const bool kernel = graph::work_of(graph_.ops[id]) == graph::Work::kernel;
      op_factor_[i] = factor_of(p_.costed->costs[id], of_class[class_of_op_[i]]) / (kernel ? p_.slowest : 1);
    }
    rank_factor_.resize(program_.ranks);
    for (double& f : rank_factor_) f = std::max(0.5, 1 + p_.speed_variation * draws.next());
  }

  void set_duration(StepId s) {
    const report::StepOrigin& origin = p_.lowered->origins[s];
    if (origin.role != report::StepRole::device) return;
    const graph::Task& task = graph_.tasks[origin.task];
    const engine::Row& base = p_.lowered->program.steps[s].duration;
    const bool kernel = graph::work_of(graph_.ops[task.first_op]) == graph::Work::kernel && p_.speed_variation > 0;
    if (!kernel && task.variants == 1 && base.uniform()) {
      program_.steps[s].duration = engine::Row(scaled(base.scalar(), op_factor_[task.first_op.value()]));
      return;
    }
    std::vector<std::int64_t> values(program_.ranks);
    for (std::uint32_t r = 0; r < values.size(); ++r) {
      const double op = op_factor_[task.first_op.value() + graph_.variant_of(origin.task, r)];
      values[r] = scaled(base.at(r), op * (kernel ? rank_factor_[r] : 1));
    }
    program_.steps[s].duration = engine::Row(std::move(values));
  }

  static std::int64_t scaled(std::int64_t ps, double factor) { return std::llround(static_cast<double>(ps) * factor); }

  const pipeline::Prediction& p_;
  const graph::TaskGraph& graph_;
  engine::Program program_;
  std::map<std::pair<std::string_view, graph::Basis>, std::size_t> classes_;
  std::vector<std::size_t> class_of_op_;
  std::vector<double> op_factor_, rank_factor_;
};

}  // namespace

Result<report::TrialTimes> run_trials(const pipeline::Prediction& prediction, const TrialOptions& options,
                                      const std::function<void()>& on_trial) {
  CHECK(options.trials > 0);
  Trials trials(prediction);
  const double played = static_cast<double>(report::steady_state(prediction.played()).period());
  const double stretch = played > 0 ? static_cast<double>(prediction.report.iteration.ps()) / played : 1;
  std::vector<Duration> times;
  times.reserve(options.trials);
  for (std::uint64_t t = 0; t < options.trials; ++t) {
    TRY_ASSIGN(const Duration time, trials.run(options.seed * 0x9E3779B97F4A7C15ull + t * 0xD1B54A32D192ED03ull));
    times.push_back(stretch == 1 ? time
                                 : Duration::picoseconds(std::llround(static_cast<double>(time.ps()) * stretch)));
    on_trial();
    end_if_stopped();
    if (end_asked()) break;
  }
  std::sort(times.begin(), times.end());
  const auto percentile = [&](double q) {
    return times[static_cast<std::size_t>(std::ceil(q * static_cast<double>(times.size()))) - 1];
  };
  return report::TrialTimes{static_cast<std::uint32_t>(times.size()),
                            options.seed,
                            percentile(0.1),
                            percentile(0.5),
                            percentile(0.9),
                            percentile(0.99)};
}

}  // namespace distsim::study
