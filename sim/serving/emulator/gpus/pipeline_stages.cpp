#include "sim/serving/emulator/gpus/pipeline_stages.hpp"

#include <algorithm>

#include "sim/serving/emulator/links.hpp"

namespace distsim::serving {
namespace {

/// How many stages a chain needs if none may take longer than `most`; their first layers go to `cuts`.
std::uint32_t stages_within(const std::vector<std::int64_t>& times, std::int64_t most,
                            std::vector<std::uint32_t>& cuts) {
  cuts.assign(1, 0);
  std::int64_t stage = 0;
  for (std::uint32_t l = 0; l < times.size(); ++l) {
    if (stage > 0 && stage + times[l] > most) {
      cuts.push_back(l);
      stage = 0;
    }
    stage += times[l];
  }
  return static_cast<std::uint32_t>(cuts.size());
}

std::int64_t scaled(std::int64_t ps, double factor) {
  return factor == 1 ? ps : bounded_ps(static_cast<double>(ps) * factor);
}

}  // namespace

std::vector<std::uint32_t> balanced_stages(const std::vector<std::int64_t>& times, std::uint32_t stages) {
  std::int64_t low = 0, high = 0;
  for (const std::int64_t t : times) {
    low = std::max(low, t);
    high += t;
  }
  std::vector<std::uint32_t> cuts;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (stages_within(times, middle, cuts) <= stages)
      high = middle;
    else
      low = middle + 1;
  }
  stages_within(times, low, cuts);
  cuts.resize(stages + 1, static_cast<std::uint32_t>(times.size()));
  return cuts;
}

PipelineStages::PipelineStages(const Scenario& s, std::uint32_t gpu)
    : scenario_(s), gpu_(gpu), free_at_(s.gpus[gpu].stages, 0) {
  for (std::uint32_t m = 0; m < s.models.size(); ++m) {
    std::vector<std::int64_t> times;
    for (std::uint32_t l = 0; s.runs_on(s.gpus[gpu].kind, m) && l < s.models[m].layers; ++l)
      times.push_back(s.time_ps(s.gpus[gpu].kind, m, l, l + 1, 1));
    cuts_.push_back(balanced_stages(times, s.gpus[gpu].stages));
  }
}

PipelineStages::Passage PipelineStages::pass(std::int64_t now_ps, std::uint32_t model, std::uint32_t begin,
                                             std::uint32_t end, std::uint32_t batch, double factor) {
  return through(free_at_, now_ps, model, begin, end, batch, factor);
}

PipelineStages::Passage PipelineStages::through(std::vector<std::int64_t>& free_at, std::int64_t now_ps,
                                                std::uint32_t model, std::uint32_t begin, std::uint32_t end,
                                                std::uint32_t batch, double factor) const {
  const Gpu& gpu = scenario_.gpus[gpu_];
  const std::vector<std::uint32_t>& cuts = cuts_[model];
  Route between;
  between.add(gpu.peer_out);
  between.add(gpu.peer_in);
  Passage out;
  std::int64_t at = now_ps;
  for (std::uint32_t k = 0; k < gpu.stages; ++k) {
    const std::uint32_t from = std::max(begin, cuts[k]), to = std::min(end, cuts[k + 1]);
    if (from < to) {
      const std::int64_t time = scaled(scenario_.time_ps(gpu.kind, model, from, to, batch), factor);
      out.held_up_ps += std::max<std::int64_t>(0, free_at[k] - at);
      at = later(std::max(at, free_at[k]), time);
      free_at[k] = at;
      out.busy_ps = later(out.busy_ps, time);
      const std::int64_t bytes = to < end ? scenario_.models[model].state_at(to) * batch : 0;
      const std::int64_t sent = bytes > 0 ? transfer_ps(scenario_, between, bytes) : 0;
      out.sent_ps = later(out.sent_ps, sent);
      at = later(at, sent);
    }
    if (k == 0) out.first_free_ps = std::max(now_ps, free_at[0]);
  }
  out.end_ps = at;
  return out;
}

}  // namespace distsim::serving
