// Plays: who plays what a search asks for, threads alone or with a journal that keeps every one.
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
  /// Errors: those of StudyRun::begin.
  static Result<Plays> with_journal(Identity identity, const std::string& journal, bool resume, unsigned jobs);

  /// The next `count` rows, of(0) .. of(count - 1); nothing for those that a signal left out. Errors: the journal cannot be
  /// written; more rows than it can number.
  Result<std::vector<std::optional<Row>>> next(std::size_t count, const std::function<Row(std::size_t)>& of,
                                               const std::function<void()>& on_played);

  /// How a run with a journal goes on after a signal; nothing without one.
  std::optional<Error> interruption() const;

 private:
  struct Kept;
  Plays(unsigned jobs, std::shared_ptr<Kept> kept) : jobs_(jobs), kept_(std::move(kept)) {}

  unsigned jobs_;
  std::shared_ptr<Kept> kept_;
};

}  // namespace distsim::study
