#include <algorithm>
#include <mutex>
#include <optional>

#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "sim/api/door.hpp"
#include "sim/api/idle_keys.hpp"
#include "sim/api/public/prediction.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/pipeline/contention/link_loads.hpp"
#include "sim/pipeline/folds.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/report/html/html.hpp"
#include "sim/study/idle/without_effect.hpp"
#include "sim/study/kept_inputs.hpp"
#include "sim/study/trials.hpp"

namespace distsim::api {
namespace {

constexpr std::uint32_t kMostTrials = 1'000'000;

study::KeptInputs& kept_inputs() {
  static study::KeptInputs kept;
  return kept;
}

Figures figures_of(const report::Report& r) {
  Figures f;
  f.iteration_ps = r.iteration.ps();
  f.iteration_ms = r.iteration.ms();
  f.low_ms = r.low.ms();
  f.high_ms = r.high.ms();
  f.samples_per_second = r.samples_per_second;
  f.achieved_tflops_per_gpu = r.achieved_flops_per_gpu * 1e-12;
  f.mfu = r.mfu;
  f.compute_ms = r.compute.ms();
  f.comm_ms = r.comm.ms();
  f.hidden_comm_ms = r.hidden_comm.ms();
  f.exposed_comm_ms = r.exposed_comm.ms();
  f.waiting_ms = r.waiting.ms();
  f.host_bound_ms = r.host_bound.ms();
  f.idle_ms = r.idle.ms();
  const auto& memory = r.context.memory_per_rank;
  if (!memory.empty()) f.memory_gb = static_cast<double>(*std::ranges::max_element(memory)) * 1e-9;
  f.ranks = r.rank_count;
  if (r.limits.limited_by) f.limited_by = report::text_of(*r.limits.limited_by);
  return f;
}

Result<ConfigNode> parsed_of(const Experiment& e) {
  return e.text ? config::parse_experiment_text(*e.text, e.file, e.sets) : config::parse_experiment(e.file, e.sets);
}

}  // namespace

class Prediction::Parts {
 public:
  Result<void> fill(const Experiment& asked, const PredictOptions& options) {
    TRY(check_given(asked));
    TRY_ASSIGN(parsed_, parsed_of(asked));
    sets_ = asked.sets;
    TRY(kept_inputs().read(config::folder_of_path(asked.file), [&](const study::KeptInputs::Inputs& inputs) {
      models_ = inputs.models;
      return play(*inputs.files);
    }));
    if (options.trials > kMostTrials)
      return Error{"trials: found " + std::to_string(options.trials) + ", expected 0 .. 1000000", "", ""};
    has_trials_ = options.trials > 0;
    if (has_trials_) {
      TRY_ASSIGN(prediction_.report.trials, study::run_trials(prediction_, {options.trials, options.seed}));
    }
    figures_ = figures_of(prediction_.report);
    return {};
  }

  const Figures& figures() const { return figures_; }

  const report::Report& report() const {
    std::call_once(named_, [this] {
      whole_ = prediction_.report;
      const std::string idle = idle_keys(parsed_, *experiment_, prediction_, has_trials_, *models_, 1);
      study::add_to_assumptions(idle, *whole_);
      study::add_to_assumptions(replaced_keys(sets_), *whole_);
    });
    return *whole_;
  }

  std::string html() const {
    const auto order =
        value_of(pipeline::played_pipeline(*experiment_, pipeline::kPlayedMicroSteps, prediction_.stretch));
    const std::string links =
        pipeline::link_loads_json(value_of(pipeline::link_loads(*experiment_, prediction_.report)));
    return report::to_html(report(), prediction_.played(), {.pipeline = order ? &*order : nullptr, .links = links});
  }

 private:
  Result<void> play(config::NamedFiles& files) {
    TRY_ASSIGN(experiment_, config::resolve(parsed_, files));
    pipeline::Passes passes;
    TRY_ASSIGN(prediction_, pipeline::predict(*experiment_, passes, *models_));
    return {};
  }

  ConfigNode parsed_;
  std::vector<std::string> sets_;
  std::optional<config::Experiment> experiment_;
  std::shared_ptr<pipeline::CostModelCache> models_;
  pipeline::Prediction prediction_;
  Figures figures_;
  bool has_trials_ = false;
  mutable std::once_flag named_;
  mutable std::optional<report::Report> whole_;  ///< with the keys that change nothing
};

Prediction::Prediction(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Prediction::Prediction(const Prediction&) = default;
Prediction& Prediction::operator=(const Prediction&) = default;
Prediction::~Prediction() = default;

const Figures& Prediction::figures() const { return parts_->figures(); }
std::string Prediction::json() const { return report::to_json(parts_->report()) + "\n"; }
std::string Prediction::csv() const {
  return csv_line(report::csv_columns()) + csv_line(report::csv_values(parts_->report()));
}
std::string Prediction::html() const { return parts_->html(); }
std::string Prediction::text() const { return console_text(report::to_text(parts_->report())); }

Prediction predict(const Experiment& experiment, const PredictOptions& options) {
  const Call call(options.stop);
  const auto parts = std::make_shared<Prediction::Parts>();
  value_of(parts->fill(experiment, options));
  return Prediction(parts);
}

}  // namespace distsim::api
