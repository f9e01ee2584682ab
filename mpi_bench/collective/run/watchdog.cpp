#include "mpi_bench/collective/run/watchdog.hpp"

#include <fcntl.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>

#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "mpi_bench/collective/ranks/stall.hpp"
#include "mpi_bench/collective/run/tcp/tcp_callers.hpp"
#include "mpi_bench/collective/run/tcp/tcp_socket.hpp"
#include "mpi_bench/common/pulse.hpp"

namespace distsim::bench {
namespace {

constexpr auto kBeat = std::chrono::milliseconds(200);
constexpr double kSetup = 10;
constexpr double kSpeaker = 1, kOthers = 3;  // seconds beyond the limit before the first rank is given up

enum class Word : std::uint32_t { alive, farewell, stop };

/// What ranks and monitor tell each other.
struct Beat {
  Word word = Word::alive;
  std::uint32_t waiting = 0;
  std::uint64_t meetings = 0, calls = 0;
  std::uint32_t saved = 0;  ///< of rank 0, which writes the files
  char activity[100] = "";
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// What a job leaves that is ended now.
std::string job_aborted(bool saved) {
  return std::string("; job aborted") + (saved ? ", finished results are in the files, marked partial" : "");
}

[[noreturn]] void end_process(const std::string& why) {
  if (!why.empty()) std::fprintf(stderr, "collective_bench: %s\n", why.c_str());
  std::fflush(stderr);
  end_at_once(kStalledExit);
}

/// Whole beats out of a stream, without blocking.
class BeatReader {
 public:
  enum class State { nothing, beat, closed };
  State read(tcp::Socket& socket, Beat& beat) {
    while (have_ < sizeof(Beat)) {
      const ssize_t got = ::recv(socket.native_handle(), reinterpret_cast<char*>(&partial_) + have_,
                                 sizeof(Beat) - have_, MSG_DONTWAIT);
      if (got == 0) return State::closed;
      if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? State::nothing : State::closed;
      have_ += static_cast<std::size_t>(got);
    }
    have_ = 0;
    beat = partial_;
    beat.activity[sizeof beat.activity - 1] = '\0';
    return State::beat;
  }

 private:
  Beat partial_{};
  std::size_t have_ = 0;
};

void send_beat(tcp::Socket& socket, const Beat& beat) {
  (void)!::send(socket.native_handle(), &beat, sizeof beat,
                MSG_DONTWAIT | MSG_NOSIGNAL);  // a full or broken line is noticed by who reads
}

}  // namespace

struct Watchdog::Impl {
  int rank = 0, size = 1, lanes = 1;
  double limit_s = 0;
  std::vector<std::string> hosts;
  tcp::Io io;
  std::vector<std::optional<tcp::Socket>> lines;  ///< rank 0: by rank; others: only [0]
  std::mutex mutex;
  std::string activity = "starting";
  std::atomic<bool> ending{false};
  std::thread thread;

  Beat my_beat(Word word) {
    const std::lock_guard lock(mutex);
    Beat beat{.word = word,
              .waiting = pulse().waiting.load(),
              .meetings = pulse().meetings.load(),
              .calls = pulse().calls.load()};
    std::snprintf(beat.activity, sizeof beat.activity, "%s", activity.c_str());
    return beat;
  }

  std::string name_of(int r) const {
    const std::string first = std::to_string(r * lanes), last = std::to_string((r + 1) * lanes - 1);
    return (lanes == 1 ? "rank " + first : "the process of ranks " + first + " .. " + last) + " on " + hosts[r];
  }

  // Rank 0 watches all.
  void monitor() {
    std::vector<RankState> states(static_cast<std::size_t>(size), RankState{.heard_at = now(), .moved_at = now()});
    std::vector<BeatReader> readers(static_cast<std::size_t>(size));
    std::vector<bool> left(static_cast<std::size_t>(size), false);
    while (!ending.load()) {
      std::this_thread::sleep_for(kBeat);
      note(states[0], my_beat(Word::alive));
      for (int r = 1; r < size; ++r) {
        if (!lines[r]) {  // it watches itself
          note(states[r], Beat{.meetings = ~0ull});
          continue;
        }
        if (left[r]) continue;
        listen_to(r, states[r], readers[r], left);
        send_beat(*lines[r], Beat{.saved = pulse().saved.load()});
      }
      judge(states, left);
    }
  }

  void listen_to(int r, RankState& state, BeatReader& reader, std::vector<bool>& left) {
    Beat beat;
    for (auto got = reader.read(*lines[r], beat); got != BeatReader::State::nothing;
         got = reader.read(*lines[r], beat)) {
      if (got == BeatReader::State::closed) {
        state.gone = true;
        return;
      }
      note(state, beat);
      if (beat.word == Word::farewell) {
        left[r] = true;
        return;
      }
    }
  }

  static void note(RankState& state, const Beat& beat) {
    state.heard_at = now();
    const bool moved = beat.meetings != state.meetings || beat.calls != state.calls ||
                       (beat.waiting != 0) != state.waiting || state.activity != beat.activity;
    if (moved) state.moved_at = state.heard_at;
    state.meetings = beat.meetings;
    state.calls = beat.calls;
    state.waiting = beat.waiting != 0;
    state.activity = beat.activity;
  }

  void judge(std::vector<RankState>& states, const std::vector<bool>& left) {
    for (int r = 0; r < size; ++r) {
      if (left[r]) note(states[r], Beat{.meetings = ~0ull});  // it is done
    }
    const auto verdict = verdict_of(states, now(), limit_s);
    if (!verdict || ending.load()) return;
    const int first = verdict->ranks.front();
    const RankState& state = states[first];
    const std::size_t more = verdict->ranks.size() - 1;
    const std::string others = more == 0 ? "" : " (and " + counted(more, "more rank") + ")";
    std::string text = name_of(first) + others + " " + verdict->why +
                       " at: " + (verdict->silent ? states[0] : state).activity + " (" + std::to_string(state.calls) +
                       " calls done)";
    if (!state.gone) text += ", no progress for " + std::to_string(static_cast<int>(limit_s)) + " s";
    for (int r = 1; r < size; ++r) {
      if (lines[r]) send_beat(*lines[r], Beat{.word = Word::stop});
    }
    end_process(text + job_aborted(pulse().saved.load()));
  }

  // The others report to rank 0, and notice when it has exited.
  void report() {
    // Rank 1 reports for all. The others give it time, because the first rank that exits makes mpirun end the rest.
    const double patience = limit_s + (rank == 1 ? kSpeaker : kOthers);
    BeatReader reader;
    double heard_at = now();
    bool saved = false;
    while (!ending.load()) {
      send_beat(*lines[0], my_beat(Word::alive));
      std::this_thread::sleep_for(kBeat);
      Beat beat;
      for (auto got = reader.read(*lines[0], beat); got != BeatReader::State::nothing;
           got = reader.read(*lines[0], beat)) {
        if (ending.load()) return;
        if (got == BeatReader::State::closed) end_process(rank == 1 ? name_of(0) + " has exited; job aborted" : "");
        if (beat.word == Word::stop) end_process("");
        if (beat.word == Word::farewell) return;
        saved = beat.saved != 0;
        heard_at = now();
      }
      if (limit_s > 0 && now() - heard_at > patience && !ending.load())
        end_process(rank == 1 ? name_of(0) + " does not respond at: " + std::string(my_beat(Word::alive).activity) +
                                    job_aborted(saved)
                              : "");
    }
  }

  // Without a line to rank 0.
  void watch_myself() {
    RankState state{.heard_at = now(), .moved_at = now()};
    while (!ending.load()) {
      std::this_thread::sleep_for(kBeat);
      note(state, my_beat(Word::alive));
      if (limit_s > 0 && now() - state.moved_at > limit_s)
        end_process(name_of(rank) + " made no progress for " + std::to_string(static_cast<int>(limit_s)) +
                    " s at: " + state.activity);
    }
  }

  Result<void> call_root(const std::string& card, std::uint64_t cookie, bool same_node) {
    std::istringstream words(card);
    int port = 0;
    words >> port;
    std::vector<std::string> places;
    if (same_node) places.push_back("127.0.0.1");
    for (std::string place; words >> place;) places.push_back(place);
    std::string why = "no address";
    for (const std::string& place : places) {
      auto socket = tcp::call_once(io, place, port, 3);
      if (socket.ok()) {
        lines[0].emplace(std::move(socket).value());
        return tcp::write_value(*lines[0], tcp::Hello{.cookie = cookie, .rank = rank});
      }
      why = socket.error().text();
    }
    return Error{why, "", ""};
  }

  /// Who does not come watches itself.
  void take_calls(tcp::Acceptor& acceptor, std::uint64_t cookie) {
    (void)tcp::admit_callers(acceptor, size - 1, kSetup,
                             [&](tcp::Socket& socket, const tcp::Hello& hello) -> Result<bool> {
                               if (!hello.valid(cookie) || hello.rank < 1 || hello.rank >= size || lines[hello.rank])
                                 return false;
                               lines[hello.rank].emplace(std::move(socket));
                               return true;
                             });
  }
};

Watchdog::Watchdog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::unique_ptr<Watchdog> Watchdog::start(const ProcessRanks& ranks, double limit_s, int lanes) {
  auto impl = std::make_unique<Impl>();
  impl->rank = ranks.rank();
  impl->size = ranks.size();
  impl->limit_s = limit_s;
  impl->lanes = lanes;
  for (int r = 0; r < ranks.size(); ++r) impl->hosts.push_back(ranks.host(r));
  impl->lines.resize(static_cast<std::size_t>(ranks.rank() == 0 ? ranks.size() : 1));

  auto acceptor = tcp::listen(impl->io, 0);
  const std::string port = acceptor.ok() ? std::to_string(acceptor->local_endpoint().port()) : "0";
  const std::string card = ranks.from_root(port + " " + ranks.host() + " " + tcp::local_addresses());
  const std::uint64_t cookie =
      std::stoull(ranks.from_root(std::to_string(std::random_device{}() * 0x100000001ull + std::random_device{}())));
  if (ranks.rank() == 0) {
    if (acceptor.ok()) impl->take_calls(*acceptor, cookie);
  } else {
    const Result<void> called = impl->call_root(card, cookie, ranks.node_of()[0] == ranks.node());
    if (!called.ok()) impl->lines[0].reset();
    if (!called.ok())
      std::fprintf(stderr, "collective_bench: rank %d only monitors itself: rank 0 cannot be reached (%s)\n",
                   ranks.rank(), called.error().text().c_str());
  }
  ranks.barrier();
  Impl* self = impl.get();
  self->thread = std::thread([self] {
    self->rank == 0 ? self->monitor() : self->lines[0] ? self->report() : self->watch_myself();
  });
  return std::unique_ptr<Watchdog>(new Watchdog(std::move(impl)));
}

void Watchdog::doing(const std::string& activity) {
  const std::lock_guard lock(impl_->mutex);
  impl_->activity = activity;
}

Watchdog::~Watchdog() {
  impl_->ending.store(true);
  if (impl_->thread.joinable()) impl_->thread.join();
  if (std::uncaught_exceptions() > 0) return;  // not done: the others see that the line closes
  for (auto& line : impl_->lines) {
    if (line) send_beat(*line, Beat{.word = Word::farewell});
  }
}

}  // namespace distsim::bench
