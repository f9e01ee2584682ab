#include "mpi_bench/collective/run/tcp/tcp_mesh.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <sstream>

#include "mpi_bench/collective/run/tcp/tcp_callers.hpp"
#include "mpi_bench/collective/run/tcp/tcp_socket.hpp"

namespace distsim::bench {
namespace {

constexpr double kPatience = 30, kOneTry = 3;
constexpr std::uint64_t kLeastPiece = 64 * 1024;
constexpr auto kSpin = std::chrono::microseconds(50);

}  // namespace

Piece piece_of(std::uint64_t bytes, int streams, int number) {
  const std::uint64_t share = (bytes + streams - 1) / streams;
  const std::uint64_t piece = std::max<std::uint64_t>(kLeastPiece, (share + 1023) / 1024 * 1024);
  const std::uint64_t at = std::min(bytes, piece * number),
                      end = number + 1 == streams ? bytes : std::min(bytes, at + piece);
  return {at, end - at};
}

struct TcpMesh::Impl {
  tcp::Io io;
  int streams = 1, me = 0;
  int of_job = 0;                                              ///< ranks, of which this team may be a part
  std::vector<std::vector<std::optional<tcp::Socket>>> lines;  ///< by peer, by stream
  std::vector<int> ranks;                                      ///< by peer
  std::size_t pending = 0;
  tcp::Code failed;
  int failed_peer = 0;

  static Result<std::unique_ptr<Impl>> opened() {
    try {
      return std::make_unique<Impl>();
    } catch (const std::system_error& e) {
      return Error{e.what(), "--backend tcp", ""};
    }
  }

  Result<void> call(int peer, const std::vector<std::string>& places, int port, std::uint64_t cookie) {
    std::string why = "no address";
    for (const std::string& place : places) {
      const Result<void> reached = call_at(peer, place, port, cookie);
      if (reached.ok()) return {};
      why = reached.error().text();
    }
    return Error{"cannot reach rank " + std::to_string(ranks[peer]) + ": " + why, "--backend tcp", ""};
  }

  Result<void> call_at(int peer, const std::string& place, int port, std::uint64_t cookie) {
    for (int stream = 0; stream < streams; ++stream) {
      TRY_ASSIGN(tcp::Socket socket, tcp::call_once(io, place, port, kOneTry));
      TRY(tcp::write_value(socket, tcp::Hello{.cookie = cookie, .rank = me, .number = stream}));
      TRY_ASSIGN(const char answer, tcp::read_value<char>(socket));
      if (answer != 'y') return Error{"a different program is listening", "", ""};
      lines[peer][stream].emplace(std::move(socket));
    }
    return {};
  }

  /// Takes `count` connections; strangers are dropped.
  Result<void> take(tcp::Acceptor& acceptor, int count, std::uint64_t cookie) {
    return tcp::admit_callers(acceptor, count, kPatience,
                              [&](tcp::Socket& socket, const tcp::Hello& hello) -> Result<bool> {
                                if (!hello.valid(cookie) || hello.rank < 0 || hello.rank >= me || hello.number < 0 ||
                                    hello.number >= streams || lines[hello.rank][hello.number])
                                  return false;
                                TRY(tcp::write_value(socket, 'y'));
                                lines[hello.rank][hello.number].emplace(std::move(socket));
                                return true;
                              });
  }

  template <class Start>
  void each_piece(const TcpMessage& m, const Start& start) {
    for (int stream = 0; stream < streams; ++stream) {
      const Piece piece = piece_of(m.bytes, streams, stream);
      if (piece.bytes == 0) continue;
      ++pending;
      start(*lines[m.peer][stream], tcp::asio::buffer(m.data + piece.at, piece.bytes),
            [this, peer = m.peer](const tcp::Code& code, std::size_t) { done(code, peer); });
    }
  }

  void done(const tcp::Code& code, int peer) {
    --pending;
    if (!code || failed) return;
    failed = code;
    failed_peer = peer;
  }

  /// Small messages arrive within microseconds: a short spin spares them the way through the kernel's sleep.
  void wait() {
    const auto start = std::chrono::steady_clock::now();
    while (pending > 0 && !failed) {
      io.restart();
      if (io.poll() > 0) continue;
      if (std::chrono::steady_clock::now() - start > kSpin) io.run_one();
    }
  }
};

TcpMesh::TcpMesh(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TcpMesh::~TcpMesh() = default;

Result<std::unique_ptr<TcpMesh>> TcpMesh::connect(const Ranks& ranks, const Team& team, int streams) {
  auto opened = Impl::opened();
  TRY(ranks.agree(opened.ok() ? Result<void>() : Result<void>(opened.error())));
  auto impl = std::move(opened).value();
  impl->streams = streams;
  impl->me = team.index;
  impl->of_job = ranks.size();
  impl->ranks = team.members;
  impl->lines.resize(team.members.size());
  for (auto& line : impl->lines) line.resize(static_cast<std::size_t>(streams));
  auto acceptor = tcp::listen(impl->io, 0);
  TRY(ranks.agree(acceptor.ok() ? Result<void>() : Result<void>(acceptor.error())));
  const std::uint64_t cookie =
      std::stoull(ranks.from_root(std::to_string(std::random_device{}() * 0x100000001ull + std::random_device{}())));
  const auto cards = ranks.gather(std::to_string(acceptor->local_endpoint().port()) + " " + ranks.host() + " " +
                                  tcp::local_addresses());

  const auto meet_all = [&]() -> Result<void> {
    for (int peer = static_cast<int>(team.members.size()) - 1; peer > team.index;
         --peer) {  // the last rank calls nobody and answers at once
      const int rank = team.members[peer];
      std::istringstream card(cards[rank]);
      int port = 0;
      card >> port;
      std::vector<std::string> places;
      if (ranks.node_of()[rank] == ranks.node()) places.push_back("127.0.0.1");
      for (std::string place; card >> place;) places.push_back(place);
      TRY(impl->call(peer, places, port, cookie));
    }
    const Result<void> taken = impl->take(*acceptor, team.index * streams, cookie);
    int missing = 0;  // callers are the ranks before this one
    while (missing < team.index && std::ranges::all_of(impl->lines[missing], [](const auto& line) { return !!line; }))
      ++missing;
    if (taken.ok() || taken.error().hint == tcp::kOutOfFiles || missing == team.index) return taken;
    return Error{"rank " + std::to_string(team.members[missing]) + " has not connected (" + taken.error().what + ")",
                 "--backend tcp", ""};
  };
  const Result<void> met = meet_all();
  if (!met.ok()) {  // those who wait for an answer see the end of the connection
    tcp::Code ignored;
    acceptor->close(ignored);
    impl->lines.clear();
  }
  TRY(ranks.agree(met));
  return std::unique_ptr<TcpMesh>(new TcpMesh(std::move(impl)));
}

Result<void> TcpMesh::exchange(std::span<const TcpMessage> sends, std::span<const TcpMessage> receives) {
  Impl& mesh = *impl_;
  for (const TcpMessage& m : receives) {
    if (m.peer != mesh.me)
      mesh.each_piece(m, [](tcp::Socket& s, auto buffer, auto done) { tcp::asio::async_read(s, buffer, done); });
  }
  for (const TcpMessage& m : sends) {
    if (m.peer != mesh.me)
      mesh.each_piece(m, [](tcp::Socket& s, auto buffer, auto done) { tcp::asio::async_write(s, buffer, done); });
  }
  for (const TcpMessage& to : receives) {
    for (const TcpMessage& from : sends) {
      if (to.peer == mesh.me && from.peer == mesh.me) std::memcpy(to.data, from.data, std::min(to.bytes, from.bytes));
    }
  }
  mesh.wait();
  if (mesh.failed)
    return Error{tcp::has_disconnected(mesh.ranks[mesh.failed_peer], mesh.of_job, mesh.failed.message()), "", ""};
  return {};
}

}  // namespace distsim::bench
