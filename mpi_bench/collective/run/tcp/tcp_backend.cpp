// Our own messages over TCP, on host memory: point-to-point, and the collectives that only move data, every message at
// once.
#include <boost/version.hpp>

#include <optional>

#include "base/text/counted.hpp"
#include "mpi_bench/collective/backend/buffered_backend.hpp"
#include "mpi_bench/collective/backend/host_load.hpp"
#include "mpi_bench/collective/backend/host_loop.hpp"
#include "mpi_bench/collective/backend/transfers.hpp"
#include "mpi_bench/collective/run/backends.hpp"
#include "mpi_bench/collective/run/tcp/tcp_mesh.hpp"

namespace distsim::bench {
namespace {

class TcpPairs : public PointToPoint {
 public:
  TcpPairs(TcpMesh& mesh, const Memory& send, const Memory& receive) : mesh_(mesh), send_(send), receive_(receive) {}
  Result<void> send(int peer, std::uint64_t bytes) override {
    const TcpMessage message[] = {{peer, send_.at(0), bytes}};
    return mesh_.exchange(message, {});
  }
  Result<void> receive(int peer, std::uint64_t bytes) override {
    const TcpMessage message[] = {{peer, receive_.at(0), bytes}};
    return mesh_.exchange({}, message);
  }

 private:
  TcpMesh& mesh_;
  const Memory &send_, &receive_;
};

class TcpBackend : public BufferedBackend {
 public:
  TcpBackend(std::unique_ptr<TcpMesh> mesh, int streams)
      : BufferedBackend(make_host_memory(), make_host_memory()),
        mesh_(std::move(mesh)),
        streams_(streams),
        pairs_(*mesh_, memory(Buffer::send), memory(Buffer::receive)) {}

  std::string name() const override { return "tcp"; }
  std::string library() const override {
    return "TCP with " + counted(streams_, "stream") + ", Boost.Asio " + std::to_string(BOOST_VERSION / 100000) + "." +
           std::to_string(BOOST_VERSION / 100 % 1000);
  }
  DeviceFacts device() const override { return {.index = 0, .bus_id = "host", .name = "host memory"}; }
  PointToPoint* pairs() override { return &pairs_; }

  Result<void> supports(const CollectiveCase& what, DataType, RedOp) const override {
    if (moves_only(what.kind)) return {};
    return Error{"found " + std::string(what.name) +
                     ", which the tcp backend does not support: it moves data but does not reduce",
                 "--collectives", "--backend mpi or nccl"};
  }
  Result<void> fits(const Call&) const override { return {}; }
  InPlace in_place(Kind kind) const override { return moves_in_place(kind) ? InPlace::checked : InPlace::unsupported; }

  Result<void> run(const Call& call) override { return messages_of(call)(); }
  Result<LoopTimes> time(const Call& call, const LoopShape& loop) override {
    return timed_loop(loop, messages_of(call));
  }
  Result<double> time_bare(const Call& call, int calls) override { return bare_loop(calls, messages_of(call)); }

  Result<void> start_load(std::uint64_t bytes) override {
    if (bytes > 0) return Backend::start_load(bytes);
    compute_.emplace();
    return {};
  }
  Result<void> stop_load() override {
    compute_.reset();
    return {};
  }

 private:
  struct Messages {
    TcpMesh& mesh;
    std::vector<TcpMessage> sends, receives;
    Result<void> operator()() const { return mesh.exchange(sends, receives); }
  };

  Messages messages_of(const Call& call) const {
    const Layout& l = *call.layout;
    const std::size_t e = info_of(call.type).size;
    const auto [from, to] = operands_of(call);
    const Exchange exchange = exchange_of(call.what->kind, l, call.shape, call.in_place);
    Messages messages{*mesh_, {}, {}};
    for (const Transfer& t : exchange.sends) messages.sends.push_back({t.peer, from + t.at * e, t.count * e});
    for (const Transfer& t : exchange.receives) messages.receives.push_back({t.peer, to + t.at * e, t.count * e});
    return messages;
  }

  std::unique_ptr<TcpMesh> mesh_;
  const int streams_;
  TcpPairs pairs_;
  std::optional<HostLoad> compute_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_tcp_backend(const Ranks& ranks, const Team& team, int streams) {
  TRY_ASSIGN(std::unique_ptr<TcpMesh> mesh, TcpMesh::connect(ranks, team, streams));
  return std::unique_ptr<Backend>(std::make_unique<TcpBackend>(std::move(mesh), streams));
}

}  // namespace distsim::bench
