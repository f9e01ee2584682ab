#include "sim/report/picture/stage_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/graph/op_key.hpp"

namespace distsim::report {
namespace {

StageWork work_of(graph::PassKind kind) {
  switch (kind) {
    case graph::PassKind::forward:
      return StageWork::forward;
    case graph::PassKind::backward:
    case graph::PassKind::inputs:
      return StageWork::backward;
    case graph::PassKind::weights:
      break;
  }
  return StageWork::weights;
}

/// The device steps of one rank in the last iteration that take time.
class StageReader {
 public:
  StageReader(const Played& played, const graph::PipelineOrder& order, std::uint32_t stage)
      : p_(played),
        graph_(played.costed->graph),
        order_(order),
        stage_(stage),
        passes_(order.of_stage[stage]),
        rank_(stage * order.ranks_apart) {}

  /// False where passes are missing or left over.
  bool read() {
    for (std::uint32_t i = 0; i < p_.program->steps.size(); ++i) {
      const StepId s(i);
      const StepOrigin& o = (*p_.origins)[s];
      if (o.iteration + 1 != p_.iterations || o.role != StepRole::device || is_absent(o.task)) continue;
      if (!add(o.task, p_.timeline->start[s].at(rank_), p_.timeline->end[s].at(rank_))) return false;
    }
    return next_ == passes_.size();
  }

  /// Sorted; what computes hides what is transferred meanwhile.
  std::vector<StageSlice> slices() {
    std::ranges::stable_sort(computed_, {}, &StageSlice::begin);
    std::ranges::stable_sort(transferred_, {}, &StageSlice::begin);
    std::vector<StageSlice> out = computed_;
    auto busy = computed_.begin();
    std::int64_t done = 0;
    for (const StageSlice& t : transferred_) {
      std::int64_t at = std::max(t.begin, done);
      while (busy != computed_.begin() && std::prev(busy)->end > at) --busy;
      while (at < t.end) {
        while (busy != computed_.end() && busy->end <= at) ++busy;
        const std::int64_t until = busy == computed_.end() ? t.end : std::min(t.end, busy->begin);
        if (until > at) out.push_back({at, until, StageWork::communication, nullptr});
        if (busy == computed_.end()) break;
        at = std::max(at, busy->end);
      }
      done = std::max(done, t.end);
    }
    std::ranges::stable_sort(out, {}, &StageSlice::begin);
    return out;
  }

 private:
  OpId op_of(TaskId t) const { return OpId(graph_.tasks[t].first_op.value() + graph_.variant_of(t, rank_)); }
  bool is_absent(TaskId t) const { return std::holds_alternative<graph::Absent>(graph_.ops[op_of(t)]); }

  /// Of a backward pass's time, that of the kernels that it runs again.
  double repeated_share(OpId id, std::uint32_t chunk) {
    const auto* sequence = std::get_if<graph::Sequence>(&graph_.ops[id]);
    const double all = played_cost(id);
    if (sequence == nullptr || all <= 0) return 0;
    const auto [known, is_new] = shares_.try_emplace({id, chunk}, 0.0);
    if (!is_new) return known->second;
    double again = 0;
    for (const auto& [op, times] : order_.repeated_of(stage_, chunk)) {
      const auto key = graph::key_of(op);
      for (const graph::SequencePart& part : graph_.sequences[static_cast<std::size_t>(sequence->index)]) {
        if (!key || graph::key_of(graph_.ops[part.op]) != key) continue;
        again += times * played_cost(part.op);
        break;
      }
    }
    return known->second = std::clamp(again / all, 0.0, 1.0);
  }
  double played_cost(OpId id) const { return p_.costed->costs[id].mean.seconds(); }

  bool add(TaskId id, std::int64_t start, std::int64_t end) {
    const graph::Task& task = graph_.tasks[id];
    const bool computes = task.stream.kind() == graph::StreamKind::compute;
    const bool transfers =
        task.stream.kind() == graph::StreamKind::comm || task.stream.kind() == graph::StreamKind::p2p;
    StageSlice slice{start, end, computes ? StageWork::optimizer : StageWork::communication, nullptr};
    if (computes && (task.phase == graph::Phase::forward || task.phase == graph::Phase::backward)) {
      if (next_ == passes_.size()) return false;
      slice.pass = &passes_[next_++];
      slice.work = work_of(slice.pass->kind);
      if (slice.work == StageWork::backward) {
        const double share = repeated_share(op_of(id), slice.pass->chunk);
        slice.begin = start + std::llround(share * static_cast<double>(end - start));
        if (slice.begin > start) computed_.push_back({start, slice.begin, StageWork::recompute, slice.pass});
      }
    }
    if (end > slice.begin && computes) computed_.push_back(slice);
    if (end > start && transfers) transferred_.push_back(slice);
    return true;
  }

  const Played& p_;
  const graph::TaskGraph& graph_;
  const graph::PipelineOrder& order_;
  const std::uint32_t stage_;
  const std::vector<graph::PipelinePass>& passes_;
  const std::uint32_t rank_;
  std::map<std::pair<OpId, std::uint32_t>, double> shares_;  ///< by op and chunk
  std::size_t next_ = 0;
  std::vector<StageSlice> computed_, transferred_;
};

/// Idle slices between the others, from `begin` to `end`; returns their time.
std::int64_t fill_gaps(std::vector<StageSlice>& slices, std::int64_t begin, std::int64_t end) {
  std::vector<StageSlice> out;
  std::int64_t at = begin, idle = 0;
  const auto fill_until = [&](std::int64_t until) {
    if (until <= at) return;
    out.push_back({at, until, StageWork::idle, nullptr});
    idle += until - at;
  };
  for (const StageSlice& s : slices) {
    fill_until(s.begin);
    out.push_back(s);
    at = std::max(at, s.end);
  }
  fill_until(end);
  slices = std::move(out);
  return idle;
}

}  // namespace

std::optional<StageRows> stage_rows(const Played& played, const graph::PipelineOrder& order, std::uint32_t most) {
  StageRows out;
  const auto stages = static_cast<std::uint32_t>(order.of_stage.size());
  const std::uint32_t drawn = std::min(stages, most);
  for (std::uint32_t i = 0; i < drawn; ++i) {
    const auto stage = static_cast<std::uint32_t>(drawn == 1 ? 0 : std::uint64_t{i} * (stages - 1) / (drawn - 1));
    StageReader reader(played, order, stage);
    if (!reader.read()) return std::nullopt;
    StageRow row{stage, reader.slices()};
    if (row.slices.empty()) return std::nullopt;
    const std::int64_t begin = row.slices.front().begin, end = row.slices.back().end;
    out.begin = i == 0 ? begin : std::min(out.begin, begin);
    out.end = i == 0 ? end : std::max(out.end, end);
    out.rows.push_back(std::move(row));
  }
  double idle = 0;
  for (StageRow& row : out.rows) idle += static_cast<double>(fill_gaps(row.slices, out.begin, out.end));
  out.idle = idle / static_cast<double>(out.end - out.begin) / static_cast<double>(out.rows.size());
  return out;
}

}  // namespace distsim::report
