#include "sim/study/validate.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sim/study/case_experiment.hpp"
#include "test_data.hpp"

namespace distsim::study {
namespace {

constexpr const char* kHeader =
    "case_id,model_id,framework_id,system_id,nodes,gpus,precision,global_batch,accum,measured_ms,tier\n";

Result<CaseFile> cases(const std::string& rows) {
  std::istringstream in(kHeader + rows);
  return read_cases(in, "cases.csv");
}

TEST(ReadCases, KeepsEveryRow) {
  const CaseFile f =
      cases(
          "a,resnet50_v1_5,pytorch,dgx_a100_80gb,1,8,TF32,2048,1,150.5,A\nb,resnet50_v1_5,pytorch,dgx_a100_80gb,1,8,TF32,2048,,99,A\n")
          .value();
  ASSERT_EQ(f.cases.size(), 2u);
  EXPECT_EQ(f.cases[0].gpus, 8);
  EXPECT_DOUBLE_EQ(f.cases[0].measured_ms, 150.5);
  EXPECT_EQ(f.cases[1].accumulation, 1);
}

TEST(ReadCases, RefusesBrokenRowsByLine) {
  EXPECT_EQ(cases("a,m,f,s,1,8,TF32,2048,1,-3,A\n").error().text(),
            "cases.csv:2: measured_ms: found '-3', expected a positive number");
  EXPECT_EQ(cases("a,m,f,s,1,eight,TF32,2048,1,3,A\n").error().text(),
            "cases.csv:2: gpus: found 'eight', expected a whole number of at least 1");
  EXPECT_FALSE(cases("a,m,f,s\n").ok());
  EXPECT_FALSE(cases("").ok());
}

TEST(ValidateCases, AFailureKeepsItsPlaceAndItsReason) {
  const CaseFile f = cases("a,no_such_model,pytorch,dgx_a100_80gb,1,8,TF32,2048,1,150.5,A\n").value();
  const auto v = validate_cases(f, 1, [] {});
  ASSERT_EQ(v.size(), 1u);
  EXPECT_NE(v[0].failure.find("no_such_model"), std::string::npos);
  EXPECT_NE(validation_csv(f, v).find("failed: "), std::string::npos);
  EXPECT_NE(validation_summary(v).find("not predicted:"), std::string::npos);
}

/// Releases of HugeCTR differ in what they overlap; the round of MLPerf tells which one ran.
TEST(ExperimentOf, HugeCtrFollowsItsReleases) {
  MeasuredCase c;
  c.model_id = "dlrm_mlperf_onehot";
  c.framework_id = "hugectr";
  c.system_id = "dgx_a100_80gb";
  c.precision = "FP16";
  c.gpus = 8;
  c.global_batch = 55296;
  CaseExperiments experiments;
  const auto profile = [&](const std::string& id) {
    c.case_id = id;
    const auto e = experiments.of(c);
    EXPECT_TRUE(e.ok()) << e.error().text();
    return e->framework.name;
  };
  EXPECT_EQ(profile("mlperf-v0.7-dlrm-a"), "hugectr_2020");
  EXPECT_EQ(profile("mlperf-v1.0-dlrm-a"), "hugectr_2021_05");
  EXPECT_EQ(profile("mlperf-v1.1-dlrm-a"), "hugectr");
  EXPECT_EQ(profile("anything else"), "hugectr");
  c.series = "mlperf_dlrm|NVIDIA|v1.0|A100";
  EXPECT_EQ(profile("x"), "hugectr_2021_05");
}

/// What one case changes of its experiment must not reach the next.
TEST(CaseExperiments, CasesOfOneModelDoNotShareTheirBatch) {
  const CaseFile f =
      cases(
          "a,resnet50_v1_5,pytorch,dgx_a100_80gb,1,8,TF32,2048,1,150.5,A\nb,resnet50_v1_5,pytorch,dgx_a100_80gb,2,8,FP16,4096,1,99,A\n")
          .value();
  CaseExperiments experiments;
  const config::Experiment first = experiments.of(f.cases[0]).value(), second = experiments.of(f.cases[1]).value(),
                           again = experiments.of(f.cases[0]).value();
  EXPECT_EQ(second.model.global_batch, 4096);
  EXPECT_EQ(second.cluster.gpus_per_node, 4);
  EXPECT_EQ(again.model.global_batch, first.model.global_batch);
  EXPECT_EQ(again.model.precision, first.model.precision);
  EXPECT_EQ(again.cluster.nodes, 1);
}

TEST(Precision, WhatIsNotStatedFollowsTheDevice) {
  topology::DeviceSpec v100, a100;
  a100.peak["tf32"] = FlopsPerSecond(156e12);
  EXPECT_EQ(parse_precision("FP32/TF32 (not stated)", a100).value(), workload::Precision::tf32);
  EXPECT_EQ(parse_precision("FP32/TF32 (not stated)", v100).value(), workload::Precision::fp32);
  EXPECT_EQ(parse_precision("FP16 mixed", a100).value(), workload::Precision::fp16);
  EXPECT_FALSE(parse_precision("posit8", a100).ok());
}

TEST(ModelById, GptIdsAreParametric) {
  const workload::ModelSpec m = model_by_id("gpt_h2048_l24_a16_s1024").value();
  EXPECT_EQ(m.transformer.hidden, 2048);
  EXPECT_EQ(m.transformer.layers, 24);
  EXPECT_EQ(m.transformer.heads, 16);
  EXPECT_EQ(m.transformer.sequence, 1024);
  EXPECT_FALSE(model_by_id("gpt_h99999999999_l1_a1_s1").ok());
}

TEST(Families, OfIds) {
  EXPECT_EQ(family_of("gpt_h2048_l24_a16_s1024"), "gpt");
  EXPECT_EQ(family_of("bert_large_seq128"), "bert");
  EXPECT_EQ(family_of("dlrm_dcnv2_mlperf"), "dlrm_dcnv2");
  EXPECT_EQ(family_of("dlrm_mlperf_onehot"), "dlrm");
}

/// The published core cases: every one is predicted, and half of them within 10 % (6.6 % and, of the samples, 8.0 % when
/// the bound was set).
TEST(ValidateCases, PublishedIterations) {
  const std::string path = test::data("iteration_times/core_visible.csv");
  std::ifstream in(path, std::ios::binary);
  const CaseFile f = read_cases(in, path).value();
  const auto v = validate_cases(f, 2, [] {});
  std::cout << validation_summary(v);
  std::vector<double> errors;
  for (const auto& c : v) {
    if (c.failure.empty()) errors.push_back(std::abs(c.error));
  }
  ASSERT_EQ(errors.size(), f.cases.size());
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() / 2], 0.10);
}

}  // namespace
}  // namespace distsim::study
