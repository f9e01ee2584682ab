#include "sim/study/points/journal.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "sim/study/points/row.hpp"

namespace distsim::study {
namespace {

namespace fs = std::filesystem;
using Kept = std::map<std::uint64_t, std::string>;

class JournalTest : public testing::Test {
 protected:
  JournalTest() : path_((fs::path(testing::TempDir()) / ("journal" + std::to_string(::getpid()))).string()) {}
  ~JournalTest() override { fs::remove(path_); }

  Result<Kept> open(bool resume, const Identity& identity = {{"program", "1"}, {"--set x", "1,2"}}) {
    journal_.reset();
    Kept kept;
    auto journal = Journal::open(path_, identity, resume, [&](std::uint64_t index, std::string bytes) {
      return kept.emplace(index, std::move(bytes)).second;
    });
    if (!journal) return journal.error();
    journal_ = std::make_unique<Journal>(std::move(*journal));
    return kept;
  }

  /// Points 0 .. count - 1, on the disk.
  void write(std::size_t count) {
    ASSERT_TRUE(open(false).ok());
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(journal_->add(i, row(i)).ok());
    ASSERT_TRUE(journal_->finish().ok());
    journal_.reset();
  }

  static std::string row(std::size_t i) { return encode(Row{{0.1 * double(i)}, {"text"}, ""}); }
  static Kept rows(std::size_t count) {
    Kept out;
    for (std::size_t i = 0; i < count; ++i) out[i] = row(i);
    return out;
  }
  std::string bytes() const {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }
  void put(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  const std::string path_;
  std::unique_ptr<Journal> journal_;
};

TEST_F(JournalTest, GivesBackWhatWasAdded) {
  write(100);
  EXPECT_EQ(open(true).value(), rows(100));
  ASSERT_TRUE(journal_->add(100, row(100)).ok());
  ASSERT_TRUE(journal_->keep().ok());
  EXPECT_EQ(open(true).value(), rows(101));
}

/// Rows that depend on a file that was not there had no prediction, and those that came since depend on it.
TEST_F(JournalTest, GoesOnWithFilesThatWereNotThere) {
  constexpr std::int64_t kLater = INT64_MAX;
  const Fact set{"--set x", "1,2"}, a{"configuration file a.onnx", "1"}, b{"configuration file b.onnx", "2", kLater},
      c{"configuration file c.onnx", "3", kLater};
  const auto said = [&](const Identity& identity) {
    const auto kept = open(true, identity);
    return kept.ok() ? std::to_string(kept->size()) : kept.error().what;
  };
  const std::string other = "a journal of another study: ";
  ASSERT_TRUE(open(false, {set, a}).ok());
  ASSERT_TRUE(journal_->add(0, row(0)).ok());
  ASSERT_TRUE(journal_->finish().ok());
  EXPECT_EQ(said({set, b}), other + "configuration file a.onnx: found '1', expected nothing");
  EXPECT_EQ(said({set, a, {b.name, b.value}}), other + "configuration file b.onnx: found nothing, expected '2'")
      << "rows may have read what was there before the last of them";
  EXPECT_EQ(said({set, a, b}), "1");
  ASSERT_TRUE(journal_->add(1, row(1)).ok());
  ASSERT_TRUE(journal_->finish().ok());
  EXPECT_EQ(said({set, a}), other + "configuration file b.onnx: found '2', expected nothing");
  EXPECT_EQ(said({set, a, {b.name, "4"}}), other + "configuration file b.onnx: found '2', expected '4'");
  EXPECT_EQ(said({set, {a.name, "4"}, b, c}), other + "configuration file a.onnx: found '1', expected '4'");
  EXPECT_EQ(said({set, a, b, c}), "2");
  EXPECT_EQ(said({set, a, b, c, {"configuration files in models", "5"}}),
            other + "configuration files in models: found nothing, expected '5'");
}

TEST_F(JournalTest, ResumingWithoutAFileBegins) { EXPECT_EQ(open(true).value(), Kept{}); }

TEST_F(JournalTest, AFileThatExistsNeedsResume) {
  write(3);
  const std::string before = bytes();
  EXPECT_NE(open(false).error().text().find("--resume"), std::string::npos);
  EXPECT_EQ(bytes(), before);
}

/// A kill may stop a write at any byte: what is whole stays, what is cut is dropped, and the next run writes behind what
/// is whole.
/// In a process of its own: the limit and the signal are the whole process's.
TEST_F(JournalTest, ABeginningThatCannotBeWrittenLeavesNoFile) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{8, 8};
    ::setrlimit(RLIMIT_FSIZE, &small);
    ::_exit(open(false).ok() ? 1 : fs::exists(path_) ? 2 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(JournalTest, CutAtAnyByteLosesOnlyTheLastRecord) {
  write(5);
  const std::string whole = bytes();
  const std::size_t record = 12 + 8 + row(0).size(), header = whole.size() - 5 * record;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put(whole.substr(0, size));
    const auto kept = open(true);
    ASSERT_TRUE(kept.ok()) << size << ": " << kept.error().text();
    const std::size_t points = size < header ? 0 : (size - header) / record;
    ASSERT_EQ(*kept, rows(points)) << size;
    for (std::size_t i = points; i < 5; ++i) ASSERT_TRUE(journal_->add(i, row(i)).ok());
    ASSERT_TRUE(journal_->finish().ok());
    ASSERT_EQ(bytes(), whole) << size;
  }
}

/// Of any damaged byte behind the header: the other records stay, and no wrong row comes back.
TEST_F(JournalTest, DamageInTheMiddleLosesOneRecord) {
  write(5);
  const std::string whole = bytes();
  const std::size_t record = 12 + 8 + row(0).size(), header = whole.size() - 5 * record;
  const Kept all = rows(5);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    put(damaged);
    const auto kept = open(true);
    if (at < header) {
      ASSERT_FALSE(kept.ok()) << at;
      ASSERT_EQ(bytes(), damaged);
      continue;
    }
    ASSERT_EQ(kept->size(), 4u) << at;
    for (const auto& [index, row] : *kept) ASSERT_EQ(row, all.at(index)) << at;
  }
}

/// 12 bytes each, 1,300,000 of them, each of which claims 10 MB. A third have as much behind them: 4 TB to sum up, if all were
/// believed.
TEST_F(JournalTest, BeginningsOfLongRecordsAreNotAllSummedUp) {
  write(3);
  const std::string marker = "\xd1\x57\x51\x4a";
  ASSERT_NE(bytes().find(marker), std::string::npos);
  std::string hostile = bytes();
  for (int i = 0; i < 1'300'000; ++i) hostile += marker + std::string("\x00\x00\xa0\x00\x01\x02\x03\x04", 8);
  put(hostile);
  const auto kept = open(true);  // and the time limit of the test
  ASSERT_TRUE(kept.ok()) << kept.error().text();
  EXPECT_EQ(*kept, rows(3));
}

TEST_F(JournalTest, AnotherStudyIsRefusedByName) {
  write(3);
  const std::string before = bytes();
  const std::string set = open(true, {{"program", "1"}, {"--set x", "1,2,3"}}).error().text();
  EXPECT_NE(set.find("--set x: found '1,2', expected '1,2,3'"), std::string::npos) << set;
  EXPECT_NE(open(true, {{"program", "2"}, {"--set x", "1,2"}}).error().text().find("program"), std::string::npos);
  EXPECT_NE(open(true, {{"program", "1"}}).error().text().find("--set x"), std::string::npos);
  EXPECT_EQ(bytes(), before);
}

TEST_F(JournalTest, OtherFilesAreRefusedAndStay) {
  for (const char* text : {"nodes,gpus\n1,8\n", "distsim journal\nand more"}) {
    put(text);
    EXPECT_NE(open(true).error().text().find("no journal"), std::string::npos);
    EXPECT_EQ(bytes(), text);
  }
}

TEST_F(JournalTest, OnlyOneProcessAtATime) {
  write(3);
  int ready[2], go[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool ok = open(true).ok();
    char byte = ok ? 'y' : 'n';
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(go[0], &byte, 1);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  const std::string refusal = open(true).error().text();
  EXPECT_NE(refusal.find("in use by process " + std::to_string(child)), std::string::npos) << refusal;
  (void)!::write(go[1], &byte, 1);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(open(true).value(), rows(3)) << "the lock ends with the process";
}

}  // namespace
}  // namespace distsim::study
