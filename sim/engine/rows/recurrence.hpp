// Recurrence: a program that is played again and again with other durations, to see what depends on what. The times are
// those of the row evaluator; memory is kept from one play to the next, and there is neither timeline nor digest.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/engine/program/program.hpp"
#include "sim/engine/rows/row_kernels.hpp"

namespace distsim::engine {

class Recurrence {
 public:
  /// A valid program without blocks (Row::each of 1), as program_of_roles() makes it. It must outlive the object.
  explicit Recurrence(const Program& program);

  /// What `step` takes in later plays; the row must outlive them.
  void set_duration(StepId step, const Row& duration) {
    played_[step].duration =
        duration.uniform() ? Operand{nullptr, duration.scalar()} : Operand{duration.values().data(), 0};
  }
  /// What it takes in the program again.
  void reset_duration(StepId step) { set_duration(step, program_.steps[step].duration); }

  /// Plays all steps. False where a time would reach the limit of the evaluators; times are then undefined.
  bool play();

  /// A time of a step on every rank, in the last play: when it was ready, started and ended.
  struct Times {
    const std::int64_t* row = nullptr;  ///< none: all ranks have `low`
    std::int64_t low = 0, high = 0;     ///< bounds of the numbers; `high` is the largest of an end
    std::int64_t at(std::uint32_t rank) const { return row ? row[rank] : low; }
    Operand operand() const { return {row, low}; }
  };
  const Times& ready(StepId step) const {
    const Played& p = played_[step];
    return p.join == kNoJoin ? p.start : arrivals_[p.join];
  }
  const Times& start(StepId step) const { return played_[step].start; }
  const Times& end(StepId step) const { return played_[step].end; }

  /// What `step` waits for: the step before it on its stream, if any, then its waits in their order.
  std::span<const StepId> inputs(StepId step) const {
    return {inputs_.data() + input_offsets_[step.value()], inputs_.data() + input_offsets_[step.value() + 1]};
  }
  const Program& program() const { return program_; }

 private:
  static constexpr std::uint32_t kNoJoin = 0xFFFFFFFFu;
  struct Played {
    Times start, end;
    Operand duration;
    std::uint32_t join = kNoJoin;  ///< of a joining step: index into arrivals_
    std::uint32_t room = kNoRoom;  ///< where ranks differ: index into rooms_
  };
  static constexpr std::uint32_t kNoRoom = 0xFFFFFFFFu;
  enum class Use : std::uint8_t { ready, start, end };

  std::int64_t* room_for(StepId step, Use use);
  Times later_of(StepId step, const Times& a, const Times& b);
  Times latest_input(StepId step);
  Times join(StepId step, const Times& arrivals, const Groups& groups);
  bool add_rows(StepId step);

  const Program& program_;
  std::vector<std::uint32_t> input_offsets_{0};
  std::vector<StepId> inputs_;
  IdVector<StepId, Played> played_;
  std::vector<Times> arrivals_;
  std::vector<std::unique_ptr<std::int64_t[]>> rooms_;  ///< a number for each rank and use
};

}  // namespace distsim::engine
