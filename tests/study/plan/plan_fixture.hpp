// Plans of experiments that a test writes.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/study/plan/plan.hpp"
#include "small_llm.hpp"

namespace distsim::study {

class PlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("distsim_test_plan_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  PlanRequest small(std::vector<std::string> sets = {}) const {
    PlanRequest request;
    request.config = file("x.yaml", test::llm_text("llama3_8b", "megatron_core", "dgx_h100", 1, 16));
    request.sets = std::move(sets);
    request.top = 3;
    return request;
  }
  std::filesystem::path folder_;
};

inline Result<Plan> planned(const PlanRequest& request) {
  return plan_experiment(request, [] {});
}

}  // namespace distsim::study
