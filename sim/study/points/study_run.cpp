#include "sim/study/points/study_run.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <new>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "base/output.hpp"
#include "base/system/memory.hpp"
#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "sim/study/points/crew.hpp"
#include "sim/study/points/helpers.hpp"
#include "sim/study/points/journal.hpp"
#include "sim/study/points/progress.hpp"

namespace distsim::study {
namespace {

using std::chrono::milliseconds;

constexpr auto kAlone = milliseconds(20), kInTeam = milliseconds(2);
constexpr double kGivenAhead = 0.1;  // seconds of work that the threads hold

/// Numbers of points that nobody has begun.
class Pending {
 public:
  explicit Pending(std::vector<std::size_t> indices) : indices_(std::move(indices)) {}
  std::size_t left() const { return again_.size() + indices_.size() - next_; }
  void put_back(const std::vector<std::size_t>& indices) {
    again_.insert(again_.end(), indices.begin(), indices.end());
  }

  std::vector<std::size_t> take(std::size_t most) {
    std::vector<std::size_t> out;
    out.reserve(std::min(most, left()));
    for (; out.size() < most && !again_.empty(); again_.pop_front()) out.push_back(again_.front());
    for (; out.size() < most && next_ < indices_.size(); ++next_) out.push_back(indices_[next_]);
    return out;
  }

 private:
  std::vector<std::size_t> indices_;
  std::size_t next_ = 0;
  std::deque<std::size_t> again_;
};

}  // namespace

class StudyRun::Parts {
 public:
  Parts(PointList list, RunOptions options) : list_(std::move(list)), options_(std::move(options)) {
    list_.identity = identity_of(list_);
  }

  Result<void> begin() {
    const unsigned own = cores_for_each(options_.team != nullptr ? options_.team->neighbours() : 1);
    threads_ = options_.jobs > 0 ? options_.jobs : own;
    if (options_.team != nullptr && !options_.team->leads()) {
      over_ = true;
      return help(*options_.team, list_.identity, list_.evaluate, threads_);
    }
    rows_ = Rows(list_.count);
    if (!options_.journal.empty()) {
      const auto take = [&](std::uint64_t index, std::string row) { return take_kept(index, std::move(row)); };
      TRY_ASSIGN(journal_, Journal::open(options_.journal, list_.identity, options_.resume, take));
    }
    if (options_.team != nullptr) helpers_.emplace(*options_.team, list_.identity);
    return {};
  }

  Result<void> evaluate(std::vector<std::size_t> indices) {
    std::erase_if(indices, [&](std::size_t i) { return rows_.has(i); });
    if (indices.empty()) return {};
    StudyProgress progress(list_.command, rows_.known() + indices.size(), rows_.known());
    const std::size_t goal = rows_.known() + indices.size();
    const Result<void> done = pursue(Pending(std::move(indices)), goal, progress);
    if (journal_) {
      const Result<void> kept = journal_->finish();
      if (done && !kept) return told_how(kept.error());
    }
    return done;
  }

  void share(std::span<const std::size_t> indices) {
    if (!helpers_) return;
    std::vector<Done> rows;
    for (const std::size_t i : indices) {
      if (rows_.has(i)) rows.push_back({i, std::string(rows_.bytes(i))});
    }
    helpers_->share(rows);
  }

  /// "812 of 1,000 points are in J; the same command with --resume goes on".
  std::string how_to_go_on() const {
    const std::string known = grouped(rows_.known() - starved_rows_);
    const std::string count = known + (list_.is_bound ? "" : " of " + grouped(list_.count)) + " points ";
    if (journal_) return count + "are in " + options_.journal + "; the same command with --resume goes on";
    return count + "were evaluated; a run with --journal FILE can go on where it stopped";
  }

  Error interruption() const { return {said_ ? "" : "interrupted: " + how_to_go_on(), "", ""}; }
  bool over() const { return over_; }
  unsigned threads() const { return threads_; }
  bool was_cut() const { return end_asked() && (was_cut_ || rows_.known() < list_.count); }
  const Rows& rows() const { return rows_; }
  void dismiss() { crew_.reset(); }

 private:
  bool take_kept(std::uint64_t index, std::string row) {
    if (index >= list_.count || rows_.has(index)) return false;
    const std::optional<Row> decoded = decode_row(row);
    if (!decoded) return false;
    if (!decoded->error.empty()) {  // a file that could not be read then may be there now
      failed_before_.insert_or_assign(index, std::move(row));
      return false;
    }
    compare(*decoded);
    return rows_.add(index, std::move(row));
  }

  void compare(const Row& row) {
    if (!list_.worth || !row.error.empty()) return;
    const double worth = list_.worth(row);
    if (best_worth_ && !(worth > *best_worth_)) return;
    best_worth_ = worth;
    const std::string best = list_.describe(row);
    best_ = best.empty() ? "" : "best " + best;
  }

  Result<void> pursue(Pending pending, std::size_t goal, StudyProgress& progress) {
    if (!crew_) crew_.emplace(list_.evaluate, threads_);
    rate_since_ = std::chrono::steady_clock::now();
    own_ = 0;
    std::vector<std::size_t> starved;
    while (rows_.known() + starved.size() < goal && !end_asked()) {
      feed(pending);
      TRY(take_all(collect(), starved));
      if (helpers_) {
        TRY_ASSIGN(std::vector<Done> done, helpers_->listen());
        TRY(take_all(std::move(done), starved));
        pending.put_back(helpers_->take_back());
      }
      if (journal_) TRY(saved(journal_->keep()));
      progress.show(rows_.known(), best_);
    }
    if (end_asked()) return give_up();
    TRY(finish_alone(starved));
    if (!starved.empty()) name_starved();
    return {};
  }

  void feed(Pending& pending) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - rate_since_).count();
    const double rate = seconds > 0 ? static_cast<double>(own_) / seconds : 0;
    const std::size_t ahead = std::max<std::size_t>(threads_ + 1, static_cast<std::size_t>(rate * kGivenAhead));
    const std::size_t waiting = crew_->waiting();
    const std::size_t share = options_.team != nullptr ? static_cast<std::size_t>(options_.team->size()) : 1;
    const std::size_t most =
        share > 1 ? std::min(ahead, std::max<std::size_t>(1, pending.left() / (2 * share))) : ahead;
    if (waiting <= most / 2) crew_->give(pending.take(most - waiting));
    if (helpers_) helpers_->feed([&](std::size_t wanted) { return pending.take(wanted); }, pending.left());
  }

  std::vector<Done> collect() {
    if (crew_->is_deserted()) crew_->work_here();
    std::vector<Done> done = crew_->collect(helpers_ ? kInTeam : kAlone);
    own_ += done.size();
    return done;
  }

  Result<void> take_all(std::vector<Done> done, std::vector<std::size_t>& starved) {
    for (Done& one : done) {
      if (one.index >= list_.count || rows_.has(one.index)) continue;  // of a process that had been given up
      if (one.row.empty()) {
        starved.push_back(one.index);
        continue;
      }
      TRY(journalize(one.index, one.row));
      if (list_.worth) compare(*decode_row(one.row));
      rows_.add(one.index, std::move(one.row));
    }
    return {};
  }

  /// What was begun ends soon, most of it without a row; the journal has all that there is before anything else happens.
  Result<void> give_up() {
    crew_->drop();
    if (journal_) TRY(saved(journal_->finish()));
    if (options_.team != nullptr) {  // mpirun ends all processes a second after it asked them to
      remark("interrupted: " + how_to_go_on());
      said_ = true;
    }
    std::vector<std::size_t> starved;
    while (crew_->open() > 0) TRY(take_all(crew_->collect(kAlone), starved));
    if (helpers_) helpers_->drop();
    for (const auto& [index, row] : failed_before_) was_cut_ = rows_.add(index, row) || was_cut_;  // as they were
    return {};
  }

  /// Points for which memory did not suffice while others were at work.
  Result<void> finish_alone(const std::vector<std::size_t>& starved) {
    for (const std::size_t index : starved) {
      std::string row;
      try {
        row = encode(list_.evaluate(index));
        TRY(journalize(index, row));
      } catch (const std::bad_alloc&) {
        row = encode(Row{{}, {}, kMemoryRanOut});
        ++starved_rows_;
      }
      rows_.add(index, std::move(row));
    }
    return {};
  }

  /// Of some points. Where it is all of them, the command ends with the reason of the first.
  void name_starved() const {
    if (starved_rows_ == 0 || starved_rows_ == rows_.known()) return;
    try {
      remark(std::string(kMemoryRanOut) + ": no prediction of " + grouped(starved_rows_) + " of " +
             counted(rows_.known(), "point"));
    } catch (const std::bad_alloc&) {  // the rows say so, too
    }
  }

  Result<void> journalize(std::uint64_t index, const std::string& row) {
    const auto before = failed_before_.find(index);
    if (!journal_ || (before != failed_before_.end() && before->second == row)) return {};
    return saved(journal_->add(index, row));
  }

  Result<void> saved(Result<void> written) {
    if (written) return {};
    crew_->drop();
    return told_how(written.error());
  }
  Error told_how(Error error) const {
    error.hint = "what it holds stays; the same command with --resume goes on";
    return error;
  }

  PointList list_;
  const RunOptions options_;
  unsigned threads_ = 1;
  bool over_ = false, said_ = false, was_cut_ = false;
  Rows rows_;
  std::optional<Journal> journal_;
  std::map<std::uint64_t, std::string> failed_before_;  ///< rows of the journal without a prediction, by their point
  std::optional<Helpers> helpers_;
  std::optional<double> best_worth_;
  std::string best_;
  std::size_t own_ = 0, starved_rows_ = 0;
  std::chrono::steady_clock::time_point rate_since_;
  std::optional<Crew> crew_;  // last: its threads use the rest
};

Identity identity_of(const PointList& points) {
  Identity out{{"command", points.command}};
  out.insert(out.end(), points.identity.begin(), points.identity.end());
  out.push_back({"points", std::to_string(points.count)});
  return out;
}

StudyRun::StudyRun(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
StudyRun::~StudyRun() = default;

Result<std::unique_ptr<StudyRun>> StudyRun::begin(PointList points, RunOptions options) {
  auto parts = std::make_unique<Parts>(std::move(points), std::move(options));
  TRY(parts->begin());
  return std::unique_ptr<StudyRun>(new StudyRun(std::move(parts)));
}

void StudyRun::dismiss() { parts_->dismiss(); }
bool StudyRun::is_over() const { return parts_->over(); }
void StudyRun::share(std::span<const std::size_t> indices) { parts_->share(indices); }
const Rows& StudyRun::rows() const { return parts_->rows(); }
unsigned StudyRun::threads() const { return parts_->threads(); }
bool StudyRun::was_cut() const { return parts_->was_cut(); }
Error StudyRun::interruption() const { return parts_->interruption(); }

Result<void> StudyRun::evaluate() {
  std::vector<std::size_t> all(parts_->rows().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return parts_->evaluate(std::move(all));
}

Result<void> StudyRun::evaluate(std::span<const std::size_t> indices) {
  std::vector<bool> seen(parts_->rows().size());
  std::vector<std::size_t> wanted;
  for (const std::size_t index : indices) {
    CHECK(index < seen.size());
    if (!seen[index]) wanted.push_back(index);
    seen[index] = true;
  }
  return parts_->evaluate(std::move(wanted));
}

}  // namespace distsim::study
