#include "sim/web/answers/answers.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>

#include "base/file.hpp"
#include "sim/web/answers/kept_files.hpp"
#include "sim/web/answers/kept_reports.hpp"
#include "test_paths.hpp"

namespace distsim::web {
namespace {

using Json = nlohmann::json;

class AnswersOf : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::current_path(test::root()); }
  Json ask(Json body) {
    body["id"] = 5;
    const bool has_text = body["type"] != "cases" && body["type"] != "case" && body["type"] != "ops";
    const bool is_named = body.contains("system") || body.contains("gpu");
    if (has_text && !is_named && !body.contains("text")) body["text"] = text_;
    auto message = read_message(body.dump());
    EXPECT_TRUE(message.ok());
    return Json::parse(answers_.to(*message, {running_, [this](std::string) { ++told_; }}));
  }
  const std::string file_ = "configs/dgx_a100_4node.yaml";
  const std::string text_ = *read_file(test::root() + "/" + file_, 1 << 16);
  Answers answers_{file_, text_};
  int told_ = 0;
  const std::shared_ptr<std::atomic<bool>> running_ = std::make_shared<std::atomic<bool>>(false);
};

TEST_F(AnswersOf, KeepsIdAndText) {
  const Json answer = ask({{"type", "predict"}});
  EXPECT_EQ(answer["id"], 5);
  EXPECT_EQ(answer["type"], "prediction");
  EXPECT_EQ(answer["text"], text_);
  EXPECT_GT(answer["report"]["iteration_ms"].get<double>(), 1);
  EXPECT_FALSE(answer.contains("values"));
}

/// A misspelt member would change an answer by its absence.
TEST_F(AnswersOf, MembersAreThoseOfTheMessage) {
  const auto refusal = [](const Json& body) {
    const auto message = read_message(body.dump());
    return message.ok() ? std::string() : message.error().text();
  };
  const Json predict{{"id", 7}, {"type", "predict"}, {"text", "x"}};
  Json misspelt = predict, flag = predict, foreign = predict;
  misspelt["edit"] = Json::array();
  EXPECT_EQ(refusal(misspelt),
            "message: found an unknown member 'edit', expected those of predict; did you mean 'edits'?");
  EXPECT_EQ(id_in(misspelt.dump()), 7);
  flag["values"] = "yes";
  EXPECT_EQ(refusal(flag), "message: values: expected true or false");
  foreign["axes"] = Json::array();
  EXPECT_NE(refusal(foreign).find("found an unknown member 'axes'"), std::string::npos);
  EXPECT_EQ(refusal(predict), "");
  const auto refused = [](const char* text) {
    const auto message = read_message(text);
    return message.ok() ? std::string() : message.error().text();
  };
  EXPECT_EQ(refused(R"({"id": 1, "type": "timeline", "text": "x", "from": "0"})"),
            "message: from: expected a whole number");
  EXPECT_EQ(refused(R"({"id": 1, "type": "cancel"})"), "message: of: expected the id of the message that is cancelled");
  EXPECT_EQ(refused(R"({"id": 1, "type": "cancel", "of": 7})"), "");
  EXPECT_EQ(refused(R"({"id": 1, "type": "op", "gpu": "a100", "text": "x"})"),
            "message: gpu: expected either it or text with its edits, not both");
  EXPECT_EQ(refused(R"({"id": 1, "type": "collective", "system": "dgx_a100", "edits": []})"),
            "message: system: expected either it or text with its edits, not both");
  EXPECT_EQ(read_message(R"({"id": 1, "type": "predict", "text": "a", "text": "b"})").error().text(),
            "message: found the member 'text' twice, expected it once");
  EXPECT_EQ(id_in("[]"), -1);
  EXPECT_EQ(id_in(R"({"id": "7"})"), -1);
}

TEST_F(AnswersOf, EditsHaveNoOtherMembers) {
  const Json answer =
      ask({{"type", "predict"}, {"edits", {{{"key", "cluster.nodes"}, {"value", "8"}, {"valeu", "9"}}}}});
  EXPECT_EQ(answer["type"], "error");
  EXPECT_NE(answer.dump().find("objects with key and value, a text or null, and no other member"), std::string::npos)
      << answer;
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
  *running_ = true;
  const Json answer = Json::parse(answers_.to(*message, {running_, [](std::string) {}}));
  EXPECT_EQ(answer["type"], "cancelled");
  EXPECT_EQ(answer["done"], 0);
  EXPECT_EQ(answer["points"].size(), 0u);
}

TEST_F(AnswersOf, NothingIsPredictedForNobody) {
  *running_ = true;
  for (const char* type : {"predict", "timeline", "effects", "sensitivity", "plan", "cases"})
    EXPECT_EQ(ask({{"type", type}})["type"], "cancelled") << type;
  *running_ = false;
  EXPECT_EQ(ask({{"type", "predict"}})["type"], "prediction");
}

/// The way from a row of a plan to its experiment: the text with the row's keys in it is predicted as the row says.
TEST_F(AnswersOf, ARowOfAPlanLeadsToItsExperiment) {
  const std::string text =
      "cluster: {system: dgx_h100, nodes: 1}\n"
      "model: {name: llama3_8b, global_batch: 16}\n"
      "framework: {name: megatron_core}\n";
  const Json found =
      ask({{"type", "plan"}, {"text", text}, {"top", 3}, {"vary", {"parallel.pipeline=1", "parallel.context=1"}}});
  ASSERT_EQ(found["type"], "plan") << found;
  EXPECT_GT(told_, 1);
  for (const Json& row : found["result"]["rows"]) {
    if (row["error"] != "" || !row.contains("set")) continue;
    Json edits = Json::array();
    for (const std::string set : row["set"])
      edits.push_back({{"key", set.substr(0, set.find('='))}, {"value", set.substr(set.find('=') + 1)}});
    const Json shown = ask({{"type", "predict"}, {"text", text}, {"edits", edits}});
    ASSERT_EQ(shown["type"], "prediction") << shown["error"];
    EXPECT_DOUBLE_EQ(shown["report"]["iteration_ms"].get<double>(), row["iteration_ms"].get<double>());
  }
}

/// Of a recommender, whose tables lie in a file of the server's own.
TEST_F(AnswersOf, APlacementLeadsToItsExperiment) {
  const Json found = ask({{"type", "plan"}});
  ASSERT_EQ(found["type"], "plan") << found;
  std::size_t placed = 0;
  for (const Json& row : found["result"]["rows"]) {
    if (row["error"] != "" || !row.contains("set")) continue;
    Json edits = Json::array();
    for (const std::string set : row["set"]) {
      placed += set.starts_with("parallel.placement_file=") ? 1 : 0;
      edits.push_back({{"key", set.substr(0, set.find('='))}, {"value", set.substr(set.find('=') + 1)}});
    }
    const Json shown = ask({{"type", "predict"}, {"edits", edits}});
    ASSERT_EQ(shown["type"], "prediction") << shown["error"];
    EXPECT_NEAR(shown["report"]["iteration_ms"].get<double>(), row["iteration_ms"].get<double>(), 1e-9);
  }
  EXPECT_GT(placed, 0u);
}

/// What the calculator offers has a price, along each of its sizes, within its range, and larger is not cheaper.
TEST_F(AnswersOf, EveryOpThatIsOfferedHasAPrice) {
  const Json offer = ask({{"type", "ops"}});
  ASSERT_GT(offer["ops"].size(), 10u);
  for (const Json& op : offer["ops"]) {
    Json sizes = Json::object();
    for (const Json& size : op["sizes"])
      sizes[size["name"].get<std::string>()] = std::to_string(size["value"].get<std::int64_t>());
    for (const char* dtype : {"fp32", "fp16"}) {
      const Json got = ask({{"type", "op"}, {"op", op["op"]}, {"dtype", dtype}, {"sizes", sizes}});
      ASSERT_EQ(got["type"], "op") << op["op"] << got["error"];
      EXPECT_GT(got["at"][1].get<double>(), 0);
      EXPECT_LE(got["at"][2].get<double>(), got["at"][1].get<double>());
      EXPECT_GE(got["at"][3].get<double>(), got["at"][1].get<double>());
    }
  }
}

/// A curve of this very system comes with distsim: most of it lies in the range that is predicted of its sizes.
TEST_F(AnswersOf, ACollectiveMeetsWhatWasMeasuredOfIt) {
  const Json got = ask({{"type", "collective"},
                        {"system", "dgx_a100_80gb"},
                        {"kind", "all_reduce"},
                        {"nodes", 2},
                        {"from", 1024},
                        {"to", 1 << 30}});
  ASSERT_EQ(got["type"], "collective") << got["error"];
  std::map<double, std::pair<double, double>> range;
  for (const Json& p : got["points"]) {
    EXPECT_LE(p[2].get<double>(), p[1].get<double>());
    EXPECT_GE(p[3].get<double>(), p[1].get<double>());
    range[p[0].get<double>()] = {p[2].get<double>(), p[3].get<double>()};
  }
  std::size_t measured = 0, met = 0;
  for (const Json& curve : got["measured"]) {
    if (curve["origin"] != "of this system") continue;
    for (const Json& p : curve["points"]) {
      const auto there = range.find(p[0].get<double>());
      if (there == range.end()) continue;  // outside of what was asked for
      ++measured;
      met += p[1].get<double>() >= there->second.first && p[1].get<double>() <= there->second.second ? 1 : 0;
    }
  }
  EXPECT_GT(measured, 5u);
  EXPECT_GT(2 * met, measured);
}

TEST_F(AnswersOf, AMeasuredIterationLeadsToItsExperiment) {
  const Json all = ask({{"type", "cases"}});
  ASSERT_EQ(all["type"], "cases");
  ASSERT_GT(all["cases"].size(), 5u);
  EXPECT_EQ(static_cast<std::size_t>(told_), all["cases"].size());
  const Json& first = all["cases"][0];
  const Json one = ask({{"type", "case"}, {"case", first["id"]}});
  ASSERT_EQ(one["type"], "case") << one["error"];
  EXPECT_NE(one["explanation"].get<std::string>().find("term of the critical cycle"), std::string::npos);
  const Json shown = ask({{"type", "predict"}, {"text", one["text"]}});
  ASSERT_EQ(shown["type"], "prediction") << shown["error"];
  EXPECT_DOUBLE_EQ(shown["report"]["iteration_ms"].get<double>(), first["predicted_ms"].get<double>());
  EXPECT_EQ(ask({{"type", "case"}, {"case", "no such case"}})["type"], "error");
}

TEST_F(AnswersOf, WindowsOfATimelineHoldAllOfItsTime) {
  const auto end_of = [](const Json& slices) {  // a slice begins where its gap after the one before ends
    std::int64_t end = 0;
    for (std::size_t i = 0; i + 2 < slices.size(); i += 3) {
      end += slices[i].get<std::int64_t>() + slices[i + 1].get<std::int64_t>();
    }
    return end;
  };
  const Json whole = ask({{"type", "timeline"}, {"columns", 8192}, {"count", 64}});
  const Json coarse = ask({{"type", "timeline"}, {"columns", 64}, {"count", 64}});
  for (std::size_t i = 0; i < 8; ++i) {
    const Json &fine = whole["tracks"][i]["slices"], &rough = coarse["tracks"][i]["slices"];
    ASSERT_EQ(rough.size() % 3, 0u);
    EXPECT_LE(rough.size(), fine.size());
    if (fine.empty()) continue;
    EXPECT_EQ(rough[0], fine[0]);
    EXPECT_EQ(end_of(rough), end_of(fine));
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
