// Callers of a port that anybody may call: heard side by side, so that none who is silent or stops amidst its first words holds
// up another. Includes Boost.Asio, so only .cpp files include it.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "mpi_bench/collective/run/tcp/tcp_socket.hpp"

namespace distsim::bench::tcp {

/// Who has connected and has not yet said all of its hello.
class Callers {
 public:
  struct Introduced {
    Socket socket;
    Hello hello;
  };

  /// Accepts the one that waits, if it still does. Where there are too many, or this process may open no more files, one that has
  /// been silent for a second is dropped: a rank says at once who it is. Error: no more files, and nobody is here.
  Result<void> take(Acceptor& acceptor);
  /// Appends a line for each.
  void add_to(std::vector<pollfd>& lines);
  /// Those whose hello is whole now. Who leaves, or says what no hello begins with, is dropped. `polled`: the lines that add_to
  /// has appended.
  std::vector<Introduced> hear(std::span<const pollfd> polled);

 private:
  enum class State { unfinished, whole, stranger };
  struct Caller {
    Socket socket;
    Hello hello{};
    std::size_t have = 0;  ///< bytes of the hello
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    State hear();
  };
  bool drop_silent();
  std::deque<Caller> callers_;
};

/// Takes callers until `admit` has said yes to `count` of them; the others are dropped. Error: some are missing after so many
/// seconds and 0.1 s for each, or this process may open no more files.
Result<void> admit_callers(Acceptor& acceptor, int count, double seconds,
                           const std::function<Result<bool>(Socket&, const Hello&)>& admit);

}  // namespace distsim::bench::tcp
