// A process of a team that runs the same search as the first one, and plays what that one gives it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/study/points/crew.hpp"
#include "sim/study/points/identity.hpp"
#include "sim/study/points/team.hpp"

namespace distsim::study {

/// The rounds of a search are the same in all processes, as what it asks for depends on earlier rows only. In each, this process
/// evaluates what the first one gives it, and gets all rows.
class Follower {
 public:
  /// `evaluate`: of points of the round at hand, by `threads` threads.
  Follower(Team& team, std::function<Row(std::size_t)> evaluate, unsigned threads)
      : team_(team), evaluate_(std::move(evaluate)), threads_(threads) {}

  Result<void> greet(const Identity& identity);

  /// The rows of one round, as encoded rows with their numbers; fewer where the first process was asked to end early. An Error
  /// without text: that one has ended, and has told why.
  Result<std::vector<Done>> round();

 private:
  Team& team_;
  const std::function<Row(std::size_t)> evaluate_;
  const unsigned threads_;
  std::unique_ptr<Crew> crew_;
};

}  // namespace distsim::study
