#include "sim/study/sweep/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/fnv.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::study {
namespace {

/// In the order of a row.
constexpr std::array kFigures{&SweepFigures::nodes,
                              &SweepFigures::gpus,
                              &SweepFigures::global_batch,
                              &SweepFigures::iteration_ms,
                              &SweepFigures::low_ms,
                              &SweepFigures::high_ms,
                              &SweepFigures::samples_per_s,
                              &SweepFigures::tokens_per_s_per_gpu,
                              &SweepFigures::compute_ms,
                              &SweepFigures::comm_ms,
                              &SweepFigures::exposed_comm_ms,
                              &SweepFigures::waiting_ms,
                              &SweepFigures::host_bound_ms,
                              &SweepFigures::idle_ms,
                              &SweepFigures::mfu,
                              &SweepFigures::memory_gb,
                              &SweepFigures::capacity_gb,
                              &SweepFigures::fingerprint};

double fingerprint_of(const report::Report& r) {
  Fnv64 sum;
  const report::ReportContext& c = r.context;
  for (const Duration d : {r.iteration, r.low, r.high}) sum.add_word(static_cast<std::uint64_t>(d.ps()));
  for (const Duration d : {r.compute, r.comm, r.hidden_comm, r.exposed_comm, r.waiting, r.host_bound, r.idle})
    sum.add_word(static_cast<std::uint64_t>(d.ps()));
  for (const double d : {r.mfu, c.samples}) sum.add_word(std::bit_cast<std::uint64_t>(d));
  for (const std::uint64_t n : {std::uint64_t(r.rank_count), std::uint64_t(c.nodes), std::uint64_t(c.gpus_per_node),
                                static_cast<std::uint64_t>(c.memory_capacity)})
    sum.add_word(n);
  for (const auto* bytes : {&c.memory_per_rank, &c.activations_per_rank}) {
    for (const std::int64_t b : *bytes) sum.add_word(static_cast<std::uint64_t>(b));
  }
  sum.add(c.table_places);
  return static_cast<double>(sum.value() >> 11);
}

double fullest_gb(const std::vector<std::int64_t>& bytes) {
  return bytes.empty() ? 0 : 1e-9 * static_cast<double>(*std::ranges::max_element(bytes));
}

SweepFigures shape_figures(const config::Experiment& e) {
  SweepFigures f;
  const workload::ClusterShape shape = pipeline::shape_of(e);
  f.nodes = static_cast<double>(e.cluster.nodes);
  f.gpus = static_cast<double>(shape.ranks());
  f.global_batch = static_cast<double>(workload::samples_of(e.model, shape.ranks()));
  f.capacity_gb = 1e-9 * static_cast<double>(shape.memory_per_gpu.value());
  return f;
}

}  // namespace

SweepFigures figures_of(const config::Experiment& e, const report::Report& r) {
  SweepFigures f = shape_figures(e);
  f.iteration_ms = r.iteration.ms();
  f.low_ms = r.low.ms();
  f.high_ms = r.high.ms();
  f.samples_per_s = r.samples_per_second;
  f.tokens_per_s_per_gpu = r.context.tokens_per_sample * r.samples_per_second / f.gpus;
  f.compute_ms = r.compute.ms();
  f.comm_ms = r.comm.ms();
  f.exposed_comm_ms = r.exposed_comm.ms();
  f.waiting_ms = r.waiting.ms();
  f.host_bound_ms = r.host_bound.ms();
  f.idle_ms = r.idle.ms();
  f.mfu = r.mfu;
  f.memory_gb = fullest_gb(r.context.memory_per_rank);
  f.fits = f.memory_gb <= f.capacity_gb ? Fits::yes : Fits::no;  // no: with model.memory_check: false
  f.fingerprint = fingerprint_of(r);
  f.limited_by = report::text_of(r.limits.limited_by);
  return f;
}

SweepFigures figures_without_prediction(const config::Experiment& experiment, const Error& refusal,
                                        pipeline::CostModelCache& cache) {
  config::Experiment e = experiment;
  SweepFigures f = shape_figures(e);
  if (!cache.models({e.cluster, e.device, pipeline::collective_options_of(e)}).ok()) return f;
  const auto built = [&] { return workload::build_workload(e.model, e.framework, pipeline::shape_of(e)); };
  const auto as_given = built();
  const bool by_workload = !as_given.ok() && as_given.error().what == refusal.what;
  e.model.memory_check = false;
  if (const auto workload = built(); workload.ok()) {
    for (const workload::RankMemory& m : workload->memory)
      f.memory_gb = std::max(f.memory_gb, 1e-9 * static_cast<double>(m.total()));
    if (by_workload && f.memory_gb > f.capacity_gb) f.fits = Fits::no;
    return f;
  }
  e.device.hbm.capacity = Bytes(std::int64_t{1} << 50);  // tables are dealt by the memory there is
  if (by_workload && built().ok()) f.fits = Fits::no;
  return f;
}

std::string rate_text(double per_second) {
  if (per_second >= 1e6) return fmt::format("{:.4g} M", 1e-6 * per_second);
  return per_second >= 1000 ? fmt::format("{:.0f}", per_second) : fmt::format("{:.4g}", per_second);
}

Row row_of(const SweepFigures& figures, std::string error) {
  Row row;
  row.figures.reserve(kFigures.size() + 1);
  for (const auto member : kFigures) row.figures.push_back(figures.*member);
  row.figures.push_back(static_cast<double>(figures.fits));
  row.texts = {figures.limited_by};
  row.error = std::move(error);
  return row;
}

SweepFigures figures_in(const Row& row) {
  SweepFigures f;
  if (row.figures.size() != kFigures.size() + 1 || row.texts.size() != 1) return f;  // its memory ran out
  for (std::size_t i = 0; i < kFigures.size(); ++i) f.*kFigures[i] = row.figures[i];
  const double fits = row.figures.back();
  f.fits = fits == 1 ? Fits::yes : fits == 2 ? Fits::no : Fits::unknown;
  f.limited_by = row.texts[0];
  return f;
}

}  // namespace distsim::study
