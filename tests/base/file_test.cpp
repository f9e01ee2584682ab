#include "base/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "base/system/inputs/protected_inputs.hpp"
#include "test_paths.hpp"

namespace distsim {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  ~FileTest() override { fs::remove_all(dir_); }
  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  std::string contents(const std::string& name) const { return *read_file(path(name), 1 << 20); }
  /// Files in the folder: what a failed write may not leave behind.
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()));
  }

  std::string dir_ =
      test::scratch_dir(std::string("file_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(FileTest, WritesAndReadsBack) {
  const std::string text("line\n\0\xff", 7);
  ASSERT_TRUE(write_file_atomically(path("a"), text).ok());
  EXPECT_EQ(contents("a"), text);
  ASSERT_TRUE(write_file_atomically(path("a"), "").ok());
  EXPECT_EQ(contents("a"), "");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, ReadRefusesFoldersAbsentAndLargeFiles) {
  EXPECT_EQ(read_file(dir_, 10).error().text(), dir_ + ": found a folder, expected a file");
  EXPECT_EQ(read_file(path("a"), 10).error().text(), path("a") + ": cannot open (No such file or directory)");
  ASSERT_TRUE(write_file_atomically(path("a"), "12345").ok());
  EXPECT_TRUE(read_file(path("a"), 5).ok());
  EXPECT_EQ(read_file(path("a"), 4).error().text(),
            path("a") + ": found more than 4 bytes, expected no more than that");
  EXPECT_FALSE(read_file("/dev/zero", 1 << 20).ok());  // has no size, and no end
  EXPECT_FALSE(read_file(std::string("a\0b", 3), 10).ok());
  EXPECT_FALSE(read_file("", 10).ok());
}

/// The most memory that this process has ever held, bytes.
std::size_t peak_bytes() {
  struct rusage use {};
  ::getrusage(RUSAGE_SELF, &use);
  return static_cast<std::size_t>(use.ru_maxrss) << 10;
}

TEST_F(FileTest, WhatIsTooLargeIsRefusedBeforeItIsRead) {
  constexpr std::size_t kMost = std::size_t{4} << 30, kRoom = std::size_t{256} << 20;
  ASSERT_TRUE(write_file_atomically(path("hollow"), "x").ok());
  fs::resize_file(path("hollow"), kMost + 1);
  const auto refuses = [&](const std::string& name) {
    const std::size_t before = peak_bytes();
    EXPECT_FALSE(read_file(name, kMost).ok());
    EXPECT_LT(peak_bytes() - before, kRoom) << name;
  };
  refuses(path("hollow"));
  refuses("/dev/zero");
}

TEST_F(FileTest, MissingFolderOrFileInsteadOfFolder) {
  EXPECT_FALSE(write_file_atomically(path("no/such/a"), "x").ok());
  EXPECT_NE(write_file_atomically(path("no/a"), "x").error().text().find("no such folder '" + path("no") + "'"),
            std::string::npos);
  ASSERT_TRUE(write_file_atomically(path("a"), "old").ok());
  EXPECT_FALSE(write_file_atomically(path("a/b"), "x").ok());
  EXPECT_FALSE(write_file_atomically(dir_, "x").ok());
  EXPECT_FALSE(write_file_atomically("", "x").ok());
  EXPECT_FALSE(write_file_atomically(std::string("a\0b", 3), "x").ok());
  EXPECT_EQ(contents("a"), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, AFailingProducerLeavesTheOldFile) {
  ASSERT_TRUE(write_file_atomically(path("a"), "old").ok());
  const auto result = write_stream_atomically(path("a"), [](std::ostream& out) -> Result<void> {
    out << std::string(1 << 20, 'x') << std::flush;
    return Error{"the third rank is missing", "", ""};
  });
  EXPECT_EQ(result.error().text(), "the third rank is missing");
  EXPECT_EQ(contents("a"), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, AThrowingProducerLeavesTheOldFile) {
  ASSERT_TRUE(write_file_atomically(path("a"), "old").ok());
  EXPECT_THROW((void)write_stream_atomically(path("a"), [](std::ostream&) -> Result<void> { throw std::bad_alloc(); }),
               std::bad_alloc);
  EXPECT_EQ(contents("a"), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, AStreamThatTheProducerBrokeIsNoSuccess) {
  const auto result = write_stream_atomically(path("a"), [](std::ostream& out) -> Result<void> {
    out.setstate(std::ios::failbit);
    return {};
  });
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(files(), 0u);
}

TEST_F(FileTest, StreamsMoreThanItsBuffer) {
  const std::string line(1000, 'x');
  ASSERT_TRUE(write_stream_atomically(path("a"), [&](std::ostream& out) -> Result<void> {
                for (int i = 0; i < 1000; ++i) out << line << '\n';
                return {};
              }).ok());
  EXPECT_EQ(fs::file_size(path("a")), 1'001'000u);
}

/// A disk that fills up: /dev/full refuses every write, and a file size limit refuses the rest of one.
TEST_F(FileTest, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(write_file_atomically("/dev/full", "x").error().text(),
            "/dev/full: cannot write (No space left on device)");
}

TEST_F(FileTest, AWriteCutShortLeavesTheOldFile) {
  ASSERT_TRUE(write_file_atomically(path("a"), "old").ok());
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{100'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto result = write_file_atomically(path("a"), std::string(1 << 20, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().text(), path("a") + ": cannot write (File too large)");
  EXPECT_EQ(contents("a"), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, FilesTogetherAreReplacedWhenAllAreWhole) {
  ASSERT_TRUE(write_file_atomically(path("a"), "old a").ok());
  ASSERT_TRUE(write_file_atomically(path("b"), "old b").ok());
  {
    FilesTogether given_up;
    ASSERT_TRUE(given_up.write(path("a"), "new a").ok());
    EXPECT_FALSE(given_up.write_stream(path("b"),
                                       [](std::ostream&) -> Result<void> {
                                         return Error{"no", "", ""};
                                       })
                     .ok());
    EXPECT_EQ(contents("a"), "old a");
  }
  EXPECT_EQ(contents("a"), "old a");
  EXPECT_EQ(files(), 2u);
  FilesTogether kept;
  ASSERT_TRUE(kept.write(path("a"), "new a").ok());
  ASSERT_TRUE(kept.write(path("b"), "new b").ok());
  ASSERT_TRUE(kept.write("/dev/null", "nowhere").ok());
  ASSERT_TRUE(kept.keep().ok());
  EXPECT_EQ(contents("a") + contents("b"), "new anew b");
  EXPECT_EQ(files(), 2u);
}

/// In a process of its own: what is protected stays so.
using FileDeathTest = FileTest;

TEST_F(FileDeathTest, WhatIsReadWhileAnOutputIsMadeIsNotReplaced) {
  ASSERT_TRUE(write_file_atomically(path("lazy"), "old").ok());
  ASSERT_TRUE(write_file_atomically(path("first"), "old").ok());
  const auto run = [&] {
    protect_inputs();
    FilesTogether files;
    if (!files.write(path("first"), "new").ok() || !files.write(path("lazy"), "new").ok()) ::_exit(1);
    if (!read_file(path("lazy"), 10).ok()) ::_exit(2);
    const auto kept = files.keep();
    const bool said = !kept.ok() && kept.error().text() == path("lazy") +
                                                               ": found a file that this command reads, "
                                                               "expected another one to write";
    ::_exit(said ? 0 : 3);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(contents("lazy") + contents("first"), "oldold");
}

TEST_F(FileDeathTest, AFolderOfInputsTakesWhatIsMadeForIt) {
  const auto run = [&] {
    protect_inputs();
    note_input_endings(dir_, ".ops");
    note_input_endings(dir_, "/nccl.yaml");
    for (const char* name : {"a.ops", "nccl.yaml"}) {
      if (check_writable(path(name)).ok() || check_not_input(path(name)).ok()) ::_exit(1);
      if (write_file_atomically(path(name), "x").ok()) ::_exit(2);
    }
    for (const char* name : {"a.json", "my_nccl.yaml"}) {
      if (!check_writable(path(name)).ok() || !check_not_input(path(name)).ok()) ::_exit(3);
    }
    note_made_input(path("a.ops"), ".ops");
    if (!write_file_atomically(path("a.ops"), "x").ok() || write_file_atomically(path("b.ops"), "x").ok()) ::_exit(4);
    ::_exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, AReadOnlyFolderIsRefused) {
  ASSERT_EQ(::chmod(dir_.c_str(), 0555), 0);
  const bool root = ::geteuid() == 0;  // for whom no folder is read-only by its mode
  const auto checked = check_writable(path("a"));
  const auto written = write_file_atomically(path("a"), "x");
  ::chmod(dir_.c_str(), 0755);
  EXPECT_EQ(checked.ok(), root);
  EXPECT_EQ(written.ok(), root);
  EXPECT_EQ(files(), root ? 1u : 0u);
}

/// A rename would fail, after all work is done.
TEST_F(FileTest, AFileThatIsMountedByItselfIsRefusedAtOnce) {
  ASSERT_TRUE(write_file_atomically(path("a"), "old").ok());
  ASSERT_TRUE(write_file_atomically(path("b"), "other").ok());
  if (::mount(path("b").c_str(), path("a").c_str(), nullptr, MS_BIND, nullptr) != 0)
    GTEST_SKIP() << "this user or container may not mount";
  const auto checked = check_writable(path("a"));
  ::umount(path("a").c_str());
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().text(),
            path("a") + ": found a file that is mounted by itself, expected one in a mounted folder");
}

TEST_F(FileTest, AFolderThatNobodyCanWriteToIsRefused) {
  if (!fs::exists("/proc/self")) GTEST_SKIP() << "no /proc here";
  EXPECT_FALSE(write_file_atomically("/proc/distsim_test", "x").ok());
}

TEST_F(FileTest, CheckWritableAgreesWithTheWrite) {
  EXPECT_TRUE(check_writable("-").ok());
  EXPECT_TRUE(check_writable(path("new")).ok());
  EXPECT_EQ(files(), 0u);  // asking leaves nothing
  EXPECT_TRUE(check_writable("/dev/null").ok());
  EXPECT_EQ(check_writable(dir_).error().text(), dir_ + ": found a folder, expected a file to write");
  EXPECT_FALSE(check_writable(path("no/a")).ok());
  EXPECT_FALSE(check_writable("").ok());
}

TEST_F(FileTest, LongNamesAreWrittenOrRefusedBeforeTheWork) {
  const std::string longest(255, 'a'), too_long(256, 'a');
  ASSERT_TRUE(check_writable(path(longest)).ok());
  ASSERT_TRUE(write_file_atomically(path(longest), "x").ok());
  EXPECT_EQ(contents(longest), "x");
  EXPECT_EQ(files(), 1u);
  EXPECT_NE(check_writable(path(too_long)).error().text().find("File name too long"), std::string::npos);
}

/// An open file is written on, as a shell's redirection would be; what it held before stays.
TEST_F(FileTest, DescriptorsAreWrittenOn) {
  const int fd = ::open(path("log").c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::write(fd, "before\n", 7), 7);
  const std::string name = "/dev/fd/" + std::to_string(fd);
  EXPECT_TRUE(check_writable(name).ok());
  fs::create_symlink(name, path("link"));
  ASSERT_TRUE(write_file_atomically(path("link"), "ta").ok());  // by whatever name
  fs::remove(path("link"));
  ASSERT_TRUE(write_file_atomically("/proc/self/./fd/" + std::to_string(fd), "bl").ok());
  ASSERT_TRUE(write_file_atomically("/proc/thread-self/fd/" + std::to_string(fd), "e\n").ok());
  ASSERT_EQ(::write(fd, "after\n", 6), 6);
  EXPECT_EQ(contents("log"), "before\ntable\nafter\n");
  EXPECT_EQ(::unlink(path("log").c_str()), 0);
  ASSERT_TRUE(write_file_atomically(name, "more\n").ok());
  ::close(fd);
  EXPECT_EQ(files(), 0u);  // no file by the name of a removed one
  const int read_only = ::open("/dev/null", O_RDONLY);
  EXPECT_FALSE(check_writable("/dev/fd/" + std::to_string(read_only)).ok());
  EXPECT_FALSE(write_file_atomically("/dev/fd/" + std::to_string(read_only), "x").ok());
  ::close(read_only);
}

TEST_F(FileTest, WhereNoFileCanBeMadeIsKnownBeforeTheWork) {
  if (!fs::exists("/proc/version")) GTEST_SKIP() << "no /proc here";
  EXPECT_FALSE(check_writable("/proc/version").ok());
  EXPECT_FALSE(check_writable("/proc/distsim_test").ok());
}

TEST_F(FileTest, KeepsModeAndSymbolicLink) {
  ASSERT_TRUE(write_file_atomically(path("a"), "old").ok());
  ASSERT_EQ(::chmod(path("a").c_str(), 0640), 0);
  fs::create_symlink("a", path("link"));
  ASSERT_TRUE(write_file_atomically(path("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents("a"), "new");
  EXPECT_EQ(fs::status(path("a")).permissions(), static_cast<fs::perms>(0640));
}

TEST_F(FileTest, ANewFileHasTheUsualMode) {
  const mode_t mask = ::umask(022);
  ASSERT_TRUE(write_file_atomically(path("a"), "x").ok());
  ::umask(mask);
  EXPECT_EQ(fs::status(path("a")).permissions(), static_cast<fs::perms>(0644));
}

TEST_F(FileTest, DevicesAndPipesAreWrittenInPlace) {
  ASSERT_TRUE(write_file_atomically("/dev/null", "x").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(FileTest, AReaderSeesOldOrNewNeverHalf) {
  ASSERT_TRUE(write_file_atomically(path("a"), "old").ok());
  ASSERT_TRUE(write_stream_atomically(path("a"), [&](std::ostream& out) -> Result<void> {
                out << "ne" << std::flush;
                EXPECT_EQ(contents("a"), "old");
                out << "w";
                return {};
              }).ok());
  EXPECT_EQ(contents("a"), "new");
}

}  // namespace
}  // namespace distsim
