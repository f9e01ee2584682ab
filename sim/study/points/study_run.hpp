// Studies: a list of points, each evaluated to one row, by threads or by the processes that mpirun or srun started, with
// a journal that holds every finished point. The rows do not depend on who evaluates them, nor in which order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/study/points/identity.hpp"
#include "sim/study/points/row.hpp"
#include "sim/study/points/team.hpp"

namespace distsim::study {

/// The points of a study, the same in every process that takes part.
struct PointList {
  std::string command;  ///< "sweep"
  Identity identity;    ///< what the rows depend on
  std::size_t count = 0;
  bool is_bound = false;  ///< `count` is a bound: nobody knows how many there will be
  /// Called by several threads, in any order, and perhaps twice for a point of which the first row was lost. Depends on the
  /// number alone.
  std::function<Row(std::size_t)> evaluate;
  /// Of two rows the one with the larger value is named by the progress line as the best so far; null: none is.
  std::function<double(const Row&)> worth;
  std::function<std::string(const Row&)> describe;  ///< "23.0 M samples/s"; needed with `worth`
};

/// The identity of a study with its command and the number of its points.
Identity identity_of(const PointList& points);

struct RunOptions {
  unsigned jobs = 0;     ///< threads of this process; 0: as many as it has cores to itself
  std::string journal;   ///< a file; empty: none
  bool resume = false;   ///< the journal may hold rows already
  Team* team = nullptr;  ///< the processes that take part; null: this one alone
};

/// One study from its start to its rows:
///   TRY_ASSIGN(auto run, StudyRun::begin(std::move(points), options));
///   if (run->is_over()) return {};                    // a process that worked for the first one: nothing to write here
///   TRY(run->evaluate());                              // or, in rounds, evaluate(numbers of points)
///   use(run->rows());
/// A point is evaluated once, however often it is asked for; what the journal holds without an error, not at all.
class StudyRun {
 public:
  /// Opens the journal, or works for the first process until that one is done. Errors: the journal is in use, belongs to
  /// another study or version, cannot be read or written; processes that see other files or are of another version.
  static Result<std::unique_ptr<StudyRun>> begin(PointList points, RunOptions options);
  ~StudyRun();
  StudyRun(const StudyRun&) = delete;
  StudyRun& operator=(const StudyRun&) = delete;

  bool is_over() const;

  /// All points, or those of the list, in about its order. Ends early, without an Error, when a signal asks for it (base/system/signals.hpp): then
  /// some points have no row. What memory did not suffice for has a row with that error, which the journal does not
  /// hold. Error: the journal cannot be written; what it holds up to there stays.
  Result<void> evaluate();
  Result<void> evaluate(std::span<const std::size_t> indices);

  /// Tells the followers (follower.hpp) of a team the rows of a round: those of the list that there are.
  void share(std::span<const std::size_t> indices);

  const Rows& rows() const;
  /// No more points are asked for: its threads end, and the rows stay.
  void dismiss();

  /// Threads of this process that evaluate points: as many as were asked for, or as it has cores to itself.
  unsigned threads() const;

  /// A signal asked for the end before all points had a row.
  bool was_cut() const;

  /// After an early end, what the command returns: "interrupted: 812 of 1,000 points are in J; the same command with --resume
  /// goes on". Its text is empty where a team's user has been told already.
  Error interruption() const;

 private:
  class Parts;
  explicit StudyRun(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace distsim::study
