#include "base/system/inputs/input_record.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.hpp"
#include "base/system/inputs/open_input.hpp"
#include "test_paths.hpp"

namespace distsim {
namespace {

class InputRecordTest : public testing::Test {
 protected:
  ~InputRecordTest() override { std::filesystem::remove_all(dir_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ + "/" + name) << text;
    return dir_ + "/" + name;
  }
  std::string dir_ = test::scratch_dir("input_record");
};

TEST_F(InputRecordTest, AFileThatStaysIsUnchanged) {
  InputRecord record;
  const std::string path = write("a", "text");
  EXPECT_TRUE(open_input(path).ok());
  EXPECT_TRUE(open_input(path).ok());
  const std::vector<FileStamp> stamps = record.take();
  EXPECT_EQ(stamps.size(), 2u);
  EXPECT_TRUE(check_unchanged(stamps).ok());
}

TEST_F(InputRecordTest, AFileThatIsReplacedOrWrittenToIsRefused) {
  const std::string path = write("a", "text");
  InputRecord record;
  EXPECT_TRUE(open_input(path).ok());
  std::vector<FileStamp> stamps = record.take();
  std::filesystem::rename(write("b", "text"), path);
  const auto replaced = check_unchanged(stamps);
  ASSERT_FALSE(replaced.ok());
  EXPECT_EQ(replaced.error().text().find(path + ": found another file than at first"), 0u) << replaced.error().text();

  EXPECT_TRUE(open_input(path).ok());
  stamps = record.take();
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_FALSE(check_unchanged(stamps).ok());

  EXPECT_TRUE(open_input(path).ok());
  stamps = record.take();
  std::filesystem::remove(path);
  EXPECT_FALSE(check_unchanged(stamps).ok());
}

/// A link that leads elsewhere and back: what was opened in between is another file than at the end.
TEST_F(InputRecordTest, ALinkThatComesBackIsRefused) {
  const std::string a = write("a", "text"), b = write("b", "text"), link = dir_ + "/link";
  InputRecord record;
  for (const std::string& target : {a, b, a}) {
    std::filesystem::remove(link);
    std::filesystem::create_symlink(target, link);
    EXPECT_TRUE(open_input(link).ok());
  }
  EXPECT_FALSE(check_unchanged(record.take()).ok());
}

TEST_F(InputRecordTest, APipeMayChange) {
  const std::string path = dir_ + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  InputRecord record;
  std::jthread writer([&] { std::ofstream(path) << "text"; });
  EXPECT_EQ(*read_file(path, 100), "text");
  EXPECT_TRUE(check_unchanged(record.take()).ok());
}

TEST_F(InputRecordTest, RecordsWithinRecordsAreOfBoth) {
  const std::string path = write("a", "text");
  InputRecord outer;
  {
    InputRecord inner;
    EXPECT_TRUE(open_input(path).ok());
    EXPECT_EQ(inner.take().size(), 1u);
  }
  EXPECT_TRUE(open_input(path).ok());
  EXPECT_EQ(outer.take().size(), 2u);
}

}  // namespace
}  // namespace distsim
