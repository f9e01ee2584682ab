#include "sim/engine/row_evaluator.hpp"

#include <algorithm>

#include "sim/engine/fingerprint.hpp"
#include "sim/engine/group_max.hpp"
#include "sim/engine/program_check.hpp"
#include "sim/engine/row_kernels.hpp"
#include "sim/engine/row_pool.hpp"

namespace distsim {
namespace {

/// A row of times and what is known of it without looking again. The bounds let most maxima be decided without touching the ranks.
struct Column {
  Row row;
  std::int64_t low = 0;    ///< no entry is below
  std::int64_t high = 0;   ///< the largest entry
  std::uint64_t hash = 0;  ///< of Fingerprint; 0 where none is asked for

  Operand from(std::size_t rank) const {
    return row.uniform() ? Operand{nullptr, row.scalar()} : Operand{row.values().data() + rank, 0};
  }
};

struct PlayedStep {
  Column ready, start, end;
};

Operand operand(const Row& row, std::size_t rank) {
  return row.uniform() ? Operand{nullptr, row.scalar()} : Operand{row.values().data() + rank, 0};
}

/// Arithmetic on columns: maximum, join and sum, each O(1) on uniform rows.
class Columns {
 public:
  Columns(std::uint32_t ranks, bool hashed) : ranks_(ranks), hashed_(hashed), fingerprint_(ranks), pool_(ranks) {}

  Column uniform(std::int64_t value) const { return {Row(value), value, value, hashed_ ? fingerprint_.of_uniform(value) : 0}; }

  /// Entry by entry the maximum of the inputs; reorders them. At least one input.
  Column max(std::vector<const Column*>& inputs) {
    const auto latest = std::max_element(inputs.begin(), inputs.end(), [](auto* a, auto* b) { return a->low < b->low; });
    std::iter_swap(inputs.begin(), latest);
    const std::int64_t low = inputs.front()->low;
    inputs.erase(std::remove_if(inputs.begin() + 1, inputs.end(), [low](auto* c) { return c->high <= low; }), inputs.end());
    return inputs.size() == 1 ? *inputs.front() : max_of_rows(inputs);
  }

  /// Every entry becomes the maximum of its group.
  Column join(const Column& arrivals, const Groups& groups) {
    if (is_one_group(groups, ranks_)) return uniform(arrivals.high);
    if (arrivals.row.uniform() || (!groups.listed() && groups.size == 1)) return arrivals;
    const auto out = pool_.acquire();
    group_max(row_kernels(), groups, ranks_, arrivals.row.values().data(), out.get());
    Column joined{Row(out, ranks_), arrivals.low, arrivals.high, 0};
    joined.hash = hash_of(joined.row);
    return joined;
  }

  /// start + duration; nothing where a number is negative or the sum reaches the time limit.
  std::optional<Column> add(const Column& start, const Row& duration) {
    if (duration.uniform() && start.row.uniform()) {
      const std::int64_t end = start.row.scalar() + duration.scalar();
      return end < kTimeLimit ? std::optional(uniform(end)) : std::nullopt;
    }
    if (duration.uniform() && duration.scalar() == 0) return start;
    return add_rows(start, duration);
  }

 private:
  template <class Block>
  void by_block(Block block) const {
    for (std::size_t first = 0; first < ranks_; first += Fingerprint::kBlock) {
      block(first, std::min<std::size_t>(Fingerprint::kBlock, ranks_ - first));
    }
  }
  std::uint64_t hash_block(const std::int64_t* row, std::size_t first, std::size_t n) const {
    return hashed_ ? Fingerprint::of_block(row_kernels(), row + first, first / Fingerprint::kBlock, n) : 0;
  }
  std::uint64_t hash_of(const Row& row) const { return hashed_ ? fingerprint_.of_row(row) : 0; }

  Column max_of_rows(const std::vector<const Column*>& inputs) {
    const auto memory = pool_.acquire();
    std::int64_t* const out = memory.get();
    Column result{Row(memory, ranks_), inputs.front()->low, 0, 0};
    for (const Column* input : inputs) result.high = std::max(result.high, input->high);
    by_block([&](std::size_t first, std::size_t n) {
      row_kernels().max(out + first, inputs[0]->from(first), inputs[1]->from(first), n);
      for (std::size_t i = 2; i < inputs.size(); ++i) row_kernels().max(out + first, {out + first, 0}, inputs[i]->from(first), n);
      result.hash += hash_block(out, first, n);
    });
    return result;
  }

  std::optional<Column> add_rows(const Column& start, const Row& duration) {
    const auto memory = pool_.acquire();
    std::int64_t* const out = memory.get();
    Column result{Row(memory, ranks_), kTimeLimit, 0, 0};
    std::uint64_t bits = 0;
    by_block([&](std::size_t first, std::size_t n) {
      const Bounds bounds = row_kernels().add(out + first, start.from(first), operand(duration, first), n);
      result.low = std::min(result.low, bounds.low);
      result.high = std::max(result.high, bounds.high);
      bits |= bounds.bits;
      result.hash += hash_block(out, first, n);
    });
    if (bits >= static_cast<std::uint64_t>(kTimeLimit)) return std::nullopt;
    return result.low == result.high ? uniform(result.low) : result;
  }

  std::uint32_t ranks_;
  bool hashed_;
  Fingerprint fingerprint_;
  RowPool pool_;
};

/// Plays steps in order. Holds the end of each stream's last step and of every step that is still waited for.
class Player {
 public:
  Player(const Program& program, bool hashed)
      : program_(program), columns_(program.ranks, hashed), tails_(program.streams, columns_.uniform(0)),
        awaited_(program.steps.size()), last_wait_(program.steps.size()) {
    for (StepId s(0); s < program.steps.end_id(); s = StepId(s.value() + 1)) {
      for (const StepId w : program.waits_of(s)) last_wait_[w] = s;
    }
  }

  Result<PlayedStep> play(StepId id) {
    const Step& step = program_.steps[id];
    PlayedStep played;
    played.ready = columns_.max(inputs_of(id));
    played.start = step.group == Step::kNoGroup ? played.ready : columns_.join(played.ready, program_.groups[step.group]);
    auto end = columns_.add(played.start, step.duration);
    if (!end) return refusal(id);
    played.end = std::move(*end);
    remember(id, played.end);
    return played;
  }

  const IdVector<StreamId, Column>& tails() const { return tails_; }

 private:
  std::vector<const Column*>& inputs_of(StepId id) {
    inputs_.assign(1, &tails_[program_.steps[id].stream]);
    for (const StepId wait : program_.waits_of(id)) {
      if (program_.steps[wait].stream != program_.steps[id].stream) inputs_.push_back(&awaited_[wait]);
    }
    return inputs_;
  }
  void remember(StepId id, const Column& end) {
    tails_[program_.steps[id].stream] = end;
    if (last_wait_[id].valid()) awaited_[id] = end;
    for (const StepId wait : program_.waits_of(id)) {
      if (last_wait_[wait] == id) awaited_[wait] = Column{};
    }
  }
  Error refusal(StepId id) const {
    if (auto bad = check_durations(program_, id); !bad) return bad.error();
    return {"step " + std::to_string(id.value()) + ": found an end past the time limit, expected less than 2^62 ps (53 days)", "", ""};
  }

  const Program& program_;
  Columns columns_;
  IdVector<StreamId, Column> tails_;
  IdVector<StepId, Column> awaited_;
  IdVector<StepId, StepId> last_wait_;
  std::vector<const Column*> inputs_;
};

}  // namespace

Result<void> validate(const Program& program) {
  TRY(check_structure(program));
  for (StepId s(0); s < program.steps.end_id(); s = StepId(s.value() + 1)) TRY(check_durations(program, s));
  return {};
}

Result<Timeline> evaluate_rows(const Program& program) {
  TRY(check_structure(program));
  Timeline timeline{program.ranks};
  Player player(program, true);
  Fingerprint fingerprint(program.ranks);
  std::int64_t makespan = 0;
  for (StepId s(0); s < program.steps.end_id(); s = StepId(s.value() + 1)) {
    TRY_ASSIGN(PlayedStep played, player.play(s));
    fingerprint.add(s, played.ready.hash, played.start.hash, played.end.hash);
    makespan = std::max(makespan, played.end.high);
    timeline.ready.push_back(std::move(played.ready.row));
    timeline.start.push_back(std::move(played.start.row));
    timeline.end.push_back(std::move(played.end.row));
  }
  timeline.makespan = Duration::picoseconds(makespan);
  timeline.digest = fingerprint.digest();
  return timeline;
}

Result<Ends> evaluate_makespan(const Program& program) {
  TRY(check_structure(program));
  Player player(program, false);
  std::int64_t makespan = 0;
  for (StepId s(0); s < program.steps.end_id(); s = StepId(s.value() + 1)) {
    TRY_ASSIGN(const PlayedStep played, player.play(s));
    makespan = std::max(makespan, played.end.high);
  }
  Ends ends{Duration::picoseconds(makespan), {}};
  for (const Column& tail : player.tails()) ends.last_end.push_back(tail.row);
  return ends;
}

}  // namespace distsim
