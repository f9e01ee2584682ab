#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/api/axes.hpp"
#include "sim/api/door.hpp"
#include "sim/config/config.hpp"
#include "sim/config/variants.hpp"
#include "sim/study/points/study_run.hpp"
#include "sim/study/sweep/columns.hpp"
#include "sim/study/sweep/sweep.hpp"

namespace distsim::api {
namespace {

constexpr unsigned kMostJobs = 256;

Result<study::SweepRequest> study_request(const SweepRequest& asked) {
  if (asked.jobs > kMostJobs) return Error{"jobs: found " + std::to_string(asked.jobs) + ", expected 0 .. 256", "", ""};
  study::SweepRequest out;
  const Experiment& e = asked.experiment;
  TRY(check_given(e));
  out.config = e.file;
  if (e.text) {
    TRY_ASSIGN(out.experiment, config::Variants::of_text(*e.text, e.file));
  } else {
    TRY_ASSIGN(out.experiment, config::Variants::of(e.file));
  }
  out.sets = e.sets;
  TRY_ASSIGN(const std::vector<double> counts, counts_of(asked.axes, "--vary"));
  TRY(study::count_points(counts));
  TRY_ASSIGN(out.axes, study_axes(asked.axes, "--vary", e.sets));
  out.scaling = asked.scaling == Scaling::weak     ? study::Scaling::weak
                : asked.scaling == Scaling::strong ? study::Scaling::strong
                                                   : study::Scaling::as_given;
  return out;
}

SweepPoint shown(const study::SweepPoint& p) {
  const study::SweepFigures& f = p.figures;
  SweepPoint out;
  out.values = p.values;
  out.error = p.error;
  out.nodes = f.nodes;
  out.gpus = f.gpus;
  out.global_batch = f.global_batch;
  out.iteration_ms = f.iteration_ms;
  out.low_ms = f.low_ms;
  out.high_ms = f.high_ms;
  out.samples_per_s = f.samples_per_s;
  out.tokens_per_s_per_gpu = f.tokens_per_s_per_gpu;
  out.compute_ms = f.compute_ms;
  out.exposed_comm_ms = f.exposed_comm_ms;
  out.waiting_ms = f.waiting_ms;
  out.host_bound_ms = f.host_bound_ms;
  out.idle_ms = f.idle_ms;
  out.mfu = f.mfu;
  out.memory_gb = f.memory_gb;
  out.speedup = p.speedup;
  out.efficiency = p.efficiency;
  if (f.fits != study::Fits::unknown) out.fits = f.fits == study::Fits::yes;
  out.limited_by = f.limited_by;
  return out;
}

}  // namespace

class Sweep::Parts {
 public:
  Result<void> fill(const SweepRequest& asked) {
    TRY_ASSIGN(const study::SweepRequest request, study_request(asked));
    TRY_ASSIGN(view_, study::sweep_view(request, "", ""));
    TRY_ASSIGN(study::PointList points, study::sweep_points(request, false));
    TRY_ASSIGN(run_, study::StudyRun::begin(std::move(points), {.jobs = asked.jobs}));
    TRY(run_->evaluate(study::sweep_order(request)));
    run_->dismiss();
    if (stop_asked()) return run_->interruption();
    for (const study::SweepAxis& axis : request.axes) keys_.push_back(axis.key);
    result_.emplace(request, run_->rows());
    if (result_->predicted() > 0) return {};
    return Error{
        "none of " + counted(result_->size(), "point") + " could be predicted; the first: " + result_->point(0).error,
        "", ""};
  }

  const std::vector<std::string>& keys() const { return keys_; }
  const study::SweepResult& result() const { return *result_; }
  const study::SweepView& view() const { return view_; }

  const std::vector<std::string>& without_effect(const Stop& stop) const {
    return idle_.lines(stop, [this] {
      std::vector<study::IdleArgument> found = study::sweep_without_effect(*result_, "--vary");
      if (result_->request().scaling == study::Scaling::as_given)
        std::erase_if(found, [](const study::IdleArgument& idle) { return idle.argument == "--scaling"; });
      return as_arguments(joined(replaced(), found));
    });
  }

  std::string title() const {
    const study::SweepRequest& request = result_->request();
    const auto first = request.experiment->with(request.sets);
    std::string keys;
    for (const std::string& name : study::short_names(request.axes)) keys += (keys.empty() ? "" : ", ") + name;
    return (first.ok() ? first->title : request.config) + (keys.empty() ? "" : ": " + keys);
  }

 private:
  /// Settings of all points, also those that a swept key replaces.
  std::vector<study::IdleArgument> replaced() const {
    const study::SweepRequest& request = result_->request();
    std::vector<study::IdleArgument> out = study::replaced_arguments(study::sets_at(request, 0));
    std::erase_if(out, [&](const study::IdleArgument& idle) {
      return std::ranges::none_of(request.sets,
                                  [&](const std::string& set) { return idle.argument == "--set " + set; });
    });
    return out;
  }

  study::SweepView view_;
  std::vector<std::string> keys_;
  std::unique_ptr<study::StudyRun> run_;
  std::optional<study::SweepResult> result_;  ///< of the rows of run_
  LinesOnce idle_;
};

Sweep::Sweep(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Sweep::Sweep(const Sweep&) = default;
Sweep& Sweep::operator=(const Sweep&) = default;
Sweep::~Sweep() = default;

const std::vector<std::string>& Sweep::keys() const { return parts_->keys(); }
std::size_t Sweep::size() const { return parts_->result().size(); }

SweepPoint Sweep::point(std::size_t index) const {
  if (index >= size()) throw std::out_of_range("point " + std::to_string(index) + " of " + std::to_string(size()));
  return shown(parts_->result().point(index));
}

const std::vector<std::string>& Sweep::without_effect(const Stop& stop) const { return parts_->without_effect(stop); }

std::string Sweep::csv() const {
  std::ostringstream out;
  study::write_sweep_csv(out, parts_->view(), parts_->result());
  return std::move(out).str();
}

std::string Sweep::html() const { return study::sweep_html(parts_->result(), parts_->title()); }
std::string Sweep::text() const { return console_text(study::sweep_table(parts_->view(), parts_->result())); }

Sweep sweep(const SweepRequest& request) {
  const Call call(request.stop);
  const auto parts = std::make_shared<Sweep::Parts>();
  value_of(parts->fill(request));
  return Sweep(parts);
}

}  // namespace distsim::api
