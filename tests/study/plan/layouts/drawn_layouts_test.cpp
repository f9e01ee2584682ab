#include "sim/study/plan/layouts/drawn_layouts.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <mutex>
#include <thread>

#include "sim/study/points/talk.hpp"
#include "small_llm.hpp"

namespace distsim::study {
namespace {

/// Two processes of a team, as two threads.
struct Mail {
  std::mutex mutex;
  std::deque<Message> to[2];
  std::size_t rows = 0;  ///< that rank 1 has evaluated
};

class Pair : public Team {
 public:
  Pair(Mail& mail, int rank) : mail_(mail), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return 2; }
  int neighbours() const override { return 2; }
  Result<void> send(int to, int kind, const std::string& bytes) override {
    const std::lock_guard lock(mail_.mutex);
    if (Word{kind} == Word::rows) mail_.rows += decode_done(bytes).size();
    mail_.to[to].push_back({rank_, kind, bytes});
    return {};
  }
  std::optional<Message> receive() override {
    const std::lock_guard lock(mail_.mutex);
    if (mail_.to[rank_].empty()) return std::nullopt;
    Message out = std::move(mail_.to[rank_].front());
    mail_.to[rank_].pop_front();
    return out;
  }
  void finish() override {}

 private:
  Mail& mail_;
  const int rank_;
};

LayoutSite drawn_from() {
  return test::site_with(test::experiment_of(test::llm_text("llama3_8b", "megatron_core", "dgx_h100", 1, 16)),
                         HeldValues());
}

constexpr std::size_t kDraws = 60;

std::vector<Duration> drawn_by(Plays plays) {
  pipeline::CostModelCache cache;
  const DrawnLayouts drawn = draw_layouts(drawn_from(), kDraws, 1, plays, cache).value();
  std::vector<Duration> out;
  for (const PlayedLayout& p : drawn.played) out.push_back(p.iteration);
  return out;
}

/// Under mpirun each process plays some of the draws, and all of them know all.
TEST(DrawnLayouts, AreSharedByATeam) {
  const std::vector<Duration> alone = drawn_by(Plays::of_threads(1));
  ASSERT_EQ(alone.size(), kDraws);
  Mail mail;
  Pair first(mail, 0), second(mail, 1);
  std::vector<Duration> of_second;
  std::jthread other([&] { of_second = drawn_by(Plays::kept({}, {.jobs = 1, .team = &second}).value()); });
  const auto said_hello = [&] {
    const std::lock_guard lock(mail.mutex);
    return !mail.to[0].empty();
  };
  while (!said_hello()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::vector<Duration> of_first = drawn_by(Plays::kept({}, {.jobs = 1, .team = &first}).value());
  other.join();
  EXPECT_EQ(of_first, alone);
  EXPECT_EQ(of_second, alone);
  EXPECT_GT(mail.rows, 0u);
  EXPECT_LT(mail.rows, kDraws);
}

}  // namespace
}  // namespace distsim::study
