#include "sim/study/plan/layouts/plays.hpp"

#include <algorithm>
#include <numeric>

#include "base/system/signals.hpp"
#include "sim/study/points/follower.hpp"
#include "sim/study/workers.hpp"

namespace distsim::study {

struct Plays::Kept {
  std::unique_ptr<StudyRun> run;       ///< of the first process
  std::unique_ptr<Follower> follower;  ///< of any other
  std::function<Row(std::size_t)> of;  ///< of the round at hand
  std::size_t first = 0;               ///< number of its first row
  std::size_t asked = 0;               ///< rows that were asked for so far
};

Result<Plays> Plays::kept(Identity identity, RunOptions options) {
  auto kept = std::make_shared<Kept>();
  PointList points;
  points.command = "plan";
  points.identity = std::move(identity);
  points.count = kMostKept;
  points.is_bound = true;
  points.evaluate = [round = kept.get()](std::size_t number) { return round->of(number - round->first); };
  const unsigned jobs = options.jobs;
  if (options.team != nullptr && !options.team->leads()) {
    kept->follower = std::make_unique<Follower>(*options.team, points.evaluate, jobs);
    TRY(kept->follower->greet(identity_of(points)));
  } else {
    TRY_ASSIGN(kept->run, StudyRun::begin(std::move(points), std::move(options)));
  }
  return Plays(jobs, std::move(kept));
}

Result<std::vector<std::optional<Row>>> Plays::next(std::size_t count, const std::function<Row(std::size_t)>& of,
                                                    const std::function<void()>& on_played) {
  if (kept_) {
    TRY_ASSIGN(auto rows, next_kept(count, of));
    for (std::size_t i = 0; i < count; ++i) on_played();
    return rows;
  }
  std::vector<std::optional<Row>> rows(count);
  const auto left = for_each_index(
      count, jobs_, [&](std::size_t i) { rows[i] = of(i); }, on_played);
  if (!left.empty() && !end_asked()) return Error{why_left(), "", ""};
  for (const std::size_t i : left) rows[i].reset();
  return rows;
}

Result<std::vector<std::optional<Row>>> Plays::next_kept(std::size_t count, const std::function<Row(std::size_t)>& of) {
  Kept& kept = *kept_;
  if (kept.asked + count > kMostKept)
    return Error{"found more than 1,000,000 layouts to play, expected fewer with --journal or under mpirun", "",
                 "--max-played 1000000"};
  kept.of = of;
  kept.first = kept.asked;
  kept.asked += count;
  std::vector<std::optional<Row>> rows(count);
  if (kept.follower) {
    TRY_ASSIGN(const std::vector<Done> done, kept.follower->round());
    for (const Done& one : done) {
      if (one.index >= kept.first && one.index < kept.asked) rows[one.index - kept.first] = decode_row(one.row);
    }
    return rows;
  }
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), kept.first);
  TRY(kept.run->evaluate(numbers));
  kept.run->share(numbers);
  for (std::size_t i = 0; i < count; ++i) {
    if (kept.run->rows().has(numbers[i])) rows[i] = kept.run->rows().at(numbers[i]);
  }
  return rows;
}

}  // namespace distsim::study
