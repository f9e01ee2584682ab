// The other processes of a team, as the first one sees them, and what they do for it.
#pragma once

#include <chrono>
#include <functional>
#include <unordered_set>
#include <vector>

#include "base/result.hpp"
#include "sim/study/points/crew.hpp"
#include "sim/study/points/identity.hpp"
#include "sim/study/points/team.hpp"

namespace distsim::study {

/// Hands out points and takes rows. Each process gets as many points at once as it evaluates in about kAhead, so that the fast
/// ones get more. One that is silent for kSilence is given up, and its points go to others; what it sends later on counts
/// all the same.
class Helpers {
 public:
  using Next = std::function<std::vector<std::size_t>(std::size_t most)>;

  Helpers(Team& team, Identity identity);

  /// What has come. Errors: a process cannot take part, or sees another study.
  Result<std::vector<Done>> listen();
  /// Gives work to those who run short of it. `left`: points that nobody has begun.
  void feed(const Next& next, std::size_t left);
  /// Points of processes that have been given up since the last call.
  std::vector<std::size_t> take_back();
  /// Tells all of them the rows of a round of a search.
  void share(const std::vector<Done>& rows);
  /// Forgets what was given: nobody waits for it any longer.
  void drop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Helper {
    int rank = 0;
    std::string host;
    unsigned threads = 0;  ///< 0: has not said hello
    bool lost = false;
    std::unordered_set<std::size_t> given;
    double rate = 0;  ///< points a second, of late
    Clock::time_point heard, busy_since;
  };
  Result<void> greet(Helper& helper, const std::string& bytes) const;
  static std::size_t wanted_by(const Helper& helper, std::size_t left);

  Team& team_;
  const Identity identity_;
  std::vector<Helper> helpers_;
};

/// Evaluates what the first process asks for, until that one says stop or an early end is asked for.
Result<void> help(Team& team, const Identity& identity, const std::function<Row(std::size_t)>& evaluate,
                  unsigned threads);

}  // namespace distsim::study
