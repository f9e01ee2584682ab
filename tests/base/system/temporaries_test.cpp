// Files that exist only until they become another.
#include "base/system/temporaries.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "base/system/lock_file.hpp"
#include "test_data.hpp"

namespace distsim {
namespace {

std::size_t files_in(const std::string& folder) {
  const std::filesystem::directory_iterator begin(folder), end;
  return static_cast<std::size_t>(std::distance(begin, end));
}

TEST(Temporaries, VanishUnlessRenamed) {
  const std::string folder = test::scratch_dir("temporaries");
  {
    Temporary gone(folder + "/a.tmp."), kept(folder + "/b.tmp.");
    ASSERT_TRUE(gone.made() && kept.made());
    EXPECT_EQ(files_in(folder), 2u);
    EXPECT_TRUE(kept.rename_to(folder + "/b"));
  }
  EXPECT_EQ(files_in(folder), 1u);
  EXPECT_TRUE(std::filesystem::exists(folder + "/b"));
}

/// A set of files holds one for each rank.
TEST(Temporaries, ASignalRemovesAllHoweverMany) {
  const std::string folder = test::scratch_dir("many_temporaries");
  std::vector<std::unique_ptr<Temporary>> set;
  for (int i = 0; i < 300; ++i) set.push_back(std::make_unique<Temporary>(folder + "/t.tmp."));
  set.erase(set.begin() + 3, set.begin() + 90);  // places become free and are taken again
  for (int i = 0; i < 100; ++i) set.push_back(std::make_unique<Temporary>(folder + "/t.tmp."));
  EXPECT_EQ(files_in(folder), 313u);
  remove_temporaries();
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(Temporaries, ASignalRemovesALock) {
  const std::string folder = test::scratch_dir("lock_of_a_set");
  auto lock = LockFile::open(folder + "/x.lock", "no other");
  ASSERT_TRUE(lock.ok()) << lock.error().text();
  const LockFile moved = std::move(lock).value();
  remove_temporaries();
  EXPECT_EQ(files_in(folder), 0u);
}

}  // namespace
}  // namespace distsim
