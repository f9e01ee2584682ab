// Sends and receives of a pipeline, whose calls name the group of all stages.
#include "traces/ranks/message_ends.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kineto_text.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::traces {
namespace {

using test::event;

/// Four stages, one after the other: each micro-batch goes from every stage to the next, and its gradient back. How long a kernel takes
/// says which message it is.
struct Pipeline {
  std::vector<int> ranks{0, 1, 2, 3};
  bool states_peers = true, counts = false, by_place = false, is_pairs = false;
  int micro_batches = 6;

  std::string text(int stage) const {
    std::vector<std::string> events;
    int id = 0, sequence = 0;
    const auto kernel = [&](int from, int to, double start, int which) {
      const bool sends = from == stage;
      const int peer = by_place ? (sends ? to : from) : ranks[static_cast<std::size_t>(sends ? to : from)];
      std::string group = is_pairs ? std::to_string(ranks[static_cast<std::size_t>(std::min(from, to))]) + "," +
                                         std::to_string(ranks[static_cast<std::size_t>(std::max(from, to))])
                                   : "";
      for (std::size_t i = 0; !is_pairs && i < ranks.size(); ++i)
        group += (i > 0 ? "," : "") + std::to_string(ranks[i]);
      const std::string correlation = "\"correlation\":" + std::to_string(++id);
      events.push_back(event("cuda_runtime", "cudaLaunchKernel", "5", "10", start - 5, 1, correlation));
      events.push_back(event(
          "kernel", "ncclDevKernel_SendRecv(x)", "0", "9", start, 10 + which,
          "\"device\":0,\"stream\":9," + correlation + ",\"Collective name\":\"" + (sends ? "send" : "recv") +
              "\",\"In msg nelems\":100,\"Out msg nelems\":100,\"dtype\":\"Float\",\"Process Group Name\":\"pp" +
              (is_pairs ? group : "") + "\",\"Process Group Ranks\":\"[" + group + "]\"" +
              (states_peers ? std::string(sends ? ",\"Dst Rank\":" : ",\"Src Rank\":") + std::to_string(peer) : "") +
              (counts ? ",\"Seq\":" + std::to_string(++sequence) : "")));
    };
    for (int m = 0; m < micro_batches; ++m) {
      const double t = 1e6 + 1000 * m;
      for (int s = 0; s < 3; ++s) {
        if (s == stage || s + 1 == stage) kernel(s, s + 1, t + 100 * s, 6 * m + s);
      }
      for (int s = 3; s > 0; --s) {
        if (s == stage || s - 1 == stage) kernel(s, s - 1, t + 400 + 100 * (3 - s), 6 * m + 2 + s);
      }
    }
    return test::trace(events, "\"distributedInfo\":{\"rank\":" +
                                   std::to_string(ranks[static_cast<std::size_t>(stage)]) + ",\"world_size\":16},");
  }

  TraceJob read() const {
    const std::string folder = test::scratch_dir("message_ends");
    std::vector<std::string> paths;
    for (int s = 0; s < 4; ++s) paths.push_back(test::write(folder, "rank" + std::to_string(s) + ".json", text(s)));
    auto job = read_traces(paths);
    EXPECT_TRUE(job.ok()) << job.error().text();
    return std::move(job).value();
  }
};

/// Matches of the two ends of one message; -1: of others.
int messages_matched(const TraceJob& job) {
  for (const CollectiveMatch& m : job.matches) {
    const auto which = [&](const CollectiveMatch::Member& member) {
      const TraceRank& rank = job.ranks[member.rank];
      return rank.device_records[rank.collectives[member.collective].device_record].duration_ns;
    };
    if (m.members.size() != 2 || which(m.members[0]) != which(m.members[1])) return -1;
  }
  return static_cast<int>(job.matches.size());
}

bool job_says(const TraceJob& job, const std::string& words) {
  return std::ranges::any_of(job.notes.assumptions, [&](const std::string& n) { return n.find(words) != n.npos; });
}

TEST(MessageEnds, ASendIsMatchedWithItsReceive) {
  for (const bool counts : {false, true}) {
    for (const bool is_pairs : {false, true}) {
      Pipeline p;
      p.counts = counts, p.is_pairs = is_pairs;
      EXPECT_EQ(messages_matched(p.read()), 36) << counts << is_pairs;
    }
  }
}

/// Where the numbers are no members of the group they are places in it.
TEST(MessageEnds, OtherEndsMayBePlacesInTheGroup) {
  for (const bool by_place : {false, true}) {
    Pipeline p;
    p.ranks = {1, 3, 5, 7};
    p.by_place = by_place;
    EXPECT_EQ(messages_matched(p.read()), 36) << by_place;
  }
}

TEST(MessageEnds, WithoutThemOnlyPairsAreMatched) {
  Pipeline p;
  p.states_peers = false;
  const TraceJob open = p.read();
  EXPECT_TRUE(open.matches.empty());
  EXPECT_TRUE(job_says(open,
                       "72 of 72 collectives are sends and receives in a group of more than two ranks that do not say "
                       "with which of them: matched with none"));
  p.is_pairs = true;
  const TraceJob pairs = p.read();
  EXPECT_EQ(messages_matched(pairs), 36);
  EXPECT_FALSE(job_says(pairs, "matched with none"));
}

}  // namespace
}  // namespace distsim::traces
