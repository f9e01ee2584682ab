#include "base/system/inputs/link_target.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "test_paths.hpp"

namespace distsim {
namespace {

namespace fs = std::filesystem;

TEST(LinkTarget, IsWhereLinksLeadAlsoToNothing) {
  const std::string folder = test::scratch_dir("link_target");
  fs::create_symlink("nowhere", folder + "/relative");
  fs::create_symlink("relative", folder + "/twice");
  fs::create_symlink("/nonexistent/x", folder + "/absolute");
  fs::create_symlink("b", folder + "/a");
  fs::create_symlink("a", folder + "/b");
  EXPECT_EQ(link_target(folder + "/plain"), folder + "/plain");
  EXPECT_EQ(link_target(folder + "/twice"), folder + "/nowhere");
  EXPECT_EQ(link_target(folder + "/absolute"), "/nonexistent/x");
  EXPECT_EQ(link_target(folder + "/a"), std::nullopt);
}

}  // namespace
}  // namespace distsim
