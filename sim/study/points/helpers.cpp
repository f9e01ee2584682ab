#include "sim/study/points/helpers.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/study/points/talk.hpp"

namespace distsim::study {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kAhead = 0.1;  // seconds of work that a process holds
constexpr auto kSilence = std::chrono::seconds(60);

/// Points a second: half of what was known, half of the last ones.
double rate_with(double rate, std::size_t points, Clock::duration time) {
  const double now = static_cast<double>(points) / std::max(1e-6, std::chrono::duration<double>(time).count());
  return rate > 0 ? (rate + now) / 2 : now;
}

}  // namespace

Helpers::Helpers(Team& team, Identity identity) : team_(team), identity_(std::move(identity)) {
  for (int rank = 1; rank < team.size(); ++rank) {
    helpers_.push_back({rank});
    helpers_.back().heard = Clock::now();
  }
}

Result<void> Helpers::greet(Helper& helper, const std::string& bytes) const {
  const std::optional<Greeting> greeting = decode_greeting(bytes);
  const std::string who = "process " + std::to_string(helper.rank);
  if (!greeting) return Error{who + " is of another version of distsim", "", ""};
  helper.host = greeting->host;
  helper.threads = greeting->threads;
  if (const std::string what = difference(greeting->identity, identity_); !what.empty())
    return Error{who + " on " + printable(helper.host) + " has another study: " + what, "", ""};
  return {};
}

Result<std::vector<Done>> Helpers::listen() {
  std::vector<Done> done;
  while (const std::optional<Message> message = team_.receive()) {
    if (message->from < 1 || message->from > static_cast<int>(helpers_.size())) continue;
    Helper& helper = helpers_[static_cast<std::size_t>(message->from - 1)];
    helper.heard = Clock::now();
    const Word word{message->kind};
    if (word == Word::hello) TRY(greet(helper, message->bytes));
    if (word == Word::failed)
      return Error{"process " + std::to_string(helper.rank) + " cannot take part: " + message->bytes, "", ""};
    if (word == Word::left) helper.threads = 0;
    if (word != Word::rows) continue;
    std::vector<Done> rows = decode_done(message->bytes);
    helper.rate = rate_with(helper.rate, rows.size(), helper.heard - helper.busy_since);
    helper.busy_since = helper.heard;
    for (Done& one : rows) {
      helper.given.erase(one.index);
      done.push_back(std::move(one));
    }
  }
  return done;
}

/// Half of what is left, divided by all, at most: so that no process works at the end while others wait.
std::size_t Helpers::wanted_by(const Helper& helper, std::size_t left) {
  const auto ahead = std::max<std::size_t>(helper.threads + 1, static_cast<std::size_t>(helper.rate * kAhead));
  const std::size_t most = std::min(ahead, std::max<std::size_t>(helper.threads, left / 2));
  return 2 * helper.given.size() > most ? 0 : most - helper.given.size();
}

void Helpers::feed(const Next& next, std::size_t left) {
  for (Helper& helper : helpers_) {
    if (helper.threads == 0 || helper.lost) continue;
    const std::size_t most = wanted_by(helper, left / (helpers_.size() + 1));
    const std::vector<std::size_t> work = most > 0 ? next(most) : std::vector<std::size_t>();
    if (work.empty()) continue;
    if (helper.given.empty()) helper.busy_since = Clock::now();
    helper.given.insert(work.begin(), work.end());
    if (!say(team_, helper.rank, Word::work, encode(std::span<const std::size_t>(work)))) helper.heard = {};
  }
}

std::vector<std::size_t> Helpers::take_back() {
  std::vector<std::size_t> points;
  for (Helper& helper : helpers_) {
    const bool silent = helper.threads == 0 || Clock::now() - helper.heard > kSilence;
    if (helper.given.empty() || !silent) continue;
    helper.lost = true;
    points.insert(points.end(), helper.given.begin(), helper.given.end());
    helper.given.clear();
    const std::size_t count = points.size();
    log_warn([&] {
      return "process " + std::to_string(helper.rank) + " on " + helper.host + " is gone; " + counted(count, "point") +
             " of it go to others";
    });
  }
  std::ranges::sort(points);
  return points;
}

void Helpers::drop() {
  for (Helper& helper : helpers_) helper.given.clear();
}

void Helpers::share(const std::vector<Done>& rows) {
  const std::string bytes = encode(rows);
  for (Helper& helper : helpers_) {
    if (!say(team_, helper.rank, Word::round, bytes)) helper.heard = {};
  }
}

}  // namespace distsim::study
