#include "base/folder_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace distsim {
namespace {

using Paths = std::vector<std::vector<std::string>>;

class FolderFiles : public ::testing::Test {
 protected:
  FolderFiles() {
    for (const char* file :
         {"mine/b.curve", "mine/notes.txt", "shipped/c.curve", "shipped/b.curve", "shipped/a.curve"}) {
      std::filesystem::create_directories(std::filesystem::path(folder_ + file).parent_path());
      std::ofstream(folder_ + file) << "x";
    }
  }
  ~FolderFiles() override { std::filesystem::remove_all(folder_); }
  std::string folder_ = ::testing::TempDir() + "folder_files/";
};

TEST_F(FolderFiles, AreSortedAndOfOneEnding) {
  EXPECT_EQ(files_by_folder({folder_ + "shipped"}, ".curve"),
            (Paths{{folder_ + "shipped/a.curve", folder_ + "shipped/b.curve", folder_ + "shipped/c.curve"}}));
}

TEST_F(FolderFiles, OfAnEarlierFolderHideThoseOfTheSameName) {
  EXPECT_EQ(files_by_folder({folder_ + "mine", folder_ + "shipped"}, ".curve"),
            (Paths{{folder_ + "mine/b.curve"}, {folder_ + "shipped/a.curve", folder_ + "shipped/c.curve"}}));
}

TEST_F(FolderFiles, OfAFolderThatIsMissingAreNone) {
  EXPECT_EQ(files_by_folder({folder_ + "nowhere", folder_ + "mine"}, ".curve"),
            (Paths{{}, {folder_ + "mine/b.curve"}}));
}

}  // namespace
}  // namespace distsim
