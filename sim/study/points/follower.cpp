#include "sim/study/points/follower.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "base/system/signals.hpp"
#include "sim/study/points/helpers.hpp"
#include "sim/study/points/talk.hpp"

namespace distsim::study {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kPoll = milliseconds(2), kSendEvery = milliseconds(20);
constexpr auto kBeat = std::chrono::seconds(1);

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

Result<void> say_hello(Team& team, const Identity& identity, unsigned threads) {
  return say(team, 0, Word::hello, encode(Greeting{host_name(), threads, identity}));
}

/// Evaluates what the first process asks for, until it says something else than work: that message; nothing after an early
/// end was asked for.
Result<std::optional<Message>> work_for_the_first(Team& team, Crew& crew) {
  Clock::time_point spoke = Clock::now();
  std::vector<Done> done;
  std::optional<Message> end;
  while (!end && !end_asked()) {
    while (!end) {
      std::optional<Message> message = team.receive();
      if (!message) break;
      if (Word{message->kind} == Word::work)
        crew.give(decode_indices(message->bytes));
      else
        end = std::move(message);
    }
    if (crew.is_deserted()) crew.work_here();
    for (Done& one : crew.collect(kPoll)) done.push_back(std::move(one));
    const Clock::duration silent = Clock::now() - spoke;
    const bool now = crew.open() == 0 || silent > kSendEvery;
    if (!done.empty() && now) {
      TRY(say(team, 0, Word::rows, encode(done)));
      done.clear();
      spoke = Clock::now();
    } else if (silent > kBeat) {
      TRY(say(team, 0, Word::alive));
      spoke = Clock::now();
    }
  }
  crew.drop();
  if (end && Word{end->kind} == Word::stop) team.stopped = true;
  return end;
}

}  // namespace

Result<void> help(Team& team, const Identity& identity, const std::function<Row(std::size_t)>& evaluate,
                  unsigned threads) {
  Crew crew(evaluate, threads);
  TRY(say_hello(team, identity, threads));
  TRY(work_for_the_first(team, crew));
  return {};
}

Result<void> Follower::greet(const Identity& identity) { return say_hello(team_, identity, threads_); }

Result<std::vector<Done>> Follower::round() {
  if (!crew_) crew_ = std::make_unique<Crew>(evaluate_, threads_);
  TRY_ASSIGN(const std::optional<Message> end, work_for_the_first(team_, *crew_));
  while (crew_->open() > 0) (void)crew_->collect(kPoll);  // of rows that others have sent meanwhile
  if (!end || Word{end->kind} != Word::round) return Error{"", "", ""};
  return decode_done(end->bytes);
}

}  // namespace distsim::study
