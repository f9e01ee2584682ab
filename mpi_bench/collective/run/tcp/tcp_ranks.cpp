// Ranks that find each other over TCP: a star around rank 0.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>

#include "base/system/signals.hpp"
#include "base/text/printable.hpp"
#include "mpi_bench/collective/ranks/ranks.hpp"
#include "mpi_bench/collective/run/tcp/tcp_callers.hpp"
#include "mpi_bench/collective/run/tcp/tcp_socket.hpp"
#include "mpi_bench/common/pulse.hpp"

namespace distsim::bench {
namespace {

constexpr double kLookupSeconds = 5;
constexpr double kLateWord = 0.5;  // rank 0, whose patience may end at the same time, knows who is missing

// Hints of the errors for a rank that does not come in time.
constexpr const char* kMissing = "missing, stopped, or started with another --port";
constexpr const char* kAnotherMissing = "another rank is missing, or another program listens there";
constexpr const char* kLeft = "its own output says why";
constexpr const char* kNotThisRank = "nothing is wrong with this rank";

/// What rank 0 answers to the hello of another.
constexpr int kRefuses = 0, kStarts = 1, kCannotStart = 2;

std::vector<std::string> hosts_of(const TcpPlaces& places) {
  std::vector<std::string> hosts = places.hosts;
  hosts.resize(static_cast<std::size_t>(places.size));
  hosts[static_cast<std::size_t>(places.rank)] = places.my_host;
  return hosts;
}

double seconds_to(std::chrono::steady_clock::time_point end) {
  return std::max(0.0, std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count());
}

class TcpRanks : public ProcessRanks {
 public:
  TcpRanks(const TcpPlaces& places)
      : ProcessRanks(places.rank, places.size, hosts_of(places)), lines_(static_cast<std::size_t>(places.size)) {}

  Result<void> connect(const TcpPlaces& places) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                            std::chrono::duration<double>(places.patience_s));
    if (!places.hosts.empty()) TRY(known_hosts(places.hosts));
    TRY(rank() == 0 ? wait_for_all(places, end) : call_root(places, end));
    meet(places.my_host);
    return {};
  }

  std::string carrier() const override { return "TCP"; }
  void barrier() const override { (void)gather(""); }

  std::vector<std::string> gather(const std::string& text) const override {
    const Meeting meeting;
    return rank() == 0 ? collect(text) : report(text);
  }

  std::string swap_with_root(int peer, const std::string& text) const override {
    if (peer == 0 || (rank() != 0 && rank() != peer)) return "";
    const int other = rank() == 0 ? peer : 0;
    must(other, tcp::write_text(line(other), text));
    return must(other, tcp::read_text(line(other)));
  }

  void end_job() const override { end_at_once(1); }  // the others see the connection close

 private:
  using End = std::chrono::steady_clock::time_point;

  static Result<void> known_hosts(const std::vector<std::string>& hosts) {
    const auto unknown = tcp::HostLookup(hosts).unknown(kLookupSeconds);
    if (!unknown) return {};
    return Error{"found unknown host " + in_quotes(hosts[*unknown]) + " for rank " + std::to_string(*unknown) +
                     ", expected a host",
                 "--hosts", tcp::kUnknownHost};
  }

  Result<void> wait_for_all(const TcpPlaces& places, End end) {
    if (size() == 1) return {};
    TRY_ASSIGN(tcp::Acceptor acceptor, tcp::listen(io_, places.port));
    const Result<void> all = admit_all(acceptor, places, end);
    callers_ = {};  // strangers, whose connections the groups may need
    const std::string refusal = all.ok() ? "" : all.error().text();
    for (auto* lines : {&lines_, &refused_}) {
      for (auto& line : *lines) {  // who has left by now is noticed when the ranks meet
        const int verdict = all.ok() ? kStarts : is_of_the_machines(all.error()) ? kCannotStart : kRefuses;
        if (line && tcp::write_value(*line, tcp::Hello{.number = verdict}).ok() && !all.ok())
          (void)tcp::write_text(*line, refusal);
      }
    }
    return all;
  }

  Result<void> admit_all(tcp::Acceptor& acceptor, const TcpPlaces& places, End end) {
    for (int missing = size() - 1; missing > 0;) {
      std::vector<pollfd> lines = {{acceptor.native_handle(), POLLIN, 0}};
      for (auto& line : lines_) lines.push_back({line ? line->native_handle() : -1, POLLIN, 0});
      callers_.add_to(lines);
      if (seconds_to(end) <= 0 || !tcp::wait_for_any(lines, seconds_to(end)))
        return Error{missing_ranks(missing) + " did not connect within " +
                         std::to_string(static_cast<int>(places.patience_s)) + " s",
                     "--hosts", kMissing};
      for (int r = 1; r < size(); ++r) {  // all that a rank does before it hears from us is to leave
        if (lines[static_cast<std::size_t>(r) + 1].revents != 0)
          return Error{"rank " + std::to_string(r) + on(r) + " has left while " + missing_ranks(missing) +
                           " had not connected yet",
                       "--hosts", kLeft};
      }
      for (auto& caller : callers_.hear(std::span(lines).subspan(1 + lines_.size()))) {
        TRY_ASSIGN(const bool new_rank, admit(std::move(caller.socket), caller.hello));
        missing -= new_rank ? 1 : 0;
      }
      if (lines.front().revents != 0) TRY(callers_.take(acceptor));
    }
    return {};
  }

  std::string on(int rank) const { return host(rank).empty() ? "" : " on " + in_quotes(host(rank), 60); }

  /// "rank 1 on node7 and 3 more of 8 ranks".
  std::string missing_ranks(int missing) const {
    int first = 1;
    while (lines_[static_cast<std::size_t>(first)]) ++first;
    std::string out = "rank " + std::to_string(first) + on(first);
    if (missing > 1) out += " and " + std::to_string(missing - 1) + " more of " + std::to_string(size()) + " ranks";
    return out;
  }

  /// A stranger's connection is dropped; two ranks with one number are a mistake of whoever started them.
  Result<bool> admit(tcp::Socket socket, const tcp::Hello& hello) {
    if (!hello.valid(0) || hello.rank < 1) return false;
    const std::string who = "rank " + std::to_string(hello.rank);
    const auto refuse = [&](const std::string& what, const char* flag) {
      refused_.emplace_back(std::move(socket));
      return Error{what, flag, ""};
    };
    if (hello.number != size())
      return refuse(
          who + " was started with " + std::to_string(hello.number) + " --hosts, expected " + std::to_string(size()),
          "--hosts");
    if (hello.rank >= size()) return false;
    auto& line = lines_[static_cast<std::size_t>(hello.rank)];
    if (line) return refuse("found two ranks " + std::to_string(hello.rank), "--rank");
    line.emplace(std::move(socket));
    return true;
  }

  Result<void> call_root(const TcpPlaces& places, End end) {
    auto socket = tcp::call(io_, places.root_host, places.port, seconds_to(end));
    if (!socket.ok() && socket.error().hint == tcp::kUnknownHost)
      return Error{"found " + socket.error().what + " for rank 0, expected a host", "--hosts", socket.error().hint};
    if (!socket.ok() && socket.error().hint == tcp::kOutOfFiles)
      return Error{"rank 0 cannot be called: " + socket.error().what, "", socket.error().hint};
    if (!socket.ok()) return Error{"rank 0 does not respond: " + socket.error().what, "--hosts", kMissing};
    lines_[0].emplace(std::move(socket).value());
    const std::string place = printable(places.root_host) + ":" + std::to_string(places.port);
    const Result<void> said = tcp::write_value(line(0), tcp::Hello{.rank = rank(), .number = size()});
    const auto answer = tcp::read_hello(line(0), seconds_to(end) + kLateWord);
    if (!said.ok() || (!answer.ok() && answer.error().hint != tcp::kSilent))
      return Error{"rank 0 at " + place + " has left before the job has started, or another program listens there",
                   "--port", ""};
    if (!answer.ok())
      return Error{"rank 0 at " + place + " did not start the job within " +
                       std::to_string(static_cast<int>(places.patience_s)) + " s",
                   "--hosts", kAnotherMissing};
    if (!answer->valid(0))
      return Error{"found another program at " + place + ", expected rank 0", "--port", "choose a free port"};
    if (answer->number == kStarts) return {};
    TRY_ASSIGN(const std::string refusal, tcp::read_text(line(0)));
    return Error{"rank 0 refuses the job: " + refusal, "", answer->number == kCannotStart ? kNotThisRank : ""};
  }

  std::vector<std::string> collect(const std::string& mine) const {
    std::vector<std::string> texts = {mine};
    for (int r = 1; r < size(); ++r) texts.push_back(must(r, tcp::read_text(line(r))));
    for (int r = 1; r < size(); ++r) {
      for (const std::string& text : texts) must(r, tcp::write_text(line(r), text));
    }
    return texts;
  }

  std::vector<std::string> report(const std::string& mine) const {
    must(0, tcp::write_text(line(0), mine));
    std::vector<std::string> texts;
    for (int r = 0; r < size(); ++r) texts.push_back(must(0, tcp::read_text(line(0))));
    return texts;
  }

  tcp::Socket& line(int other) const { return *lines_[static_cast<std::size_t>(other)]; }

  /// A rank that has exited ends the job.
  template <class T>
  T must(int other, Result<T> result) const {
    if (!result.ok()) abort(tcp::has_disconnected(other, size(), result.error().what));
    if constexpr (!std::is_void_v<T>) return std::move(result).value();
  }

  tcp::Io io_;
  mutable std::vector<std::optional<tcp::Socket>> lines_;
  tcp::Callers callers_;
  std::vector<std::optional<tcp::Socket>> refused_;  ///< ranks that belong to another job, to be told
};

}  // namespace

Result<std::unique_ptr<ProcessRanks>> make_tcp_ranks(const TcpPlaces& places) {
  auto ranks = std::make_unique<TcpRanks>(places);
  TRY(ranks->connect(places));
  return std::unique_ptr<ProcessRanks>(std::move(ranks));
}

bool is_of_the_machines(const Error& error) {
  const auto is = [&](const char* hint) { return error.hint == hint; };
  return is(tcp::kOutOfFiles) || is(kMissing) || is(kAnotherMissing) || is(kLeft) || is(kNotThisRank);
}

}  // namespace distsim::bench
