// Signals end a process of their own: a test that dies.
#include "base/system/signals.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <new>
#include <thread>

#include "base/system/temporaries.hpp"
#include "test_paths.hpp"

namespace distsim {
namespace {

namespace fs = std::filesystem;

TEST(Temporaries, AreRemovedUnlessTheyBecameTheTarget) {
  const std::string dir = test::scratch_dir("temporaries");
  {
    Temporary lost(dir + "/a"), kept(dir + "/b");
    std::ofstream(lost.path()) << "x";
    std::ofstream(kept.path()) << "x";
    EXPECT_TRUE(kept.rename_to(dir + "/c"));
  }
  EXPECT_FALSE(fs::exists(dir + "/a"));
  EXPECT_TRUE(fs::exists(dir + "/c"));
  fs::remove_all(dir);
}

TEST(SignalsDeathTest, RemoveWhatIsUnfinishedAndEndAsTheyWould) {
  const std::string path = test::scratch_dir("signals") + "/a";
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(
        {
          handle_signals();
          const Temporary temporary(path);
          std::ofstream(path) << "x";
          ::raise(signal);
        },
        testing::KilledBySignal(signal), "");
    EXPECT_FALSE(fs::exists(path));
  }
}

TEST(SignalsDeathTest, AnEarlyEndIsAskedForOnce) {
  EXPECT_EXIT(
      {
        handle_signals();
        const EarlyEnd early;
        ::raise(SIGTERM);
        if (end_asked()) ::raise(SIGTERM);
        ::_exit(0);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(SignalsDeathTest, WhatNobodyCatchesIsOneLine) {
  EXPECT_EXIT(
      {
        handle_signals();
        std::thread([] { throw std::bad_alloc(); }).join();
      },
      testing::ExitedWithCode(kFailureExit), "^distsim: out of memory\n$");
}

}  // namespace
}  // namespace distsim
