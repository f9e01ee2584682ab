// SteadyState: which window and which steps a report is about (see report.hpp for the definitions).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/rows/recurrence.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

/// The times of one step, ready to be read rank by rank.
class RowView {
 public:
  RowView() = default;
  explicit RowView(const engine::Row& row)
      : values_(row.uniform() ? nullptr : row.values().data()),
        scalar_(row.scalar()),
        each_(row.each()),
        period_(row.repeats() > 1 ? static_cast<std::uint32_t>(row.values().size()) : 0) {}
  /// A number for each rank.
  explicit RowView(const std::int64_t* values) : values_(values) {}
  explicit RowView(const engine::Recurrence::Times& times) : values_(times.row), scalar_(times.low) {}
  std::int64_t at(std::uint32_t rank) const {
    if (values_ == nullptr) return scalar_;
    const std::uint32_t place = each_ == 1 ? rank : rank / each_;
    return values_[period_ == 0 ? place : place % period_];
  }
  bool uniform() const { return values_ == nullptr; }
  const std::int64_t* values() const { return values_; }  ///< one for every each() ranks
  std::uint32_t each() const { return each_; }
  std::uint32_t period() const { return period_; }  ///< numbers after which they repeat; 0: they do not

 private:
  const std::int64_t* values_ = nullptr;
  std::int64_t scalar_ = 0;
  std::uint32_t each_ = 1, period_ = 0;
};

/// Whether a task of a stream is work of the host that it waits for, as on inputs: no kernel and no copy.
bool prepares(const graph::CostedGraph& costed, const graph::Task& task);

/// A device step of the last iteration.
struct DeviceStep {
  StepId step;
  TaskId task;
  bool collective = false;
  bool prepares = false;  ///< see prepares()
  RowView ready, start, end;
  std::uint32_t first_launch = 0, launches = 0;  ///< the host steps it waits for, in SteadyState::launch_ends
};

struct SteadyState {
  std::int64_t begin = 0, end = 0;  ///< the window
  bool repeats = false;  ///< several iterations were played, so that after the window's last step comes its first one,
                         ///< a period later
  std::vector<DeviceStep> steps;     ///< device steps of the last iteration, in program order
  std::vector<RowView> launch_ends;  ///< ends of host steps
  std::int64_t period() const { return end - begin; }
  std::span<const RowView> launches_of(const DeviceStep& s) const {
    return {launch_ends.data() + s.first_launch, s.launches};
  }
};

/// Of each stream that has any, the last device step of an iteration; in program order.
std::vector<StepId> last_of_streams(const Played& played, std::uint16_t iteration);

/// Views into `played`, which must outlive the result.
SteadyState steady_state(const Played& played);

/// The same of the last play of `recurrence`, a program with the steps of `played` and as many ranks as it likes. The
/// views hold until the next play.
SteadyState steady_state(const Played& played, const engine::Recurrence& recurrence);

/// Whether no stream of any rank took longer from the last iteration but one to the last than the iterations are apart:
/// one that did falls behind, and will hold up the others when the time that it had in hand is used up. (In a max-plus
/// recurrence the largest of these times bounds the period of the steady state from above, and the window that is
/// reported has a cycle that bounds it from below.) A tenth of a percent is let pass.
bool is_settled(const Played& played);

/// The same of the last play of `recurrence`.
bool is_settled(const Played& played, const engine::Recurrence& recurrence);

/// The largest value of a row.
std::int64_t max_of(const engine::Row& row);

/// Ranks whose device steps have equal times all through the last iteration. Classes are numbered by their first rank.
struct RankClasses {
  std::uint32_t each = 1;  ///< neighbouring ranks that have the same number in every row (Row::each)
  std::vector<std::uint32_t>
      of_place;  ///< class of ranks each * i .. each * (i + 1) - 1, over and over; empty where all ranks are equal
  std::vector<std::uint32_t> first;  ///< lowest rank of a class
  std::vector<std::uint32_t> count;  ///< ranks in it
  std::size_t size() const { return first.size(); }
  std::uint32_t of(std::uint32_t rank) const { return of_place.empty() ? 0 : of_place[rank / each % of_place.size()]; }
};

/// By a 64-bit fingerprint of each rank's times, one pass over the rows that differ.
RankClasses rank_classes(const SteadyState& state, std::uint32_t ranks);

}  // namespace distsim::report
