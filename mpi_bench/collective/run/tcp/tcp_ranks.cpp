// Ranks that find each other over TCP: a star around rank 0.
#include <cstdio>
#include <optional>

#include "base/system/signals.hpp"
#include "base/text/printable.hpp"
#include "mpi_bench/collective/ranks/ranks.hpp"
#include "mpi_bench/collective/run/tcp/tcp_socket.hpp"
#include "mpi_bench/common/pulse.hpp"

namespace distsim::bench {
namespace {

constexpr double kHelloSeconds = 5;

class TcpRanks : public ProcessRanks {
 public:
  TcpRanks(const TcpPlaces& places)
      : ProcessRanks(places.rank, places.size), lines_(static_cast<std::size_t>(places.size)) {}

  Result<void> connect(const TcpPlaces& places) {
    TRY(rank() == 0 ? wait_for_all(places) : call_root(places));
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
  Result<void> wait_for_all(const TcpPlaces& places) {
    if (size() == 1) return {};
    TRY_ASSIGN(tcp::Acceptor acceptor, tcp::listen(io_, places.port));
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(places.patience_s);
    for (int missing = size() - 1; missing > 0;) {
      const double left = std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
      auto socket = tcp::accept(acceptor, std::max(0.0, left));
      if (!socket.ok())
        return Error{missing_ranks(places, missing) + " did not connect within " +
                         std::to_string(static_cast<int>(places.patience_s)) + " s",
                     "--hosts", "missing, stopped, or started with another --port"};
      TRY_ASSIGN(const bool new_rank, admit(std::move(socket).value()));
      if (new_rank) --missing;
    }
    return {};
  }

  /// "rank 1 on node7 and 3 more of 8 ranks".
  std::string missing_ranks(const TcpPlaces& places, int missing) const {
    int first = 1;
    while (lines_[static_cast<std::size_t>(first)]) ++first;
    std::string out = "rank " + std::to_string(first);
    if (static_cast<std::size_t>(first) < places.hosts.size())
      out += " on " + in_quotes(places.hosts[static_cast<std::size_t>(first)], 60);
    if (missing > 1) out += " and " + std::to_string(missing - 1) + " more of " + std::to_string(size()) + " ranks";
    return out;
  }

  /// A stranger's connection is dropped; two ranks with one number are a mistake of whoever started them.
  Result<bool> admit(tcp::Socket socket) {
    const auto hello = tcp::read_hello(socket, kHelloSeconds);
    if (!hello.ok() || !hello->valid(0) || hello->rank < 1 || hello->rank >= size()) return false;
    if (hello->number != size())
      return Error{"rank " + std::to_string(hello->rank) + " was started with " + std::to_string(hello->number) +
                       " --hosts, expected " + std::to_string(size()),
                   "--hosts", ""};
    auto& line = lines_[static_cast<std::size_t>(hello->rank)];
    if (line) return Error{"found two ranks " + std::to_string(hello->rank), "--rank", ""};
    line.emplace(std::move(socket));
    return true;
  }

  Result<void> call_root(const TcpPlaces& places) {
    auto socket = tcp::call(io_, places.root_host, places.port, places.patience_s);
    if (!socket.ok() && socket.error().hint == tcp::kUnknownHost)
      return Error{"found " + socket.error().what + " for rank 0, expected a host", "--hosts", socket.error().hint};
    if (!socket.ok()) return Error{"rank 0 does not respond: " + socket.error().what, "--hosts", ""};
    lines_[0].emplace(std::move(socket).value());
    return tcp::write_value(*lines_[0], tcp::Hello{.rank = rank(), .number = size()});
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
    if (!result.ok()) abort("rank " + std::to_string(other) + " has disconnected (" + result.error().what + ")");
    if constexpr (!std::is_void_v<T>) return std::move(result).value();
  }

  tcp::Io io_;
  mutable std::vector<std::optional<tcp::Socket>> lines_;
};

}  // namespace

Result<std::unique_ptr<ProcessRanks>> make_tcp_ranks(const TcpPlaces& places) {
  auto ranks = std::make_unique<TcpRanks>(places);
  TRY(ranks->connect(places));
  return std::unique_ptr<ProcessRanks>(std::move(ranks));
}

}  // namespace distsim::bench
