#include "base/system/lock_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/file.hpp"
#include "test_paths.hpp"

namespace distsim {
namespace {

/// A process that holds the lock until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto lock = LockFile::open(path, "none");
      (void)!::write(pipe[1], lock.ok() ? "y" : "n", 1);
      for (;;) ::pause();
    }
    char answer = 'n';
    EXPECT_EQ(::read(pipe[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
  ~Holder() { kill(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  std::string number() const { return std::to_string(pid_); }

 private:
  pid_t pid_ = 0;
};

class LockFiles : public ::testing::Test {
 protected:
  ~LockFiles() override { std::filesystem::remove_all(dir_); }
  const std::string dir_ = test::scratch_dir("lock_file"), path_ = dir_ + "/x.lock";
};

TEST_F(LockFiles, IsRemovedAtTheEnd) {
  {
    const auto lock = LockFile::open(path_, "none");
    ASSERT_TRUE(lock.ok()) << lock.error().text();
    EXPECT_TRUE(std::filesystem::exists(path_));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(LockFiles, ASecondProcessIsRefusedUntilTheFirstIsGone) {
  Holder holder(path_);
  const auto refused = LockFile::open(path_, "a prefix of its own");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text(),
            path_ + ": in use by process " + holder.number() + ", expected a prefix of its own");
  EXPECT_TRUE(std::filesystem::exists(path_));
  holder.kill();
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_TRUE(LockFile::open(path_, "none").ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(LockFiles, AFileOfOthersStays) {
  ASSERT_TRUE(write_file_atomically(path_, "notes").ok());
  EXPECT_NE(LockFile::open(path_, "none").error().what.find("found a file of others"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace distsim
