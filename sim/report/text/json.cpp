// The report as JSON; schema in docs/report_schema.md.
#include <cmath>
#include <string>

#include "base/json/json_text.hpp"
#include "sim/report/report.hpp"
#include "sim/report/text/json_form.hpp"
#include "sim/report/text/split_model.hpp"

namespace distsim::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 3;

double finite(double v) { return std::isfinite(v) ? v : 0; }

Json context_json(const Report& r) {
  const ReportContext& c = r.context;
  return {{"title", c.title},
          {"system", c.system},
          {"device", c.device},
          {"model", c.model},
          {"framework", c.framework},
          {"nodes", c.nodes},
          {"gpus_per_node", c.gpus_per_node},
          {"ranks", r.rank_count},
          {"samples_per_iteration", finite(c.samples)},
          {"model_tflop_per_iteration", finite(c.model_flops * 1e-12)},
          {"peak_tflops_per_gpu", finite(c.peak_flops * 1e-12)},
          {"placement", c.placement}};
}

Json time_json(const RankTime& t) {
  return {{"compute_ms", t.compute.ms()},
          {"exposed_comm_ms", t.exposed_comm.ms()},
          {"waiting_ms", t.waiting.ms()},
          {"host_bound_ms", t.host_bound.ms()},
          {"idle_ms", t.idle.ms()},
          {"comm_ms", t.comm.ms()},
          {"hidden_comm_ms", t.hidden_comm.ms()}};
}

Json ops_json(const Report& r) {
  Json out = Json::array();
  for (const OpKindTime& op : r.ops)
    out.push_back(
        {{"kind", op.kind}, {"time_ms", op.time.ms()}, {"kernels", op.kernels}, {"tflops", finite(op.tflops)}});
  return out;
}

Json collectives_json(const Report& r) {
  Json out = Json::array();
  for (const CollectiveTime& c : r.collectives) {
    out.push_back({{"name", c.name},
                   {"kind", c.kind},
                   {"group_size", c.group_size},
                   {"calls", c.calls},
                   {"bytes", c.bytes},
                   {"transfer_ms", c.total.ms()},
                   {"waiting_ms", c.waiting.ms()},
                   {"exposed_ms", c.exposed.ms()},
                   {"busbw_GBps", finite(c.busbw * 1e-9)},
                   {"basis", graph::name_of(c.basis)},
                   {"source", c.source}});
  }
  return out;
}

Json limiter_json(const std::optional<Limiter>& limiter) { return limiter ? Json(text_of(*limiter)) : Json(); }

/// Without what a rank takes longer for, which is part of compute and memory.
Json cycle_json(const Limits& limits) {
  Json out = Json::array();
  for (std::size_t r = 0; r < static_cast<std::size_t>(Resource::waiting_for_rank); ++r) {
    const Duration time = limits.of_resource[r].on_cycle;
    if (time > Duration()) out.push_back({{"resource", name_of(static_cast<Resource>(r))}, {"time_ms", time.ms()}});
  }
  return out;
}

std::string_view phase_name(std::optional<graph::Phase> phase) { return phase ? graph::name_of(*phase) : "host"; }

Json path_json(const Report& r, std::size_t most) {
  Json out = Json::array();
  for (const CriticalStep& s : r.critical_path) {
    if (out.size() == most) break;
    out.push_back({{"name", s.name},
                   {"kind", s.kind},
                   {"phase", phase_name(s.phase)},
                   {"stream", graph::name_of(s.stream)},
                   {"rank", s.rank},
                   {"start_ms", s.start.ms()},
                   {"time_ms", s.time.ms()},
                   {"steps", s.steps},
                   {"basis", graph::name_of(s.basis)}});
  }
  return out;
}

Json bases_json(const Report& r) {
  Json out = Json::object();
  for (const BasisShare& b : r.bases) out[std::string(graph::name_of(b.basis))] = finite(b.share);
  return out;
}

Json ranks_json(const Report& r, std::size_t most) {
  Json times = Json::array();
  if (r.ranks.size() <= most) {
    for (const RankTime& t : r.ranks) times.push_back(time_json(t));
  }
  return {{"alike", r.ranks.size() <= 1},
          {"slowest", r.slowest_rank},
          {"fastest", r.fastest_rank},
          {"times", std::move(times)}};
}

/// Of models of tokens.
Json split_model_json(const Report& r) {
  const double tokens = tokens_per_second(r);
  Json dimensions = Json::array(), memory = Json::array();
  for (const DimensionTime& d : dimensions_of(r))
    dimensions.push_back(
        {{"dimension", d.dimension}, {"transfer_ms", d.transfer.ms()}, {"exposed_ms", d.exposed.ms()}});
  for (const ReportContext::Memory& m : r.context.memory) {
    Json kinds = Json::object();
    for (const auto& [what, bytes] : m.kinds) kinds[what] = bytes;
    memory.push_back({{"rank", m.rank}, {"bytes", std::move(kinds)}});
  }
  const ReservedMemory reserved = reserved_memory(r.context);
  return {{"reserved_bytes", {{"low", reserved.low}, {"high", reserved.high}}},
          {"tokens_per_second", finite(tokens)},
          {"tokens_per_second_per_gpu", finite(tokens / r.rank_count)},
          {"dimensions", std::move(dimensions)},
          {"memory", std::move(memory)}};
}

std::string hex(std::uint64_t v) {
  std::string out(16, '0');
  for (auto c = out.rbegin(); v != 0; ++c, v >>= 4) *c = "0123456789abcdef"[v & 15];
  return out;
}

}  // namespace

std::string to_json(const Report& r) { return to_json(r, JsonForm{}); }

std::string to_json(const Report& r, const JsonForm& form) {
  Json out;
  out["schema"] = "distsim-report";
  out["schema_version"] = kSchemaVersion;
  out["context"] = context_json(r);
  out["iteration_ms"] = r.iteration.ms();
  out["low_ms"] = r.low.ms();
  out["high_ms"] = r.high.ms();
  out["samples_per_second"] = finite(r.samples_per_second);
  out["achieved_tflops_per_gpu"] = finite(r.achieved_flops_per_gpu * 1e-12);
  out["mfu"] = finite(r.mfu);
  out["hardware_tflops_per_gpu"] = finite(r.hardware_flops_per_gpu * 1e-12);
  out["hfu"] = finite(r.hfu);
  if (r.context.tokens_per_sample > 0) out["tokens"] = split_model_json(r);
  out["breakdown"] = time_json({r.compute, r.comm, r.hidden_comm, r.exposed_comm, r.waiting, r.host_bound, r.idle});
  out["limited_by"] = limiter_json(r.limits.limited_by);
  out["runner_up"] = limiter_json(r.limits.runner_up);
  out["slack_ms"] = r.limits.slack.ms();
  out["cycle"] = cycle_json(r.limits);
  out["ops"] = ops_json(r);
  out["collectives"] = collectives_json(r);
  out["critical_path"] = path_json(r, form.most_steps);
  if (r.critical_path.size() > form.most_steps) out["path_steps"] = r.critical_path.size();
  out["cycle_closed"] = r.cycle_closed;
  out["basis_share"] = bases_json(r);
  out["ranks"] = ranks_json(r, form.most_ranks);
  out["memory"] = {{"capacity_bytes", r.context.memory_capacity}, {"used_bytes_per_rank", r.context.memory_per_rank}};
  Json assumptions = Json::array(), kinds = Json::array();
  for (const graph::Assumption& a : r.context.assumptions) {
    assumptions.push_back(a.text);
    kinds.push_back(graph::name_of(a.kind));
  }
  out["assumptions"] = std::move(assumptions);
  out["assumption_kinds"] = std::move(kinds);
  if (r.trials.trials > 0) {
    out["trials"] = {{"count", r.trials.trials},    {"seed", r.trials.seed},       {"p10_ms", r.trials.p10.ms()},
                     {"p50_ms", r.trials.p50.ms()}, {"p90_ms", r.trials.p90.ms()}, {"p99_ms", r.trials.p99.ms()}};
  }
  out["digest"] = hex(r.digest);
  return json_text(out, form.indent);
}

}  // namespace distsim::report
