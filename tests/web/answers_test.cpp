#include "sim/web/answers/answers.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "base/file.hpp"
#include "sim/web/answers/kept_files.hpp"
#include "sim/web/answers/kept_reports.hpp"

namespace distsim::web {
namespace {

using Json = nlohmann::json;

class AnswersOf : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::current_path(DISTSIM_ROOT); }
  Json ask(Json body) {
    body["id"] = 5;
    if (!body.contains("text")) body["text"] = text_;
    auto message = read_message(body.dump());
    EXPECT_TRUE(message.ok());
    return Json::parse(answers_.to(*message, {[] { return false; }, [this](std::string) { ++told_; }}));
  }
  const std::string file_ = "configs/dgx_a100_4node.yaml";
  const std::string text_ = *read_file(std::string(DISTSIM_ROOT) + "/" + file_, 1 << 16);
  Answers answers_{file_, text_};
  int told_ = 0;
};

TEST_F(AnswersOf, KeepsIdAndText) {
  const Json answer = ask({{"type", "predict"}});
  EXPECT_EQ(answer["id"], 5);
  EXPECT_EQ(answer["type"], "prediction");
  EXPECT_EQ(answer["text"], text_);
  EXPECT_GT(answer["report"]["iteration_ms"].get<double>(), 1);
  EXPECT_FALSE(answer.contains("values"));
}

TEST_F(AnswersOf, PlacesErrorsInTheText) {
  const Json answer = ask({{"type", "predict"}, {"edits", {{{"key", "cluster.nodes"}, {"value", "-3"}}}}});
  EXPECT_EQ(answer["type"], "error");
  EXPECT_EQ(answer["error"]["line"], 8);
  EXPECT_EQ(answer["error"]["column"], 10);
  EXPECT_NE(answer["text"].get<std::string>().find("nodes: -3"), std::string::npos);
}

TEST_F(AnswersOf, ACancelledSweepSaysWhatItHas) {
  auto message =
      read_message(Json{{"id", 1}, {"type", "sweep"}, {"text", text_}, {"axes", {"cluster.nodes=1,2,3"}}}.dump());
  int asked = 0;
  const Json answer = Json::parse(answers_.to(*message, {[&] { return ++asked > 2; }, [](std::string) {}}));
  EXPECT_EQ(answer["type"], "cancelled");
  EXPECT_EQ(answer["done"], 2);
  EXPECT_EQ(answer["points"].size(), 2u);
}

TEST_F(AnswersOf, WindowsOfATimelineHoldAllOfItsTime) {
  const Json whole = ask({{"type", "timeline"}, {"columns", 8192}, {"count", 64}});
  const Json coarse = ask({{"type", "timeline"}, {"columns", 64}, {"count", 64}});
  for (std::size_t i = 0; i < 8; ++i) {
    const Json &fine = whole["tracks"][i]["slices"], &rough = coarse["tracks"][i]["slices"];
    ASSERT_EQ(rough.size() % 3, 0u);
    EXPECT_LE(rough.size(), fine.size());
    if (fine.empty()) continue;
    EXPECT_EQ(rough[0], fine[0]);
    EXPECT_EQ(rough[rough.size() - 3].get<std::int64_t>() + rough[rough.size() - 2].get<std::int64_t>(),
              fine[fine.size() - 3].get<std::int64_t>() + fine[fine.size() - 2].get<std::int64_t>());
  }
}

TEST(Messages, RefuseWhatTheyAreNot) {
  EXPECT_TRUE(read_message(R"({"id": 1, "type": "predict"})").ok());
  for (const char* text :
       {"", "1", "{}", R"({"id": 1})", R"({"id": 1.5, "type": "predict"})", R"({"id": 1, "type": "pedict"})"})
    EXPECT_FALSE(read_message(text).ok()) << text;
  EXPECT_NE(read_message(R"({"id": 1, "type": "predit"})").error().text().find("predict"), std::string::npos);
}

TEST_F(AnswersOf, AreTheSameWhenAskedForAgain) {
  const Json first = ask({{"type", "predict"}}),
             other = ask({{"type", "predict"}, {"edits", {{{"key", "cluster.nodes"}, {"value", "2"}}}}});
  EXPECT_EQ(ask({{"type", "predict"}}), first);
  EXPECT_NE(other["report"]["digest"], first["report"]["digest"]);
}

TEST(KeptReports, HoldNoMoreThanTheyMay) {
  KeptReports reports;
  const std::string large(KeptReports::kMostBytes / 10, 'x');
  for (int i = 0; i < 12; ++i) {
    reports.keep({std::to_string(i), "1", large});
    ASSERT_NE(reports.find("0"), nullptr) << "the one that was used last";
  }
  EXPECT_EQ(reports.find("1"), nullptr);
  EXPECT_NE(reports.find("11"), nullptr);
  reports.keep({"too large", "1", std::string(KeptReports::kMostBytes, 'x')});
  EXPECT_EQ(reports.find("too large"), nullptr);
  reports.clear();
  EXPECT_EQ(reports.find("0"), nullptr);
}

TEST(KeptFiles, ForgetsTheOldest) {
  KeptFiles files;
  const std::string first = files.keep("a.json", "x", "text");
  ASSERT_NE(files.find(first), nullptr);
  EXPECT_EQ(files.find(first)->text, "text");
  EXPECT_EQ(files.find("nothing"), nullptr);
  for (std::size_t i = 0; i < KeptFiles::kMostFiles; ++i) files.keep("b.json", "x", "");
  EXPECT_EQ(files.find(first), nullptr);
}

}  // namespace
}  // namespace distsim::web
