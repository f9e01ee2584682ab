#include "sim/engine/rows/loop_player.hpp"

#include <algorithm>
#include <tuple>

#include "sim/engine/rows/row_kernels.hpp"

namespace distsim::engine {

std::uint32_t LoopPlayer::stride_of(std::uint32_t ranks) {
  return ranks == 1 ? 1 : static_cast<std::uint32_t>((ranks + kLanes - 1) / kLanes * kLanes);
}

std::size_t LoopPlayer::numbers_of(const Loop& loop, std::uint32_t rounds) {
  return (loop.steps.size() * (std::size_t{2} * rounds + 2) + loop.rows.size()) * stride_of(loop.ranks);
}

LoopPlayer::LoopPlayer(const Loop& loop, std::uint32_t rounds)
    : loop_(loop),
      rounds_(rounds),
      count_(static_cast<std::uint32_t>(loop.steps.size())),
      stride_(stride_of(loop.ranks)) {
  durations_.resize(loop.rows.size() * stride_);
  for (std::size_t i = 0; i < loop.rows.size(); ++i) {
    std::int64_t* const out = durations_.data() + i * stride_;
    std::fill_n(out, stride_, 0);
    for (std::uint32_t r = 0; r < loop.ranks; ++r) out[r] = loop.rows[i].at(r);
  }
  zeros_.assign(stride_, 0);
  add_steps();
  ends_.resize((std::size_t{rounds_} + 1) * count_ * stride_);
  std::fill_n(ends_.data(), std::size_t{count_} * stride_, 0);
  arrivals_.resize(std::size_t{rounds_} * joins_ * stride_);
  last_start_.resize(std::size_t{count_} * stride_);
}

/// Groups of more than one, as LoopRun::members.
void LoopPlayer::add_members(const Groups& g) {
  if (!g.listed()) {
    if (g.size == 1) return;
    for (std::uint32_t first = 0; first < loop_.ranks; first += g.size * g.stride) {
      for (std::uint32_t j = 0; j < g.stride; ++j) {
        members_.push_back(g.size);
        for (std::uint32_t i = 0; i < g.size; ++i) members_.push_back(first + j + i * g.stride);
      }
    }
    return;
  }
  for (std::size_t i = 0; i + 1 < g.offsets.size(); ++i) {
    const std::uint32_t size = g.offsets[i + 1] - g.offsets[i];
    if (size < 2) continue;
    members_.push_back(size);
    members_.insert(members_.end(), g.members.begin() + g.offsets[i], g.members.begin() + g.offsets[i + 1]);
  }
}

void LoopPlayer::add_steps() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> members_of;  // by group: where its lists are
  for (const Groups& g : loop_.groups) {
    const auto first = static_cast<std::uint32_t>(members_.size());
    add_members(g);
    members_of.emplace_back(first, static_cast<std::uint32_t>(members_.size()));
  }
  std::vector<StepId> last_of_round(loop_.streams), last(loop_.streams);
  for (StepId s(0); s < loop_.steps.end_id(); s = StepId(s.value() + 1))
    last_of_round[loop_.steps[s].stream.value()] = s;
  steps_.reserve(count_ + 1);
  inputs_.reserve(count_ + loop_.waits.size());
  auto carried = loop_.carried.begin();
  for (StepId s(0); s < loop_.steps.end_id(); s = StepId(s.value() + 1)) {
    const Loop::Step& step = loop_.steps[s];
    LoopStep& out = steps_.emplace_back();
    out.first_input = static_cast<std::uint32_t>(inputs_.size());
    out.duration = of_loop(s);
    if (step.group != Step::kNoGroup) std::tie(out.first_member, out.members_end) = members_of[step.group];
    if (out.first_member != out.members_end) out.join = ++joins_;
    StepId& before = last[step.stream.value()];
    const auto add = [&](std::uint32_t steps_earlier) { inputs_.push_back(steps_earlier * stride_); };
    add(before.valid() ? s.value() - before.value() : s.value() + count_ - last_of_round[step.stream.value()].value());
    for (const StepId wait : loop_.waits_of(s))
      if (loop_.steps[wait].stream != step.stream) add(s.value() - wait.value());
    for (; carried != loop_.carried.end() && carried->first == s; ++carried)
      if (loop_.steps[carried->second].stream != step.stream) add(s.value() + count_ - carried->second.value());
    before = s;
  }
  steps_.emplace_back().first_input = static_cast<std::uint32_t>(inputs_.size());
}

void LoopPlayer::set_duration(StepId step, std::span<const std::int64_t> by_rank) {
  Numbers& numbers = other_durations_.emplace_back(stride_, 0);
  std::copy(by_rank.begin(), by_rank.end(), numbers.begin());
  steps_[step.value()].duration = numbers.data();
}

bool LoopPlayer::play() {
  return row_kernels().play({steps_.data(), inputs_.data(), members_.data(), count_, joins_, rounds_, stride_,
                             ends_.data() + std::size_t{count_} * stride_, arrivals_.data(), last_start_.data()});
}

std::int64_t LoopPlayer::ready(StepId step, std::uint32_t rank) const {
  const LoopStep& s = of_round(step);
  if (s.join == 0) return start(step, rank);
  return arrivals_[(std::size_t{step.value() / count_} * joins_ + s.join - 1) * stride_ + rank];
}

std::int64_t LoopPlayer::last_end(StepId step) const {
  const std::int64_t* const row = end_row(step);
  return *std::max_element(row, row + loop_.ranks);
}

StepId LoopPlayer::input_ending_at(StepId step, std::uint32_t rank, std::int64_t time) const {
  const std::uint32_t s = step.value() % count_;
  for (std::uint32_t i = steps_[s].first_input; i < steps_[s + 1].first_input; ++i) {
    const std::uint32_t earlier = inputs_[i] / stride_;
    if (earlier <= step.value() && end(StepId(step.value() - earlier), rank) == time)
      return StepId(step.value() - earlier);
  }
  return {};
}

const Groups& LoopPlayer::group_of(StepId step) const {
  return loop_.groups[loop_.steps[StepId(step.value() % count_)].group];
}

const std::int64_t* LoopPlayer::last_ready_row(StepId step) const {
  const LoopStep& s = steps_[step.value()];
  if (s.join == 0) return last_start_row(step);
  return arrivals_.data() + (std::size_t{rounds_ - 1} * joins_ + s.join - 1) * stride_;
}

}  // namespace distsim::engine
