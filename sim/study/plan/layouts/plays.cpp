#include "sim/study/plan/layouts/plays.hpp"

#include <algorithm>
#include <numeric>

#include "base/system/signals.hpp"
#include "sim/study/workers.hpp"

namespace distsim::study {

struct Plays::Kept {
  std::unique_ptr<StudyRun> run;
  std::function<Row(std::size_t)> of;  ///< of the round at hand
  std::size_t first = 0;               ///< number of its first row
  std::size_t asked = 0;               ///< rows that were asked for so far
};

Result<Plays> Plays::with_journal(Identity identity, const std::string& journal, bool resume, unsigned jobs) {
  auto kept = std::make_shared<Kept>();
  PointList points;
  points.command = "plan";
  points.identity = std::move(identity);
  points.count = kMostKept;
  points.evaluate = [round = kept.get()](std::size_t number) { return round->of(number - round->first); };
  TRY_ASSIGN(kept->run, StudyRun::begin(std::move(points), {jobs, journal, resume, nullptr}));
  return Plays(jobs, std::move(kept));
}

Result<std::vector<std::optional<Row>>> Plays::next(std::size_t count, const std::function<Row(std::size_t)>& of,
                                                    const std::function<void()>& on_played) {
  std::vector<std::optional<Row>> rows(count);
  if (!kept_) {
    const auto left = for_each_index(
        count, jobs_, [&](std::size_t i) { rows[i] = of(i); }, on_played);
    if (!left.empty() && !end_asked()) return Error{why_left(), "", ""};
    for (const std::size_t i : left) rows[i].reset();
    return rows;
  }
  if (kept_->asked + count > kMostKept)
    return Error{"--journal: found more than 1,000,000 layouts to play, expected fewer", "", "--max-played 1000000"};
  kept_->of = of;
  kept_->first = kept_->asked;
  kept_->asked += count;
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), kept_->first);
  TRY(kept_->run->evaluate(numbers));
  for (std::size_t i = 0; i < count; ++i) {
    if (kept_->run->rows().has(numbers[i])) rows[i] = kept_->run->rows().at(numbers[i]);
    on_played();
  }
  return rows;
}

std::optional<Error> Plays::interruption() const {
  if (!kept_) return std::nullopt;
  return kept_->run->interruption();
}

}  // namespace distsim::study
