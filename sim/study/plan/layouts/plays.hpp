// Plays: who plays what a search asks for: threads alone, or with a journal that keeps every one, or with the other
// processes of a team, which run the same search.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "sim/study/points/study_run.hpp"

namespace distsim::study {

/// A search asks for rows in rounds. The n-th row that it asks for is the same in every run of the same search, as what it
/// asks for depends on earlier rows only: so the journal numbers them in that order, and a run that is resumed finds its own.
class Plays {
 public:
  /// Rows that a journal can number; more are not asked for.
  static constexpr std::size_t kMostKept = 1'000'000;

  /// Without a journal: `jobs` threads.
  static Plays of_threads(unsigned jobs) { return Plays(jobs, nullptr); }
  /// With a journal or a team, or both. Errors: those of StudyRun::begin.
  static Result<Plays> kept(Identity identity, RunOptions options);

  /// The next `count` rows, of(0) .. of(count - 1); nothing for those that a signal left out. Errors: the journal cannot be
  /// written; more rows than it can number; in a process that follows the first one, one without text: that one has ended.
  Result<std::vector<std::optional<Row>>> next(std::size_t count, const std::function<Row(std::size_t)>& of,
                                               const std::function<void()>& on_played);

 private:
  struct Kept;
  Result<std::vector<std::optional<Row>>> next_kept(std::size_t count, const std::function<Row(std::size_t)>& of);
  Plays(unsigned jobs, std::shared_ptr<Kept> kept) : jobs_(jobs), kept_(std::move(kept)) {}

  unsigned jobs_;
  std::shared_ptr<Kept> kept_;
};

}  // namespace distsim::study
