#include "sim/study/points/study_run.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/study/points/progress.hpp"
#include "sim/study/points/talk.hpp"

namespace distsim::study {
namespace {

TEST(Row, ComesBackToTheBit) {
  const Row row{{0.1, -0.0, std::numeric_limits<double>::denorm_min(), std::nan("7"), 1e308},
                {"", "a text, with \"quotes\"\n", std::string(300, 'x')},
                "why not"};
  const Row back = decode_row(encode(row)).value();
  for (std::size_t i = 0; i < row.figures.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back.figures[i]), std::bit_cast<std::uint64_t>(row.figures[i]));
  EXPECT_EQ(back.texts, row.texts);
  EXPECT_EQ(back.error, row.error);
}

TEST(Row, CutBytesAreNone) {
  const std::string bytes = encode(Row{{1, 2}, {"text"}, "error"});
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_row(bytes.substr(0, size))) << size;
  EXPECT_FALSE(decode_row(bytes + "x"));
  EXPECT_FALSE(decode_row(std::string(20, '\xFF')));
}

Row square(std::size_t i) { return {{double(i * i)}, {}, ""}; }

PointList list_of(std::size_t count, std::function<Row(std::size_t)> evaluate) {
  PointList list;
  list.command = "test";
  list.count = count;
  list.evaluate = std::move(evaluate);
  return list;
}

TEST(StudyRun, EveryPointIsEvaluatedOnce) {
  for (const unsigned jobs : {1u, 2u, 16u}) {
    std::vector<std::atomic<int>> times(1000);
    const auto run = StudyRun::begin(list_of(times.size(),
                                             [&](std::size_t i) {
                                               ++times[i];
                                               return square(i);
                                             }),
                                     {jobs})
                         .value();
    ASSERT_TRUE(run->evaluate().ok());
    for (std::size_t i = 0; i < times.size(); ++i) {
      ASSERT_EQ(times[i], 1);
      ASSERT_EQ(run->rows().at(i).figures[0], double(i * i));
    }
  }
}

TEST(StudyRun, RoundsEvaluateWhatIsNewInThem) {
  std::vector<std::size_t> evaluated;
  const auto run = StudyRun::begin(list_of(100,
                                           [&](std::size_t i) {
                                             evaluated.push_back(i);
                                             return square(i);
                                           }),
                                   {1})
                       .value();
  ASSERT_TRUE(run->evaluate(std::vector<std::size_t>{7, 3, 7, 50}).ok());
  EXPECT_EQ(evaluated, (std::vector<std::size_t>{7, 3, 50}));
  ASSERT_TRUE(run->evaluate(std::vector<std::size_t>{3, 4}).ok());
  EXPECT_EQ(evaluated.size(), 4u);
  EXPECT_EQ(run->rows().known(), 4u);
  EXPECT_FALSE(run->rows().has(5));
}

/// Memory that suffices for a point alone, but not while others are at work; and memory that never does.
TEST(StudyRun, WhatLacksMemoryIsDoneAgainAlone) {
  for (const unsigned jobs : {1u, 4u}) {
    std::atomic<unsigned> failures{0};
    const auto run = StudyRun::begin(list_of(20,
                                             [&](std::size_t i) {
                                               if (i == 5 || failures++ < jobs) throw std::bad_alloc();
                                               return square(i);
                                             }),
                                     {jobs})
                         .value();
    testing::internal::CaptureStderr();
    ASSERT_TRUE(run->evaluate().ok());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("this machine's memory ran out: no prediction of 1 of 20 points"), std::string::npos) << said;
    for (std::size_t i = 0; i < 20; ++i)
      EXPECT_EQ(run->rows().at(i).error, i == 5 ? "this machine's memory ran out" : "");
  }
}

/// A point without a prediction is not taken from the journal: what kept it from one may be over.
TEST(StudyRun, WhatHadNoPredictionIsEvaluatedAgain) {
  const std::string journal = testing::TempDir() + "failed_points.journal";
  std::filesystem::remove(journal);
  std::string error_of_seven;
  const auto evaluated = [&](const std::string& error) {
    std::vector<std::size_t> out;
    const auto run = StudyRun::begin(list_of(10,
                                             [&](std::size_t i) {
                                               out.push_back(i);
                                               return i % 5 == 2 ? Row{{}, {}, error} : square(i);
                                             }),
                                     {.jobs = 1, .journal = journal, .resume = true})
                         .value();
    EXPECT_TRUE(run->evaluate().ok());
    EXPECT_EQ(run->rows().at(8).figures[0], 64);
    error_of_seven = run->rows().at(7).error;
    return out;
  };
  EXPECT_EQ(evaluated("cannot read").size(), 10u);
  const auto size = std::filesystem::file_size(journal);
  EXPECT_EQ(evaluated("cannot read"), (std::vector<std::size_t>{2, 7}));
  EXPECT_EQ(error_of_seven, "cannot read");
  EXPECT_EQ(std::filesystem::file_size(journal), size) << "the same row once more";
  EXPECT_EQ(evaluated(""), (std::vector<std::size_t>{2, 7}));
  EXPECT_EQ(error_of_seven, "");
  EXPECT_EQ(evaluated("never seen").size(), 0u);
}

TEST(StudyRun, OtherExceptionsLeave) {
  const auto run = StudyRun::begin(list_of(20,
                                           [](std::size_t i) -> Row {
                                             if (i == 5) throw std::runtime_error("five");
                                             return square(i);
                                           }),
                                   {3})
                       .value();
  EXPECT_THROW((void)run->evaluate(), std::runtime_error);
}

TEST(StudyProgress, SaysWhatMatters) {
  EXPECT_EQ(StudyProgress::text("sweep", 812, 1000, 1204.4, "best 23 M samples/s"),
            "distsim sweep: 812 of 1,000 points, 1,204/s, 1 s left, best 23 M samples/s");
  EXPECT_EQ(StudyProgress::text("plan", 0, 1234567, 0, ""), "distsim plan: 0 of 1,234,567 points");
  EXPECT_EQ(StudyProgress::text("plan", 1, 3601, 0.5, ""), "distsim plan: 1 of 3,601 points, 0.5/s, 2.0 h left");
  EXPECT_EQ(StudyProgress::text("plan", 1812, 0, 2.14, ""), "distsim plan: 1,812 played, 2.1/s");
}

TEST(Talk, ComesBack) {
  const Greeting greeting{"node7", 8, {{"program", "1"}, {"--set a", "1,2"}}};
  const Greeting back = decode_greeting(encode(greeting)).value();
  EXPECT_EQ(back.host, greeting.host);
  EXPECT_EQ(back.threads, 8u);
  EXPECT_EQ(back.identity, greeting.identity);
  EXPECT_FALSE(decode_greeting("none"));
  const std::vector<std::size_t> indices{0, 1, 1ull << 40};
  EXPECT_EQ(decode_indices(encode(std::span<const std::size_t>(indices))), indices);
  const std::vector<Done> done = decode_done(encode(std::vector<Done>{{3, "row"}, {4, ""}}));
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].index, 3u);
  EXPECT_EQ(done[0].row, "row");
  EXPECT_EQ(done[1].row, "");
}

TEST(Identity, NamesTheFirstDifference) {
  const Identity a{{"x", "1"}, {"y", "2"}};
  EXPECT_EQ(difference(a, a), "");
  EXPECT_EQ(difference(a, {{"x", "1"}, {"y", "3"}}), "y: found '2', expected '3'");
  EXPECT_EQ(difference(a, {{"x", "1"}}), "y: found '2', expected nothing");
  EXPECT_EQ(difference({{"x", "1"}}, a), "y: found nothing, expected '2'");
}

}  // namespace
}  // namespace distsim::study
