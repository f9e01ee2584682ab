#include "base/system/inputs/open_input.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

#include "base/file.hpp"
#include "test_paths.hpp"

namespace distsim {
namespace {

class OpenInput : public testing::Test {
 protected:
  ~OpenInput() override { std::filesystem::remove_all(dir_); }
  std::string pipe() const {
    const std::string path = dir_ + "/pipe";
    ::mkfifo(path.c_str(), 0600);
    return path;
  }
  static std::string all_of(std::istream& in) { return {std::istreambuf_iterator<char>(in), {}}; }

  std::string dir_ = test::scratch_dir("open_input");
};

TEST_F(OpenInput, ReadsFilesOfAnySize) {
  const std::string text(200'001, 'x');
  ASSERT_TRUE(write_file_atomically(dir_ + "/a", text).ok());
  EXPECT_EQ(all_of(**open_input_stream(dir_ + "/a")), text);
  ASSERT_TRUE(write_file_atomically(dir_ + "/a", "").ok());
  EXPECT_EQ(all_of(**open_input_stream(dir_ + "/a")), "");
}

/// A pipe without a name gives what came through it once, however often it is asked for.
TEST_F(OpenInput, WhatCameThroughAPipeIsRead) {
  for (const char* text : {"first", "second"}) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], text, std::strlen(text)), static_cast<ssize_t>(std::strlen(text)));
    ::close(ends[1]);
    const std::string path = "/dev/fd/" + std::to_string(ends[0]);
    for (int time = 0; time < 3; ++time) {
      const auto read = read_file(path, 100);
      ASSERT_TRUE(read.ok()) << read.error().text();
      EXPECT_EQ(*read, text) << time;
    }
    EXPECT_FALSE(read_file(path, 2).ok());
    ::close(ends[0]);
  }
}

TEST_F(OpenInput, RefusesFoldersAndWhatIsAbsent) {
  EXPECT_EQ(open_input(dir_).error().text(), dir_ + ": found a folder, expected a file");
  EXPECT_EQ(open_input(dir_ + "/no").error().text(), dir_ + "/no: cannot open (No such file or directory)");
}

/// A machine that has no more descriptors says nothing of the file.
TEST_F(OpenInput, TooFewDescriptorsAreNoFaultOfTheFile) {
  ASSERT_TRUE(write_file_atomically(dir_ + "/a", "text").ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::error_code code;
  try {
    (void)open_input(dir_ + "/a");
  } catch (const std::system_error& e) {
    code = e.code();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(code, std::errc::too_many_files_open);
  EXPECT_TRUE(open_input(dir_ + "/a").ok());
}

TEST_F(OpenInput, APipeWithoutAWriterIsRefused) {
  EXPECT_NE(open_input(pipe()).error().text().find("a pipe that nobody writes to"), std::string::npos);
}

TEST_F(OpenInput, APipeWaitsForItsWriter) {
  const std::string path = pipe();
  std::jthread writer([&] { std::ofstream(path) << "text"; });
  EXPECT_EQ(*read_file(path, 100), "text");
}

TEST_F(OpenInput, APipeWithoutAReaderIsRefused) {
  EXPECT_NE(write_file_atomically(pipe(), "x").error().text().find("a pipe that nobody reads from"), std::string::npos);
}

}  // namespace
}  // namespace distsim
