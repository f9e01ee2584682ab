// What the process may not have: files, threads, stack, room; and signals. One line and an exit code, nothing left behind.
#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "command.hpp"

namespace distsim::bench {
namespace {

using test::Finished;

class CollectiveBenchLimits : public ::testing::Test {
 protected:
  ~CollectiveBenchLimits() override { std::filesystem::remove_all(dir_); }

  /// Both ranks are threads of one process, without a launcher.
  std::string bench(const std::string& flags) const {
    return std::string(BINARY) + " --backend tcp --hosts 127.0.0.1 --rank 0 -t 2 --collectives alltoall -f 2 --port " +
           std::to_string(port_) + " " + flags;
  }
  Finished within(const std::string& limit, const std::string& flags) {
    return test::run_command("( ulimit " + limit + "; exec " + bench(flags) + " )", dir_);
  }
  static void expect_one_line(const Finished& f, const std::string& limit) {
    EXPECT_TRUE(f.code == 1 || f.code == 2 || f.code == 3) << limit << ": " << f.code;
    EXPECT_EQ(std::count(f.err.begin(), f.err.end(), '\n'), 1) << limit << '\n' << f.err;
    EXPECT_EQ(f.err.rfind("collective_bench: ", 0), 0u) << limit << '\n' << f.err;
  }
  bool has_temporary() const {
    for (const auto& file : std::filesystem::directory_iterator(dir_)) {
      if (file.path().filename().string().rfind("x.json", 0) == 0) return true;
    }
    return false;
  }

  const std::string dir_ = test::scratch_dir("collective_bench_limits");
  const int port_ = test::free_port();
};

TEST_F(CollectiveBenchLimits, OfFileSizeAreErrorsOfTheWrite) {
  const Finished f = within("-f 1", "-b 8 -e 4M -J " + dir_ + "/x.json");
  EXPECT_EQ(f.code, 2);
  expect_one_line(f, "-f 1");
  EXPECT_NE(f.err.find("File too large"), std::string::npos) << f.err;
  EXPECT_FALSE(has_temporary());
}

TEST_F(CollectiveBenchLimits, OfOpenFilesAreOneLine) {
  for (const int files : {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}) {
    const std::string limit = "-n " + std::to_string(files);
    const Finished f = within(limit, "-b 8 -e 64 --stall-limit 40");
    if (f.code != 0) expect_one_line(f, limit);
  }
}

TEST_F(CollectiveBenchLimits, OfStackDoNotMatter) {
  for (const int kilobytes : {64, 96, 128, 512}) {
    const Finished f = within("-s " + std::to_string(kilobytes), "-b 8 -e 64");
    EXPECT_EQ(f.code, 0) << kilobytes << '\n' << f.err;
  }
}

TEST_F(CollectiveBenchLimits, SignalsEndARunInOrder) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    const std::string out = dir_ + "/out";
    test::Background job(bench("-b 8 -e 64M -n 20000 -J " + dir_ + "/x.json") + " >" + out + " 2>&1 </dev/null");
    for (int looks = 0; looks < 1200 && !has_temporary(); ++looks)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    job.send(signal);
    EXPECT_EQ(job.end_within(300), 130) << signal;
    EXPECT_TRUE(std::filesystem::exists(dir_ + "/x.json")) << signal;
    std::filesystem::remove(dir_ + "/x.json");
    EXPECT_FALSE(has_temporary()) << signal;
  }
}

}  // namespace
}  // namespace distsim::bench
