#pragma once

#include <type_traits>
#include <utility>

#include "base/result.hpp"
#include "mpi_bench/collective/run/measure/measure.hpp"

namespace distsim::bench {

/// The value of `result`. A failure in the middle of a collective cannot be agreed on, as the other ranks are waiting
/// inside it: it ends the job.
template <class T>
T must(const Ranks& ranks, Result<T> result) {
  if (!result.ok()) ranks.abort(result.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace distsim::bench
