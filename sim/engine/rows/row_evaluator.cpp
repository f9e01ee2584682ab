#include "sim/engine/rows/row_evaluator.hpp"

#include <algorithm>
#include <string>

#include "base/threads/stop.hpp"
#include "sim/engine/program/alike.hpp"
#include "sim/engine/program/program_check.hpp"
#include "sim/engine/rows/columns.hpp"
#include "sim/engine/timeline/fingerprint.hpp"

namespace distsim::engine {
namespace {

struct PlayedStep {
  Column ready, start, end;
};

/// Plays steps in order. Holds the end of each stream's last step and of every step that is still waited for.
class Player {
 public:
  Player(const Program& program, bool hashed)
      : program_(program),
        columns_(program.ranks, hashed),
        zero_(columns_.uniform(0)),
        tails_(program.streams, zero_),
        awaited_(program.steps.size()),
        last_wait_(program.steps.size()) {
    for (StepId s(0); s < program.steps.end_id(); s = StepId(s.value() + 1)) {
      for (const StepId w : program.waits_of(s)) last_wait_[w] = s;
    }
  }

  Result<PlayedStep> play(StepId id) {
    end_if_stopped();
    const Step& step = program_.steps[id];
    PlayedStep played;
    played.ready = columns_.max(inputs_of(id));
    played.start =
        step.group == Step::kNoGroup ? played.ready : columns_.join(played.ready, program_.groups[step.group]);
    auto end = columns_.add(played.start, step.duration);
    if (!end) return refusal(id);
    played.end = std::move(*end);
    remember(id, played.end);
    return played;
  }

  const IdVector<StreamId, Column>& tails() const { return tails_; }

 private:
  std::vector<const Column*>& inputs_of(StepId id) {
    const StreamId stream = program_.steps[id].stream;
    inputs_.assign(1, stream.valid() ? &tails_[stream] : &zero_);
    for (const StepId wait : program_.waits_of(id)) {
      if (!stream.valid() || program_.steps[wait].stream != stream) inputs_.push_back(&awaited_[wait]);
    }
    return inputs_;
  }
  void remember(StepId id, const Column& end) {
    if (const StreamId stream = program_.steps[id].stream; stream.valid()) tails_[stream] = end;
    if (last_wait_[id].valid()) awaited_[id] = end;
    for (const StepId wait : program_.waits_of(id)) {
      if (last_wait_[wait] == id) awaited_[wait] = Column{};
    }
  }
  Error refusal(StepId id) const {
    if (auto bad = check_durations(program_, id); !bad) return bad.error();
    return {"step " + std::to_string(id.value()) +
                ": found an end time beyond the limit, expected less than 2^62 ps (53 days)",
            "", ""};
  }

  const Program& program_;
  Columns columns_;
  Column zero_;
  IdVector<StreamId, Column> tails_;
  IdVector<StepId, Column> awaited_;
  IdVector<StepId, StepId> last_wait_;
  std::vector<const Column*> inputs_;
};

/// Names the ranks of the program itself, where a program of places would name blocks.
Result<void> check_all_durations(const Program& program) {
  for (StepId s(0); s < program.steps.end_id(); s = StepId(s.value() + 1)) TRY(check_durations(program, s));
  return {};
}

Result<Timeline> play(const Program& program, bool hashed) {
  Timeline timeline{program.ranks};
  for (auto* rows : {&timeline.ready, &timeline.start, &timeline.end}) rows->reserve(program.steps.size());
  Player player(program, hashed);
  Fingerprint fingerprint(program.ranks);
  std::int64_t makespan = 0;
  for (StepId s(0); s < program.steps.end_id(); s = StepId(s.value() + 1)) {
    TRY_ASSIGN(PlayedStep played, player.play(s));
    if (hashed) fingerprint.add(s, played.ready.hash, played.start.hash, played.end.hash);
    makespan = std::max(makespan, played.end.high);
    timeline.ready.push_back(std::move(played.ready.row));
    timeline.start.push_back(std::move(played.start.row));
    timeline.end.push_back(std::move(played.end.row));
  }
  timeline.makespan = Duration::picoseconds(makespan);
  timeline.digest = fingerprint.digest();
  return timeline;
}

Result<Ends> play_to_the_end(const Program& program) {
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

bool has_blocks(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(),
                     [](const Step& step) { return !step.duration.whole(); });
}

/// The timeline of the places, for all ranks that each represents.
Timeline for_all_ranks(Timeline timeline, std::uint32_t ranks, const Alike& alike) {
  timeline.ranks = ranks;
  for (auto* rows : {&timeline.ready, &timeline.start, &timeline.end}) {
    for (Row& row : *rows) row = row.with_each(alike.each, alike.repeats);
  }
  timeline.digest = fingerprint_of(timeline);
  return timeline;
}

}  // namespace

Result<void> validate(const Program& program) {
  TRY(check_structure(program));
  return check_all_durations(program);
}

Result<Timeline> evaluate_rows(const Program& program) {
  TRY(check_structure(program));
  if (const Alike alike = alike_ranks(program); alike.any()) {
    TRY(check_all_durations(program));
    TRY_ASSIGN(Timeline timeline, play(places_of(program, alike), false));
    return for_all_ranks(std::move(timeline), program.ranks, alike);
  }
  return has_blocks(program) ? play(spread_out(program), true) : play(program, true);
}

Result<Ends> evaluate_makespan(const Program& program) {
  TRY(check_structure(program));
  if (const Alike alike = alike_ranks(program); alike.any()) {
    TRY(check_all_durations(program));
    TRY_ASSIGN(Ends ends, play_to_the_end(places_of(program, alike)));
    for (Row& row : ends.last_end) row = row.with_each(alike.each, alike.repeats);
    return ends;
  }
  if (has_blocks(program)) return play_to_the_end(spread_out(program));
  return play_to_the_end(program);
}

}  // namespace distsim::engine
