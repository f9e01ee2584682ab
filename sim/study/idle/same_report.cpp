#include "sim/study/idle/same_report.hpp"

#include <algorithm>

#include "sim/graph/op_key.hpp"

namespace distsim::study::idle {
namespace {

bool same_op(const graph::Op& a, const graph::Op& b) {
  const auto x = graph::key_of(a), y = graph::key_of(b);
  return x.has_value() == y.has_value() && a.index() == b.index() && (!x || *x == *y);
}

bool same_times(const report::OpKindTime& a, const report::OpKindTime& b) {
  return a.kind == b.kind && a.time == b.time && a.kernels == b.kernels && a.tflops == b.tflops;
}

/// But for what they expose, which is not worked out for figures alone.
bool same_transfers(const report::CollectiveTime& a, const report::CollectiveTime& b) {
  return a.name == b.name && a.kind == b.kind && a.bytes == b.bytes && a.group_size == b.group_size &&
         a.calls == b.calls && a.total == b.total && a.waiting == b.waiting;
}

bool same_memory(const report::ReportContext::Memory& a, const report::ReportContext::Memory& b) {
  return a.rank == b.rank && a.kinds == b.kinds;
}

bool same_exposure(const report::CollectiveTime& a, const report::CollectiveTime& b) { return a.exposed == b.exposed; }

bool same_step(const report::CriticalStep& a, const report::CriticalStep& b) {
  return a.name == b.name && a.stream == b.stream && a.rank == b.rank && a.start == b.start && a.time == b.time &&
         a.kind == b.kind && a.phase == b.phase && a.steps == b.steps;
}

template <class Rows, class Same>
bool same_rows(const Rows& a, const Rows& b, Same same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

}  // namespace

bool same_figures(const report::Report& a, const report::Report& b) {
  const report::ReportContext &x = a.context, &y = b.context;
  return a.iteration == b.iteration && a.low == b.low && a.high == b.high && a.digest == b.digest &&
         a.ranks == b.ranks && a.rank_count == b.rank_count && a.mfu == b.mfu && a.hfu == b.hfu &&
         same_rows(a.ops, b.ops, same_times) && same_rows(a.collectives, b.collectives, same_transfers) &&
         same_rows(x.memory, y.memory, same_memory) && x.samples == y.samples &&
         x.tokens_per_sample == y.tokens_per_sample && x.model_flops == y.model_flops &&
         x.repeated_flops == y.repeated_flops && x.nodes == y.nodes && x.gpus_per_node == y.gpus_per_node &&
         x.memory_per_rank == y.memory_per_rank && x.activations_per_rank == y.activations_per_rank &&
         x.memory_capacity == y.memory_capacity && x.table_places == y.table_places;
}

bool same_limits(const report::Report& a, const report::Report& b) {
  const report::Limits &x = a.limits, &y = b.limits;
  return x.limited_by == y.limited_by && x.runner_up == y.runner_up && x.slack == y.slack &&
         same_rows(a.critical_path, b.critical_path, same_step) &&
         same_rows(a.collectives, b.collectives, same_exposure);
}

bool alike(const graph::TaskGraph& a, const graph::TaskGraph& b) {
  return a.ranks == b.ranks && a.alike == b.alike && a.repeats == b.repeats && a.tasks.size() == b.tasks.size() &&
         a.ops.size() == b.ops.size() && a.rank_tables == b.rank_tables;
}

bool same_ops(const graph::TaskGraph& a, const graph::TaskGraph& b) { return same_rows(a.ops, b.ops, same_op); }

}  // namespace distsim::study::idle
