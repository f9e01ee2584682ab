// Signals end a process of their own: a test that dies.
#include "base/system/signals.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>
#include <thread>

#include "base/system/temporaries.hpp"
#include "base/threads/stop.hpp"
#include "test_paths.hpp"

namespace distsim {
namespace {

namespace fs = std::filesystem;

TEST(Temporaries, AreRemovedUnlessTheyBecameTheTarget) {
  const std::string dir = test::scratch_dir("temporaries");
  {
    Temporary lost(dir + "/a"), kept(dir + "/a");
    ASSERT_TRUE(lost.made() && kept.made());
    EXPECT_NE(lost.path(), kept.path());
    EXPECT_TRUE(kept.rename_to(dir + "/c"));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 1);
  EXPECT_TRUE(fs::exists(dir + "/c"));
  fs::remove_all(dir);
}

TEST(Temporaries, WhatCannotBeMadeIsNotRemoved) {
  const std::string dir = test::scratch_dir("temporaries");
  {
    const Temporary nowhere(dir + "/none/a");
    EXPECT_FALSE(nowhere.made());
    EXPECT_EQ(errno, ENOENT);
    fs::create_directory(dir + "/none");
    std::ofstream(nowhere.path()) << "of another process";
  }
  EXPECT_FALSE(fs::is_empty(dir + "/none"));
  fs::remove_all(dir);
}

/// Processes of two containers may have one number, and what both write in one folder must not have one name: those that
/// fork() makes share all that a program can know of itself.
TEST(Temporaries, NamesOfProcessesThatAreAlikeDiffer) {
  const std::string dir = test::scratch_dir("temporaries");
  for (int i = 0; i < 8; ++i) {
    if (::fork() != 0) continue;
    Temporary own(dir + "/a");
    ::_exit(own.made() && own.rename_to(own.path() + ".kept") ? 0 : 1);
  }
  for (int i = 0, status = 0; i < 8; ++i) {
    ::wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 8);
  fs::remove_all(dir);
}

TEST(SignalsDeathTest, RemoveWhatIsUnfinishedAndEndAsTheyWould) {
  const std::string dir = test::scratch_dir("signals");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(
        {
          handle_signals();
          const Temporary temporary(dir + "/a");
          if (temporary.made()) ::raise(signal);
        },
        testing::KilledBySignal(signal), "");
    EXPECT_TRUE(fs::is_empty(dir));
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

TEST(SignalsDeathTest, WorkEndsWhereASignalAsksForAnEarlyEnd) {
  EXPECT_EXIT(
      {
        handle_signals();
        const EarlyEnd early;
        const bool quiet = unless_signalled([] {});
        const bool done = unless_signalled([] {
          ::raise(SIGTERM);
          for (;;) end_if_stopped();
        });
        ::_exit(quiet && !done && end_asked() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(SignalsDeathTest, AnEndAtOnceLeavesNoUnfinishedFile) {
  const std::string dir = test::scratch_dir("at_once");
  EXPECT_EXIT(
      {
        const Temporary temporary(dir + "/a");
        if (temporary.made()) end_at_once(7);
      },
      testing::ExitedWithCode(7), "");
  EXPECT_TRUE(fs::is_empty(dir));
}

TEST(SignalsDeathTest, WaitWhileTheyAreHeld) {
  EXPECT_EXIT(
      {
        handle_signals();
        const SignalsHeld whole;
        {
          const SignalsHeld part;
          ::raise(SIGTERM);
        }
        std::fputs("first to its end\n", stderr);
        end_at_once(7);
      },
      testing::ExitedWithCode(7), "^first to its end\n$");
  EXPECT_EXIT(
      {
        handle_signals();
        {
          const SignalsHeld whole;
          ::raise(SIGTERM);
          std::fputs("first to its end\n", stderr);
        }
        end_at_once(7);
      },
      testing::KilledBySignal(SIGTERM), "^first to its end\n$");
}

TEST(SignalsDeathTest, WhatNobodyCatchesIsOneLine) {
  EXPECT_EXIT(
      {
        handle_signals();
        std::thread([] { throw std::bad_alloc(); }).join();
      },
      testing::ExitedWithCode(kFailureExit), "^distsim: this machine's memory ran out\n$");
  EXPECT_EXIT(
      {
        handle_signals("bench");
        std::thread([] { throw std::runtime_error("no\nway"); }).join();
      },
      testing::ExitedWithCode(kFailureExit), "^bench: internal error: an exception was not caught: no.way\n$");
  EXPECT_EXIT(
      {
        handle_signals("bench");
        std::terminate();
      },
      testing::ExitedWithCode(kFailureExit), "^bench: internal error: [^\n]*\n$");
}

}  // namespace
}  // namespace distsim
