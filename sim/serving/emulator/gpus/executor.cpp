#include "sim/serving/emulator/gpus/executor.hpp"

#include <algorithm>

#include "sim/serving/emulator/gpus/stream_plan.hpp"

namespace distsim::serving {
namespace {

/// What a part takes and keeps busy where its model may use only a part of the SMs: the same work in a longer time.
SharedGpu::Part limited(std::int64_t alone_ps, Demand demand, double sm_limit) {
  if (demand.sm <= sm_limit) return {alone_ps, demand, 0, {}};
  const double longer = demand.sm / sm_limit;
  return {bounded_ps(static_cast<double>(alone_ps) * longer),
          {sm_limit, demand.memory / longer, demand.launch / longer},
          0,
          {}};
}

/// The layers of a piece of work. The times of a chain add up to that of the work.
std::vector<SharedGpu::Part> parts_of(const Scenario& s, const Work& work) {
  const std::uint32_t kind = s.gpus[work.gpu].kind;
  std::vector<std::int64_t> times;
  std::int64_t done = 0;
  for (std::uint32_t l = work.begin_layer; l < work.end_layer(); ++l) {
    const std::int64_t sum = s.serial_ps(kind, work.model, work.begin_layer, l + 1, work.batch());
    const std::int64_t end = work.factor == 1 ? sum : bounded_ps(static_cast<double>(sum) * work.factor);
    times.push_back(end - done);
    done = end;
  }
  std::vector<SharedGpu::Part> parts =
      parts_of_layers(s, kind, work.model, work.begin_layer, work.end_layer(), work.batch(), times);
  for (SharedGpu::Part& part : parts) {
    const SharedGpu::Part slower = limited(part.alone_ps, part.demand, s.models[work.model].sm_limit);
    part.alone_ps = slower.alone_ps;
    part.demand = slower.demand;
  }
  return parts;
}

/// Of layers [begin, end), with nothing else on the GPU.
std::int64_t alone_on_shared(const Scenario& s, std::uint32_t kind, std::uint32_t model, std::uint32_t begin,
                             std::uint32_t end, std::uint32_t batch) {
  const Model& m = s.models[model];
  const std::int64_t whole = s.time_ps(kind, model, begin, end, batch);
  if (s.branches(kind, model)) return whole;
  const Demand* demands = s.demands(kind, model, batch);
  if (demands == nullptr) return limited(whole, m.demand, m.sm_limit).alone_ps;
  std::int64_t sum = 0;
  for (std::uint32_t l = begin; l < end; ++l)
    sum = later(sum, limited(s.serial_ps(kind, model, l, l + 1, batch), demands[l], m.sm_limit).alone_ps);
  return sum;
}

}  // namespace

Executor::Executor(const Scenario& s, WorkPool& works, EventHeap& heap)
    : s_(s), works_(works), heap_(heap), gpus_(s.gpus.size()), busy_ps_(s.gpus.size(), 0) {
  for (std::uint32_t g = 0; g < s.gpus.size(); ++g) {
    if (s.gpus[g].execution == Execution::pipeline) gpus_[g].pipeline = std::make_unique<PipelineStages>(s, g);
  }
}

void Executor::ready(std::uint32_t id, std::int64_t now_ps) {
  Work& work = works_[id];
  work.ready_ps = now_ps;
  if (s_.gpus[work.gpu].execution == Execution::shared) {
    start_shared(id, now_ps);
    return;
  }
  gpus_[work.gpu].ready.push(id);
  if (!gpus_[work.gpu].executing) start_next(work.gpu, now_ps);
}

void Executor::free(std::uint32_t gpu, std::int64_t now_ps) {
  gpus_[gpu].executing = false;
  start_next(gpu, now_ps);
}

std::int64_t Executor::end_if_ready(std::uint32_t g, std::uint32_t model, std::uint32_t begin, std::uint32_t batch,
                                    std::int64_t at_ps) const {
  const GpuState& gpu = gpus_[g];
  const std::uint32_t kind = s_.gpus[g].kind, layers = s_.models[model].layers;
  if (gpu.pipeline != nullptr) {
    std::vector<std::int64_t> free_at = gpu.pipeline->free_at();
    for (std::size_t i = 0; i < gpu.ready.size(); ++i) {
      const Work& w = works_[gpu.ready.at(i)];
      gpu.pipeline->through(free_at, w.ready_ps, w.model, w.begin_layer, w.end_layer(), w.batch(), w.factor);
    }
    return gpu.pipeline->through(free_at, at_ps, model, begin, layers, batch, 1).end_ps;
  }
  if (s_.gpus[g].execution == Execution::shared)
    return later(at_ps, alone_on_shared(s_, kind, model, begin, layers, batch));
  std::int64_t free_ps = gpu.executing ? gpu.end_ps : at_ps;
  for (std::size_t i = 0; i < gpu.ready.size(); ++i) free_ps = later(free_ps, works_[gpu.ready.at(i)].alone_ps);
  return later(std::max(at_ps, free_ps), s_.time_ps(kind, model, begin, layers, batch));
}

std::vector<std::int64_t> Executor::busy_until(std::int64_t now_ps) const {
  std::vector<std::int64_t> out = busy_ps_;
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    const GpuState& gpu = gpus_[g];
    if (!gpu.shared.empty()) out[g] += now_ps - gpu.shared_since_ps;
    if (gpu.pipeline == nullptr && gpu.executing) out[g] -= gpu.end_ps - now_ps;
  }
  return out;
}

std::vector<Demand> Executor::used_until(std::int64_t now_ps) const {
  std::vector<Demand> out;
  for (const GpuState& gpu : gpus_) out.push_back(gpu.shared.used_until(now_ps));
  return out;
}

void Executor::start_next(std::uint32_t g, std::int64_t now_ps) {
  GpuState& gpu = gpus_[g];
  if (gpu.ready.empty()) return;
  const std::uint32_t id = gpu.ready.pop();
  Work& work = works_[id];
  gpu.executing = true;
  work.start_ps = now_ps;
  if (gpu.pipeline == nullptr) {
    busy_ps_[g] += work.alone_ps;
    gpu.end_ps = now_ps + work.alone_ps;
    heap_.push(Event::of(now_ps + work.alone_ps, EventKind::work_done, work.event_order(), id));
    return;
  }
  const PipelineStages::Passage passage =
      gpu.pipeline->pass(now_ps, work.model, work.begin_layer, work.end_layer(), work.batch(), work.factor);
  const std::int64_t stages_ps = later(passage.busy_ps, gpu.stages_rest_ps);
  work.alone_ps = passage.busy_ps;
  work.sent_ps = passage.sent_ps;
  work.held_up_ps = passage.held_up_ps;
  busy_ps_[g] += stages_ps / s_.gpus[g].stages;
  gpu.stages_rest_ps = stages_ps % s_.gpus[g].stages;
  heap_.push(Event::of(passage.first_free_ps, EventKind::stage_free, work.event_order(), id));
  heap_.push(Event::of(passage.end_ps, EventKind::work_done, work.event_order(), id));
}

void Executor::start_shared(std::uint32_t id, std::int64_t now_ps) {
  Work& work = works_[id];
  GpuState& gpu = gpus_[work.gpu];
  work.start_ps = now_ps;
  if (gpu.shared.empty()) gpu.shared_since_ps = now_ps;
  const std::uint32_t kind = s_.gpus[work.gpu].kind;
  if (s_.demands(kind, work.model, work.batch()) == nullptr && !s_.branches(kind, work.model)) {
    const Model& m = s_.models[work.model];
    const SharedGpu::Part part = limited(work.alone_ps, m.demand, m.sm_limit);
    gpu.shared.add(now_ps, id, part.alone_ps, part.demand);
  } else {
    gpu.shared.add(now_ps, id, parts_of(s_, work));
  }
  plan_shared(work.gpu);
}

void Executor::plan_shared(std::uint32_t g) {
  const SharedGpu& shared = gpus_[g].shared;
  if (!shared.empty()) heap_.push(Event::of(shared.next_end_ps(), EventKind::shared_done, g, shared.version()));
}

const std::vector<std::uint32_t>& Executor::shared_done(std::uint32_t g, std::uint32_t version, std::int64_t now_ps) {
  GpuState& gpu = gpus_[g];
  done_.clear();
  if (version != (gpu.shared.version() & Event::kLowMask) || gpu.shared.empty()) return done_;
  gpu.shared.take_done(now_ps, done_);
  std::ranges::sort(done_, {}, [&](std::uint32_t id) { return works_[id].order; });
  if (gpu.shared.empty()) busy_ps_[g] += now_ps - gpu.shared_since_ps;
  if (done_.empty()) plan_shared(g);
  return done_;
}

}  // namespace distsim::serving
