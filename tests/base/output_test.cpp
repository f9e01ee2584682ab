#include "base/output.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "test_paths.hpp"

namespace distsim {
namespace {

class OutputFiles : public testing::Test {
 protected:
  ~OutputFiles() override { std::filesystem::remove_all(dir_); }
  std::string dir_ = test::scratch_dir("output");
  std::string missing_ = dir_ + "/no/a", good_ = dir_ + "/b";
};

/// Whatever becomes of the files, which are all written or none.
TEST_F(OutputFiles, WhatIsPrintedDoesNotDependOnFiles) {
  const auto text = [](const char* name) { return [name] { return std::string(name); }; };
  testing::internal::CaptureStdout();
  const Result<void> printed =
      write_and_print({text_file("--a", missing_, text("a")), text_file("--b", good_, text("b"))}, text("report\n"));
  const std::string report = testing::internal::GetCapturedStdout();
  EXPECT_EQ(report, "report\n");
  ASSERT_FALSE(printed.ok());
  EXPECT_NE(printed.error().text().find("--a: "), std::string::npos) << printed.error().text();
  EXPECT_FALSE(std::filesystem::exists(good_));

  testing::internal::CaptureStdout();
  const Result<void> table = write_and_print(
      {text_file("--a", missing_, text("a")), text_file("--b", "-", text("table\n"))}, text("report\n"));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "table\n");
  EXPECT_FALSE(table.ok());

  testing::internal::CaptureStdout();
  EXPECT_TRUE(write_and_print({text_file("--a", "", text("a")), text_file("--b", good_, text("b"))}, text("r")).ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "r");
  EXPECT_EQ(*read_file(good_, 100), "b");
}

/// The disk is full, or somebody took the folder away: more of it would be thrown away, too.
TEST_F(OutputFiles, NoFileIsMadeAfterOneThatCannotBeWritten) {
  bool made = false;
  const auto late = [&] {
    made = true;
    return std::string();
  };
  EXPECT_FALSE(write_output_files({text_file("--a", missing_, late), text_file("--b", good_, late)}).ok());
  EXPECT_FALSE(made);
  EXPECT_FALSE(write_output_files({text_file("--a", missing_, late), text_file("--b", "/dev/null", late)}).ok());
  EXPECT_TRUE(made);
}

/// By links made since they were checked first.
TEST_F(OutputFiles, TwoOutputsAreTwoFiles) {
  const auto text = [] { return std::string("x"); };
  std::filesystem::create_symlink(good_, dir_ + "/link");
  const Result<void> written =
      write_output_files({text_file("--a", good_, text), text_file("--b", dir_ + "/link", text)});
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().text().find("but --a writes to it too"), std::string::npos) << written.error().text();
  EXPECT_FALSE(std::filesystem::exists(good_));
}

}  // namespace
}  // namespace distsim
