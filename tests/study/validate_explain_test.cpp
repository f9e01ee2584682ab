#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>

#include "sim/study/validate/validate.hpp"
#include "sim/study/validate/validate_plot.hpp"

namespace distsim::study {
namespace {

constexpr const char* kExplainedHeader =
    "case_id,model_id,framework_id,system_id,nodes,gpus,precision,global_batch,accum,measured_ms,tier,series\n";

CaseFile scaling_series(const std::string& of_eight = "210") {
  std::istringstream in(std::string(kExplainedHeader) +
                        "one,resnet50_v1_5,mxnet_horovod,dgx_a100_80gb,1,1,TF32,256,1,200,A,s<1>\n"
                        "two,resnet50_v1_5,mxnet_horovod,dgx_a100_80gb,1,2,TF32,512,1,205,A,s<1>\n"
                        "eight,resnet50_v1_5,mxnet_horovod,dgx_a100_80gb,1,8,TF32,2048,1," +
                        of_eight + ",A,s<1>\n");
  return read_cases(in, "cases.csv").value();
}

TEST(ExplainCase, TellsPartsTermsAndWhatWouldAccountForTheError) {
  const std::string text = explain_case(scaling_series(), "one").value();
  for (const char* part :
       {"measured 200.000 ms", "parts ", "conv2d", "profile of mxnet_horovod", "factor that would explain"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
  }
}

TEST(ExplainCase, NoTermCanShrinkBelowNothing) {
  const std::string text = explain_case(scaling_series("1"), "eight").value();
  EXPECT_NE(text.find("none: it would have to be negative"), std::string::npos) << text;
  EXPECT_NE(text.find("measurement out of range"), std::string::npos);
}

/// One prediction, whether the figure is asked for or what it is made of.
TEST(ExplainCase, ExplainsWhatIsPredictedThoughItSeemsTooLarge) {
  std::istringstream in(
      "case_id,cluster.system,cluster.nodes,framework.name,model.name,model.global_batch,measured_ms\n"
      "a,dgx_a100_40gb,1,megatron_lm,llama2_70b,8,9000\n");
  const CaseFile file = read_cases(in, "cases.csv").value();
  const auto cases = validate_cases(file, 1, [] {});
  ASSERT_TRUE(cases[0].memory_exceeded);
  const auto text = explain_case(file, "a");
  ASSERT_TRUE(text.ok()) << text.error().text();
  char predicted[64];
  std::snprintf(predicted, sizeof predicted, "predicted %.3f ms", cases[0].predicted_ms);
  EXPECT_NE(text->find(predicted), std::string::npos) << predicted << " is missing in\n" << *text;
}

TEST(ExplainCase, SaysThatAMeasuredTimeIsRefused) {
  const CaseFile file = scaling_series("1");
  const auto cases = validate_cases(file, 1, [] {});
  ASSERT_NE(cases[2].failure, "");
  EXPECT_NE(explain_case(file, "eight")->find("\nrefused  " + cases[2].failure), std::string::npos);
  EXPECT_EQ(explain_case(file, "one")->find("refused"), std::string::npos);
}

TEST(ExplainCase, RefusesWhatIsNotThere) {
  const auto unknown = explain_case(scaling_series(), "eigth");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().text(), "--explain: found 'eigth', expected the case_id of a row; did you mean 'eight'?");
}

TEST(Summary, CountsRatiosInsideASeries) {
  const CaseFile file = scaling_series();
  const std::string text = validation_summary(validate_cases(file, 1, [] {}));
  const auto at = text.find("time relative to the fewest GPUs");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(std::stoi(text.substr(at + 33)), 2) << text;  // two GPUs and eight, over one
}

TEST(Plot, DrawsEveryCaseAndTheSeriesAndEscapesNames) {
  const CaseFile file = scaling_series();
  auto cases = validate_cases(file, 1, [] {});
  const std::string svg = validation_plot(cases);
  std::size_t dots = 0;
  for (std::size_t at = svg.find("measured 200"); at != std::string::npos; at = svg.find("measured 200", at + 1))
    ++dots;
  EXPECT_EQ(dots, 1u);
  EXPECT_NE(svg.find("scaling series"), std::string::npos);
  EXPECT_EQ(svg.find("s<1>"), std::string::npos);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  for (auto& c : cases) c.failure = "no";
  EXPECT_NE(validation_plot(cases).find("no measured case was predicted"), std::string::npos);
}

}  // namespace
}  // namespace distsim::study
