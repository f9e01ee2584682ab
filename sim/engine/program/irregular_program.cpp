#include "sim/engine/program/irregular_program.hpp"

#include <limits>
#include <string>

#include "sim/engine/rows/row_evaluator.hpp"

namespace distsim::engine {
namespace {

constexpr std::uint64_t kMostSteps = std::numeric_limits<std::uint32_t>::max() - 1;

/// The groups of a partition, numbered from 0 by rank.
std::vector<std::uint32_t> group_of_rank(const Groups& groups, std::uint32_t ranks) {
  std::vector<std::uint32_t> group(ranks);
  for (std::uint32_t r = 0; r < ranks && !groups.listed(); ++r) {
    const std::uint32_t block = groups.size * groups.stride;
    group[r] = r / block * groups.stride + r % groups.stride;
  }
  for (std::uint32_t g = 0; g + 1 < groups.offsets.size(); ++g) {
    for (std::uint32_t i = groups.offsets[g]; i < groups.offsets[g + 1]; ++i) group[groups.members[i]] = g;
  }
  return group;
}

/// Numbers the meetings of an expanded program: one for every joining step and group.
class Meetings {
 public:
  explicit Meetings(const Program& p) : p_(p), first_(p.steps.size(), RankStep::kAlone) {
    for (const Groups& g : p.groups) groups_.push_back(group_of_rank(g, p.ranks));
  }
  void add(StepId s, std::vector<std::uint32_t>& sizes) {
    if (p_.steps[s].group == Step::kNoGroup) return;
    first_[s] = static_cast<std::uint32_t>(sizes.size());
    for (const std::uint32_t group : groups_[p_.steps[s].group]) {
      if (sizes.size() <= first_[s] + group) sizes.resize(first_[s] + group + 1, 0);
      ++sizes[first_[s] + group];
    }
  }
  std::uint32_t of(StepId s, std::uint32_t rank) const {
    return first_[s] == RankStep::kAlone ? RankStep::kAlone : first_[s] + groups_[p_.steps[s].group][rank];
  }

 private:
  const Program& p_;
  IdVector<StepId, std::uint32_t> first_;
  std::vector<std::vector<std::uint32_t>> groups_;
};

}  // namespace

Result<IrregularProgram> expand(const Program& program) {
  TRY(validate(program));
  const auto steps = static_cast<std::uint32_t>(program.steps.size());
  if (std::uint64_t{program.ranks} * steps > kMostSteps ||
      std::uint64_t{program.ranks} * program.waits.size() > kMostSteps) {
    return Error{"expand: found " + std::to_string(steps) + " steps on " + std::to_string(program.ranks) +
                     " ranks, expected at most " + std::to_string(kMostSteps) + " total",
                 "", ""};
  }
  IrregularProgram out{program.ranks, program.streams};
  Meetings meetings(program);
  for (StepId s(0); s < program.steps.end_id(); s = StepId(s.value() + 1)) meetings.add(s, out.meeting_sizes);
  std::vector<StepId> waits;
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
    for (StepId s(0); s < program.steps.end_id(); s = StepId(s.value() + 1)) {
      waits.clear();
      for (const StepId wait : program.waits_of(s)) waits.push_back(StepId(rank * steps + wait.value()));
      out.add({RankId(rank), program.steps[s].stream, program.steps[s].duration.at(rank), meetings.of(s, rank)}, waits);
    }
  }
  return out;
}

}  // namespace distsim::engine
