#include "sim/study/points/talk.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace distsim::study {
namespace {

/// A process that works for the first one; what it hears is given, what it does is kept in order.
class ScriptedTeam : public Team {
 public:
  /// nothing: a look at which no message is there
  explicit ScriptedTeam(std::deque<std::optional<Word>> heard) : heard_(std::move(heard)) {}
  int rank() const override { return 1; }
  int size() const override { return 2; }
  int neighbours() const override { return 2; }
  Result<void> send(int, int kind, const std::string&) override {
    did.push_back("says " + std::to_string(kind));
    return {};
  }
  std::optional<Message> receive() override {
    if (heard_.empty()) {
      ADD_FAILURE() << "waits for ever";
      return Message{0, static_cast<int>(Word::stop), ""};
    }
    const std::optional<Word> word = heard_.front();
    heard_.pop_front();
    if (!word) return std::nullopt;
    did.push_back("hears " + std::to_string(static_cast<int>(*word)));
    return Message{0, static_cast<int>(*word), ""};
  }
  void finish() override { did.push_back("finishes"); }

  std::vector<std::string> did;

 private:
  std::deque<std::optional<Word>> heard_;
};

const std::string kLeft = "says " + std::to_string(static_cast<int>(Word::left));
const std::string kFailed = "says " + std::to_string(static_cast<int>(Word::failed));
const std::string kHearsStop = "hears " + std::to_string(static_cast<int>(Word::stop));

/// The first process may plan alone for minutes: who waits for it in MPI's own end is taken for dead.
TEST(Talk, WhoHasNothingToDoLeavesWhenItIsTold) {
  ScriptedTeam team({std::nullopt, std::nullopt, Word::round, Word::stop});
  EXPECT_TRUE(told(&team, {}).ok());
  EXPECT_EQ(team.did.back(), "finishes");
  EXPECT_EQ(team.did[team.did.size() - 2], kLeft);
  EXPECT_EQ(team.did[team.did.size() - 3], kHearsStop);
}

TEST(Talk, WhoWasToldLeavesAtOnce) {
  ScriptedTeam team({});
  team.stopped = true;
  EXPECT_TRUE(told(&team, {}).ok());
  EXPECT_EQ(team.did, (std::vector<std::string>{kLeft, "finishes"}));
}

TEST(Talk, AnErrorIsToldBeforeItWaits) {
  ScriptedTeam team({std::nullopt, Word::stop});
  EXPECT_FALSE(told(&team, Error{"found 1, expected 2", "", ""}).ok());
  EXPECT_EQ(team.did, (std::vector<std::string>{kFailed, kHearsStop, kLeft, "finishes"}));
}

}  // namespace
}  // namespace distsim::study
