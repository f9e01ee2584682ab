#include "mpi_bench/collective/run/tcp/tcp_callers.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace distsim::bench::tcp {
namespace {

constexpr std::size_t kMostCallers = 256;
constexpr double kPerCaller = 0.1;  // s; a connection and its hello take far less, also on a busy node
constexpr std::chrono::milliseconds kPause{10};
constexpr std::chrono::seconds kSilence{1};

}  // namespace

/// The one that came first, if it has had time to speak and nothing of it waits to be read.
bool Callers::drop_silent() {
  if (callers_.empty() || std::chrono::steady_clock::now() - callers_.front().since < kSilence) return false;
  if (wait_for(callers_.front().socket.native_handle(), 0)) return false;
  callers_.pop_front();
  return true;
}

Result<void> Callers::take(Acceptor& acceptor) {
  auto socket = accept(acceptor, 0);
  if (socket.ok()) {
    callers_.push_back({std::move(socket).value()});
    if (callers_.size() > kMostCallers) drop_silent();
    return {};
  }
  if (socket.error().hint == kOutOfFiles && callers_.empty()) return socket.error();
  // Else it has left again, or the system lacks memory for now, or those who are here are heard first.
  if (socket.error().hint != kOutOfFiles || !drop_silent()) std::this_thread::sleep_for(kPause);
  return {};
}

void Callers::add_to(std::vector<pollfd>& lines) {
  for (Caller& caller : callers_) lines.push_back({caller.socket.native_handle(), POLLIN, 0});
}

Callers::State Callers::Caller::hear() {
  while (have < sizeof hello) {
    const ssize_t got =
        ::recv(socket.native_handle(), reinterpret_cast<char*>(&hello) + have, sizeof hello - have, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::unfinished;
    if (got <= 0) return State::stranger;
    have += static_cast<std::size_t>(got);
    if (std::memcmp(hello.magic, Hello{}.magic, std::min(have, sizeof hello.magic)) != 0) return State::stranger;
  }
  return State::whole;
}

std::vector<Callers::Introduced> Callers::hear(std::span<const pollfd> polled) {
  std::vector<Introduced> whole;
  std::deque<Caller> unfinished;
  for (std::size_t i = 0; i < callers_.size(); ++i) {
    Caller& caller = callers_[i];
    const auto state = polled[i].revents == 0 ? State::unfinished : caller.hear();
    if (state == State::unfinished) unfinished.push_back(std::move(caller));
    if (state == State::whole) whole.push_back({std::move(caller.socket), caller.hello});
  }
  callers_ = std::move(unfinished);
  return whole;
}

Result<void> admit_callers(Acceptor& acceptor, int count, double seconds,
                           const std::function<Result<bool>(Socket&, const Hello&)>& admit) {
  using Clock = std::chrono::steady_clock;
  const double patience = seconds + kPerCaller * count;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(patience));
  Callers callers;
  while (count > 0) {
    std::vector<pollfd> lines = {{acceptor.native_handle(), POLLIN, 0}};
    callers.add_to(lines);
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    if (left <= 0 || !wait_for_any(lines, left))
      return Error{"no connection within " + std::to_string(static_cast<int>(patience)) + " s", "", ""};
    for (Callers::Introduced& caller : callers.hear(std::span(lines).subspan(1))) {
      TRY_ASSIGN(const bool admitted, admit(caller.socket, caller.hello));
      if (!admitted) continue;
      if (--count == 0) return {};
    }
    if (lines.front().revents != 0) TRY(callers.take(acceptor));
  }
  return {};
}

}  // namespace distsim::bench::tcp
