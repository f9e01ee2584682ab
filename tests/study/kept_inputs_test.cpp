#include "sim/study/kept_inputs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/system/inputs/open_input.hpp"

namespace distsim::study {
namespace {

class KeptInputsOf : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  void read(KeptInputs& kept, const std::string& path) {
    kept.read("", [&](const KeptInputs::Inputs&) { return open_input(path).ok(); });
  }
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("distsim_kept_inputs_" + std::to_string(::getpid()));
};

TEST_F(KeptInputsOf, AreKeptUntilAFileChanges) {
  KeptInputs kept;
  const std::string path = file("a.yaml", "one");
  const auto first = kept.use();
  read(kept, path);
  EXPECT_EQ(kept.use().generation, first.generation);
  EXPECT_EQ(kept.use().files, first.files);
  file("a.yaml", "longer");
  const auto second = kept.use();
  EXPECT_GT(second.generation, first.generation);
  EXPECT_NE(second.files, first.files);
  EXPECT_NE(second.models, first.models);
  EXPECT_EQ(kept.use().generation, second.generation);
}

TEST_F(KeptInputsOf, AFileThatWasReplacedOrIsGoneIsAnother) {
  KeptInputs kept;
  const std::string path = file("a.yaml", "one");
  for (const bool replaced : {true, false}) {
    read(kept, path);
    const auto before = kept.use();
    if (replaced)
      std::filesystem::rename(file("b.yaml", "two"), path);
    else
      std::filesystem::remove(path);
    EXPECT_GT(kept.use().generation, before.generation) << replaced;
  }
}

TEST_F(KeptInputsOf, FilesThatAreReadOtherwiseDoNotMatter) {
  KeptInputs kept;
  const std::string path = file("a.yaml", "one");
  const auto before = kept.use();
  EXPECT_TRUE(open_input(path).ok());
  file("a.yaml", "longer");
  EXPECT_EQ(kept.use().generation, before.generation);
}

TEST_F(KeptInputsOf, TheFoldersOfTheExperimentAreWatched) {
  KeptInputs kept;
  kept.read(folder_.string(), [](const KeptInputs::Inputs&) { return 0; });
  const auto before = kept.use();
  std::filesystem::create_directories(folder_ / "systems");
  EXPECT_GT(kept.use().generation, before.generation);
}

TEST_F(KeptInputsOf, AreThoseOfTheWorkingDirectory) {
  KeptInputs kept;
  const auto here = std::filesystem::current_path();
  const auto before = kept.use();
  std::filesystem::current_path(folder_);
  const auto there = kept.use();
  std::filesystem::current_path(here);
  EXPECT_GT(there.generation, before.generation);
}

}  // namespace
}  // namespace distsim::study
