// fold_micro_steps: a long gradient accumulation from a short one. Once host and GPU have found their rhythm every
// further micro-step adds the same time, so the report of `accumulation = n + k` is that of n plus k times what the
// n-th micro-step added:
//   F(n + k) = F(n) + k * (F(n) - F(n - 1))        for every time F of the report, n = the longer of the two that were
//   played
// The linear law is exact for a program whose micro-steps are identical and whose transient has ended by the n-th (is_linear);
// parts that would turn negative are set to zero at the cost of idle time, so that compute + exposed + host + idle =
// iteration still holds on every rank.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "sim/report/limits.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

/// False where a further micro-step gives a stream more work than it adds to the iteration: something that does not grow with
/// the micro-steps, such as host time once an iteration, is still the limit, and will not be that of the whole. No less than
/// the work of the busiest stream is added in the long run.
bool is_linear(const Report& shorter, const Report& longer);
bool is_linear(const Brief& shorter, const Brief& longer);

/// Errors: the folded iteration, or the end of its range, is longer than 2^62 ps (1281 h), where times end.
Result<void> check_foldable(const Report& shorter, const Report& longer, std::int64_t more);
Result<void> check_foldable(const Brief& shorter, const Brief& longer, std::int64_t more);

/// `shorter` and `longer` differ by one micro-step, or a block of so many; `more` further ones follow. `context` is that of the
/// whole iteration.
Report fold_micro_steps(const Report& shorter, const Report& longer, std::int64_t more, ReportContext context,
                        std::int64_t block = 1);

/// Whether one of the two was analysed without the replay of what limits the folded iteration (Detail::report replays
/// its own limiter only): then both need Detail::every_limit.
bool lacks_replay(const Report& shorter, const Report& longer, std::int64_t more);

/// The same law for the figures of a table.
Brief fold_micro_steps(const Brief& shorter, const Brief& longer, std::int64_t more);

}  // namespace distsim::report
