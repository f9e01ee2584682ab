// The figures of an iteration that was played as a loop: those that tables show, without the tables by op, collective and
// rank and the critical path that a report has besides. To the picosecond those of analyse() on the same iterations
// written out (figures_test.cpp, llm_figures_test.cpp).
#pragma once

#include "sim/engine/rows/loop_player.hpp"
#include "sim/report/limits.hpp"
#include "sim/report/loop/transfers.hpp"
#include "sim/report/report.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim::report {

/// A loop of roles that was played.
struct LoopPlay {
  const graph::CostedGraph* costed = nullptr;
  const IdVector<StepId, StepOrigin>* origins = nullptr;  ///< of a round's steps
  const engine::Roles* roles = nullptr;
  engine::LoopPlayer* player = nullptr;
};

/// As report::is_settled of a program.
bool is_settled(const LoopPlay& play);

/// Of the last play.
Brief brief_of(const LoopPlay& play);

/// Plays once more, without communication. Filled in are: context, iteration, low, high, the rates, compute, comm
/// and hidden_comm where `transfers` says so, exposed_comm, waiting, host_bound and idle (means over ranks, and as the only
/// entry of `ranks`), limits (without what would limit next) and terms.
Report figures_of(const LoopPlay& play, ReportContext context, Transfers transfers);

}  // namespace distsim::report
