// LoopPlayer: a loop that is played again and again with other durations. The times are those of the row evaluator on the
// same rounds written out. Every time of every rank is kept in one array, which suits few ranks: those of a loop of roles.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "sim/engine/program/loop.hpp"
#include "sim/engine/rows/loop_run.hpp"

namespace distsim::engine {

class LoopPlayer {
 public:
  /// A valid loop with `each` of 1; it must outlive the object. Precondition: numbers_of(loop, rounds) is not too many.
  LoopPlayer(const Loop& loop, std::uint32_t rounds);

  /// 64-bit numbers that are kept of so many rounds.
  static std::size_t numbers_of(const Loop& loop, std::uint32_t rounds);

  /// What a step of every round takes in later plays, by rank; that of the loop again.
  void set_duration(StepId step, std::span<const std::int64_t> by_rank);
  /// The same as in an earlier play (duration_row).
  void set_duration_row(StepId step, const std::int64_t* row) { steps_[step.value()].duration = row; }
  void set_nothing(StepId step) { steps_[step.value()].duration = zeros_.data(); }
  void reset_duration(StepId step) { steps_[step.value()].duration = of_loop(step); }

  /// Plays all rounds. False where a duration is negative or a time reaches the limit of the evaluators; times are then
  /// undefined.
  bool play();

  std::uint32_t ranks() const { return loop_.ranks; }
  std::uint32_t rounds() const { return rounds_; }
  std::uint32_t steps_of_round() const { return count_; }
  const Loop& loop() const { return loop_; }

  // Times of the last play. Steps are numbered through all rounds.
  std::int64_t end(StepId step, std::uint32_t rank) const { return end_row(step)[rank]; }
  std::int64_t start(StepId step, std::uint32_t rank) const { return end(step, rank) - of_round(step).duration[rank]; }
  std::int64_t ready(StepId step, std::uint32_t rank) const;
  std::int64_t last_end(StepId step) const;  ///< the latest of all ranks
  /// What `step` waited for until `time` on `rank`: the step before it on its stream, or one of its waits in their order;
  /// invalid where there is none.
  StepId input_ending_at(StepId step, std::uint32_t rank, std::int64_t time) const;
  const Groups& group_of(StepId step) const;

  // Rows by rank, of a step of the round, in the last round. They stay where they are from play to play.
  const std::int64_t* last_ready_row(StepId step) const;
  const std::int64_t* last_start_row(StepId step) const { return last_start_.data() + row(step); }
  const std::int64_t* last_end_row(StepId step) const { return end_row(StepId((rounds_ - 1) * count_ + step.value())); }
  const std::int64_t* duration_row(StepId step) const { return steps_[step.value()].duration; }
  /// Whether ranks of the step wait for others.
  bool meets(StepId step) const { return steps_[step.value()].first_member != steps_[step.value()].members_end; }

 private:
  /// Aligned to lanes.
  template <class T>
  struct Aligned {
    using value_type = T;
    Aligned() = default;
    template <class U>
    Aligned(const Aligned<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64))); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(64)); }
    template <class U>
    void construct(U*) {}  // numbers are written before they are read
    template <class U, class Value>
    void construct(U* p, const Value& value) {
      ::new (static_cast<void*>(p)) U(value);
    }
    bool operator==(const Aligned&) const { return true; }
  };
  using Numbers = std::vector<std::int64_t, Aligned<std::int64_t>>;

  static std::uint32_t stride_of(std::uint32_t ranks);
  void add_steps();
  void add_members(const Groups& groups);
  std::size_t row(StepId step) const { return std::size_t{step.value()} * stride_; }
  const LoopStep& of_round(StepId step) const { return steps_[step.value() % count_]; }
  const std::int64_t* end_row(StepId step) const {
    return ends_.data() + (std::size_t{count_} + step.value()) * stride_;
  }
  const std::int64_t* of_loop(StepId step) const {
    return durations_.data() + std::size_t{loop_.steps[step].row} * stride_;
  }

  const Loop& loop_;
  const std::uint32_t rounds_, count_, stride_;
  std::uint32_t joins_ = 0;
  std::vector<LoopStep> steps_;
  std::vector<std::uint32_t> inputs_, members_;
  Numbers durations_, zeros_, ends_, arrivals_, last_start_;
  std::vector<Numbers> other_durations_;
};

}  // namespace distsim::engine
