#include "base/system/folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace distsim {
namespace {

TEST(ListFolder, NamesAllThatIsThereInOrder) {
  const std::string folder = ::testing::TempDir() + "list_folder";
  std::filesystem::create_directories(folder + "/sub");
  for (const char* name : {"/b", "/a.yaml", "/.hidden"}) std::ofstream(folder + name) << "x";
  const FolderNames found = list_folder(folder);
  EXPECT_FALSE(found.error);
  EXPECT_EQ(found.names, (std::vector<std::string>{".hidden", "a.yaml", "b", "sub"}));
  std::filesystem::remove_all(folder);
}

TEST(PathsMatching, AreSorted) {
  const std::string folder = ::testing::TempDir() + "paths_matching";
  std::filesystem::create_directories(folder);
  for (const char* name : {"/b.et", "/a.et", "/a.json"}) std::ofstream(folder + name) << "x";
  EXPECT_EQ(paths_matching(folder + "/*.et"), (std::vector<std::string>{folder + "/a.et", folder + "/b.et"}));
  EXPECT_EQ(paths_matching(folder + "/*.pb"), std::vector<std::string>{});
  std::filesystem::remove_all(folder);
}

TEST(ListFolder, SaysWhyItCannotBeListed) {
  EXPECT_EQ(list_folder("/no/such/folder").error, std::errc::no_such_file_or_directory);
  EXPECT_EQ(list_folder("/proc/self/exe").error, std::errc::not_a_directory);
}

}  // namespace
}  // namespace distsim
