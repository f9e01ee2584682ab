// Exchanges carried out on plain arrays must leave what the collective's definition says.
#include "mpi_bench/collective/backend/transfers.hpp"

#include <gtest/gtest.h>

#include <map>

namespace distsim::bench {
namespace {

using Counts = std::vector<long>;

long value(int rank, std::uint64_t index) { return rank * 1'000'000L + static_cast<long>(index); }

struct Delivery {
  std::vector<bench::Layout> layouts;
  std::vector<Counts> received;
};

/// Every message's elements are found at its sender and put down at its receiver; each message has exactly one of both.
Delivery carried_out(const bench::CollectiveCase& what, int ranks, int root, bool in_place) {
  Delivery world;
  std::map<std::pair<int, int>, Counts> under_way;
  std::vector<bench::Exchange> exchanges;
  for (int r = 0; r < ranks; ++r) {
    const bench::Shape shape{.ranks = ranks, .rank = r, .root = root, .imbalance = 2.5};
    world.layouts.push_back(bench::layout_of(what, 4096, 4, shape));
    const bench::Layout& l = world.layouts.back();
    exchanges.push_back(bench::exchange_of(what.kind, l, shape, in_place));
    for (const bench::Transfer& t : exchanges.back().sends) {
      Counts message;
      for (std::uint64_t i = 0; i < t.count; ++i) message.push_back(value(r, t.at + i));
      EXPECT_LE(t.at + t.count, l.send_count);
      EXPECT_TRUE(under_way.emplace(std::pair{r, t.peer}, message).second) << "two messages at once between two ranks";
    }
  }
  for (int r = 0; r < ranks; ++r) {
    const bench::Layout& l = world.layouts[r];
    Counts buffer(in_place ? l.in_place_count() : l.recv_count, -1);
    for (std::uint64_t i = 0; in_place && i < l.send_count; ++i) buffer[l.send_at + i] = value(r, i);
    for (const bench::Transfer& t : exchanges[r].receives) {
      const auto message = under_way.find({t.peer, r});
      EXPECT_TRUE(message != under_way.end() && message->second.size() == t.count)
          << what.name << " from " << t.peer << " to " << r;
      if (message == under_way.end()) continue;
      std::copy(message->second.begin(), message->second.end(),
                buffer.begin() + static_cast<std::ptrdiff_t>((in_place ? l.recv_at : 0) + t.at));
      under_way.erase(message);
    }
    world.received.push_back(buffer);
  }
  EXPECT_TRUE(under_way.empty()) << what.name << ": a message nobody takes";
  return world;
}

TEST(Transfers, DeliverWhatTheCollectivePromises) {
  for (const bench::CollectiveCase& what : bench::collective_cases()) {
    if (!bench::moves_only(what.kind)) continue;
    for (int ranks : {2, 3, 5}) {
      for (bool in_place : {false, true}) {
        if (in_place && !bench::moves_in_place(what.kind)) continue;
        const Delivery world = carried_out(what, ranks, ranks - 1, in_place);
        for (int r = 0; r < ranks; ++r) {
          const bench::Layout& l = world.layouts[r];
          const bench::Shape shape{.ranks = ranks, .rank = r, .root = ranks - 1, .imbalance = 2.5};
          for (const bench::Segment& s : what.expected(l, shape)) {
            for (std::uint64_t i = 0; i < s.count; ++i)
              ASSERT_EQ(world.received[r][(in_place ? l.recv_at : 0) + s.at + i], value(s.source, s.source_index + i))
                  << what.name << " in place " << in_place;
          }
        }
      }
    }
  }
}

TEST(Transfers, ReductionsHaveNone) {
  const bench::Layout l{.count = 4, .send_count = 4, .recv_count = 4};
  EXPECT_TRUE(bench::exchange_of(bench::Kind::all_reduce, l, {.ranks = 2}, false).sends.empty());
  EXPECT_FALSE(bench::moves_only(bench::Kind::all_reduce));
  EXPECT_FALSE(bench::moves_in_place(bench::Kind::alltoall));
}

}  // namespace
}  // namespace distsim::bench
