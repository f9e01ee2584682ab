#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/web/files/private_folder.hpp"
#include "sim/web/files/uploads.hpp"

namespace distsim::web {
namespace {

namespace fs = std::filesystem;

TEST(PrivateFolder, IsOfItsUserAndGoesWithAllThatIsInIt) {
  std::string path;
  {
    PrivateFolder folder;
    EXPECT_EQ(folder.known_path(), "");
    path = *folder.path();
    EXPECT_EQ(*folder.path(), path);
    struct stat about {};
    ASSERT_EQ(::stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777u, 0700u);
    std::ofstream(path + "/file") << "text";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(PrivateFolder, NothingIsMadeOnceItIsOver) {
  PrivateFolder folder;
  const std::string path = *folder.path();
  folder.remove();
  EXPECT_FALSE(fs::exists(path));
  EXPECT_FALSE(folder.path().ok());
}

/// What a killed server leaves is removed by the next one; what a living one has is not.
TEST(PrivateFolder, OfAServerThatIsGoneIsRemoved) {
  PrivateFolder first;
  const fs::path parent = fs::path(*first.path()).parent_path();
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const fs::path left = parent / ("distsim-serve-" + std::to_string(gone) + "-abcdef");
  const fs::path unlike = parent / "distsim-serve-no-number";
  fs::create_directory(left);
  fs::create_directory(unlike);
  PrivateFolder second;
  ASSERT_TRUE(second.path().ok());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(unlike));
  EXPECT_TRUE(fs::exists(*first.path()));
  fs::remove(unlike);
}

/// A process of another container is not seen, as one that is gone; its folder is locked.
TEST(PrivateFolder, OfAServerThatIsNotSeenIsKept) {
  PrivateFolder first;
  const fs::path path = *first.path();
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const fs::path unseen = path.parent_path() / ("distsim-serve-" + std::to_string(gone) + "-abcdef");
  fs::rename(path, unseen);
  PrivateFolder second;
  ASSERT_TRUE(second.path().ok());
  EXPECT_TRUE(fs::exists(unseen));
  fs::remove(unseen);
}

TEST(PlainFileName, IsNoPathAndNotHidden) {
  EXPECT_EQ(plain_file_name("rank0.json.gz"), "rank0.json.gz");
  EXPECT_EQ(plain_file_name("../../etc/passwd"), "passwd");
  EXPECT_EQ(plain_file_name("C:\\traces\\a b.sqlite"), "a_b.sqlite");
  EXPECT_EQ(plain_file_name(".."), "trace");
  EXPECT_EQ(plain_file_name(""), "trace");
  EXPECT_EQ(plain_file_name("___"), "trace");
  EXPECT_EQ(plain_file_name("-rf.json"), "rf.json");
  EXPECT_EQ(plain_file_name(std::string(500, 'x') + ".json").size(), 100u);
  EXPECT_TRUE(plain_file_name(std::string(500, 'x') + ".json").ends_with(".json"));
  EXPECT_EQ(plain_file_name(std::string("a\0b\n.et", 7)), "a_b_.et");
}

TEST(Uploads, AreFoundByTheirIdsAlone) {
  PrivateFolder folder;
  Uploads uploads(folder);
  Upload one = *uploads.begin("rank0.json"), two = *uploads.begin("rank0.json");
  EXPECT_NE(one.path, two.path);
  std::ofstream(one.path) << "one";
  std::ofstream(two.path) << "two";
  const std::string id = one.id, path = one.path;
  uploads.finish(std::move(one));
  EXPECT_EQ(*uploads.paths({id}), std::vector<std::string>{path});
  EXPECT_FALSE(uploads.paths({id, two.id}).ok());  // has not come as a whole
  Uploads::drop(two);
  EXPECT_FALSE(fs::exists(two.path));
  EXPECT_FALSE(uploads.paths({""}).ok());
}

TEST(Uploads, TheOldestGoWhereThereAreTooMany) {
  PrivateFolder folder;
  Uploads uploads(folder);
  std::vector<std::string> ids, paths;
  for (std::size_t i = 0; i < Uploads::kMostFiles + 3; ++i) {
    Upload one = *uploads.begin("x");
    std::ofstream(one.path) << "x";
    ids.push_back(one.id);
    paths.push_back(one.path);
    uploads.finish(std::move(one));
  }
  EXPECT_FALSE(uploads.paths({ids[2]}).ok());
  EXPECT_FALSE(fs::exists(paths[2]));
  EXPECT_TRUE(uploads.paths({ids[3]}).ok());
  EXPECT_TRUE(fs::exists(paths.back()));
  Upload large = *uploads.begin("x");
  large.bytes = Uploads::kMostBytes + 1;
  const std::string id = large.id;
  uploads.finish(std::move(large));
  EXPECT_FALSE(uploads.paths({ids.back()}).ok());  // one alone may be large: it has come
  EXPECT_TRUE(uploads.paths({id}).ok());
}

}  // namespace
}  // namespace distsim::web
