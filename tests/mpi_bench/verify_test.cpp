// The checker against collectives carried out by their definitions, on buffers of fake ranks in one process.
#include "mpi_bench/collective/verify/verify.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace distsim::bench {
namespace {

class MemoryBackend : public bench::Backend {
 public:
  std::vector<std::byte> send, receive;

  std::string name() const override { return "memory"; }
  std::string library() const override { return "none"; }
  bench::DeviceFacts device() const override { return {}; }
  Result<void> supports(const bench::CollectiveCase&, bench::DataType, bench::RedOp) const override { return {}; }
  Result<void> fits(const bench::Call&) const override { return {}; }
  bench::InPlace in_place(bench::Kind) const override { return bench::InPlace::checked; }
  Result<void> allocate(std::uint64_t send_bytes, std::uint64_t receive_bytes) override {
    send.resize(send_bytes);
    receive.resize(receive_bytes);
    return {};
  }
  Result<void> write(Buffer buffer, std::uint64_t at, std::span<const std::byte> data) override {
    auto& to = buffer == Buffer::send ? send : receive;
    CHECK(at + data.size() <= to.size());
    std::copy(data.begin(), data.end(), to.begin() + static_cast<std::ptrdiff_t>(at));
    return {};
  }
  Result<void> read(Buffer buffer, std::uint64_t at, std::span<std::byte> data) override {
    const auto& from = buffer == Buffer::send ? send : receive;
    CHECK(at + data.size() <= from.size());
    std::memcpy(data.data(), from.data() + at, data.size());
    return {};
  }
  Result<void> run(const bench::Call&) override { return {}; }
  Result<bench::LoopTimes> time(const bench::Call&, const bench::LoopShape&) override { return bench::LoopTimes{}; }
  Result<double> time_bare(const bench::Call&, int) override { return 0.0; }
};

using Values = std::vector<std::int32_t>;

/// All ranks of one call in int32, with the operands as plain values.
struct World {
  World(const char* name, int ranks, int root, std::uint64_t bytes, bool in_place, bench::RedOp op)
      : what(*bench::find_case(name)), backends(ranks), layouts(ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      const bench::Shape shape{.ranks = ranks, .rank = rank, .root = root, .imbalance = 3};
      layouts[rank] = bench::layout_of(*what, bytes, 4, shape);
      const bench::Layout& l = layouts[rank];
      calls.push_back({.what = what,
                       .type = bench::DataType::int32,
                       .op = op,
                       .shape = shape,
                       .layout = &layouts[rank],
                       .in_place = in_place});
      EXPECT_TRUE(backends[rank].allocate(l.send_count * 4, std::max(l.recv_count, l.in_place_count()) * 4).ok());
      EXPECT_TRUE(bench::fill_buffers(backends[rank], calls[rank]).ok());
    }
  }
  int ranks() const { return static_cast<int>(backends.size()); }
  Values sent(int rank) const {
    const bool in_place = calls[rank].in_place;
    const auto& from = in_place ? backends[rank].receive : backends[rank].send;
    Values values(layouts[rank].send_count);
    if (!values.empty())
      std::memcpy(values.data(), from.data() + (in_place ? layouts[rank].send_at * 4 : 0), values.size() * 4);
    return values;
  }
  void deliver(int rank, const Values& values) {
    const std::uint64_t at = calls[rank].in_place ? layouts[rank].recv_at * 4 : 0;
    if (!values.empty()) std::memcpy(backends[rank].receive.data() + at, values.data(), values.size() * 4);
  }
  std::uint64_t wrong() {
    std::uint64_t total = 0;
    for (int rank = 0; rank < ranks(); ++rank) total += bench::check_buffers(backends[rank], calls[rank])->wrong;
    return total;
  }

  const bench::CollectiveCase* what;
  std::vector<MemoryBackend> backends;
  std::vector<bench::Layout> layouts;
  std::vector<bench::Call> calls;
};

Values part(const Values& v, std::size_t from, std::size_t count) {
  return {v.begin() + static_cast<std::ptrdiff_t>(from), v.begin() + static_cast<std::ptrdiff_t>(from + count)};
}

Values reduced(const std::vector<Values>& all, bench::RedOp op) {
  Values result = all[0];
  for (std::size_t r = 1; r < all.size(); ++r)
    for (std::size_t i = 0; i < result.size(); ++i) {
      const std::int32_t x = all[r][i];
      result[i] = op == bench::RedOp::sum    ? result[i] + x
                  : op == bench::RedOp::prod ? result[i] * x
                  : op == bench::RedOp::max  ? std::max(result[i], x)
                                             : std::min(result[i], x);
    }
  return result;
}

/// Each collective as its definition in the MPI standard reads.
void carry_out(World& w) {
  std::vector<Values> in;
  for (int r = 0; r < w.ranks(); ++r) in.push_back(w.sent(r));
  const int n = w.ranks(), root = w.calls[0].shape.root;
  const std::uint64_t count = w.layouts[0].count;
  for (int r = 0; r < n; ++r) {
    Values out;
    const auto append = [&out](const Values& v) { out.insert(out.end(), v.begin(), v.end()); };
    switch (w.what->kind) {
      case bench::Kind::all_reduce:
        out = reduced(in, w.calls[0].op);
        break;
      case bench::Kind::reduce:
        if (r == root) out = reduced(in, w.calls[0].op);
        break;
      case bench::Kind::reduce_scatter:
        out = part(reduced(in, w.calls[0].op), r * count, count);
        break;
      case bench::Kind::broadcast:
        out = in[root];
        break;
      case bench::Kind::sendrecv:
        out = in[(r + n - 1) % n];
        break;
      case bench::Kind::all_gather:
        for (const Values& v : in) append(v);
        break;
      case bench::Kind::gather:
        for (const Values& v : in)
          if (r == root) append(v);
        break;
      case bench::Kind::scatter:
        out = part(in[root], r * count, count);
        break;
      case bench::Kind::alltoall:
        for (const Values& v : in) append(part(v, r * count, count));
        break;
      case bench::Kind::alltoallv:
        for (const Values& v : in) append(part(v, r * (v.size() / n), v.size() / n));
        break;
    }
    w.deliver(r, out);
  }
}

TEST(Verify, AcceptsEveryCollectiveByItsDefinition) {
  for (const bench::CollectiveCase& c : bench::collective_cases())
    for (int ranks : {1, 2, 3, 5})
      for (bool in_place : {false, true})
        for (bench::RedOp op : bench::kAllRedOps) {
          const int root = ranks - 1;
          World w(c.name.data(), ranks, root, 4096 * ranks, in_place, op);
          carry_out(w);
          EXPECT_EQ(w.wrong(), 0u) << c.name << " ranks " << ranks << " in place " << in_place << ' '
                                   << bench::name_of(op);
        }
}

TEST(Verify, SeesThatNothingWasDelivered) {
  for (const bench::CollectiveCase& c : bench::collective_cases()) {
    World w(c.name.data(), 3, 1, 4800, false, bench::RedOp::sum);
    EXPECT_GT(w.wrong(), 300u) << c.name;
  }
}

TEST(Verify, NamesTheFirstWrongElement) {
  World w("alltoall", 4, 0, 65536, false, bench::RedOp::sum);
  carry_out(w);
  Values received(w.layouts[2].recv_count);
  std::memcpy(received.data(), w.backends[2].receive.data(), received.size() * 4);
  const std::int32_t expected = received[777];
  ASSERT_TRUE(bench::damage_element(w.backends[2], w.calls[2], 777).ok());
  ASSERT_TRUE(bench::damage_element(w.backends[2], w.calls[2], 9999).ok());
  const auto check = bench::check_buffers(w.backends[2], w.calls[2]);
  EXPECT_EQ(check->wrong, 2u);
  EXPECT_EQ(check->first_element, 777u);
  EXPECT_EQ(check->expected, std::to_string(expected));
  EXPECT_EQ(check->found, std::to_string(expected ^ 1));
  EXPECT_EQ(w.wrong(), 2u);
}

TEST(Verify, SeesPartsInTheWrongOrder) {
  World w("all_gather", 4, 0, 1 << 20, false, bench::RedOp::sum);
  carry_out(w);
  const std::size_t bytes = w.layouts[0].count * 4;
  auto& r = w.backends[0].receive;
  std::swap_ranges(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(bytes),
                   r.begin() + static_cast<std::ptrdiff_t>(bytes));
  EXPECT_GT(w.wrong(), bytes / 4);
}

}  // namespace
}  // namespace distsim::bench
