#include "base/system/program.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "base/system/signals.hpp"

namespace distsim {
namespace {

constexpr Program kOne{"one", "use less"};

template <class Thrown>
std::pair<int, std::string> end_of(const Thrown& thrown) {
  testing::internal::CaptureStderr();
  const int code = run_caught(kOne, [&]() -> int { throw thrown; });
  return {code, testing::internal::GetCapturedStderr()};
}

TEST(RunCaught, WhatIsThrownIsOneLine) {
  EXPECT_EQ(run_caught(kOne, [] { return 5; }), 5);
  EXPECT_EQ(end_of(std::bad_alloc()), std::pair(2, std::string("one: this machine's memory ran out; use less\n")));
  const auto [code, line] = end_of(std::system_error(EAGAIN, std::generic_category(), "a\nthread"));
  EXPECT_EQ(code, kFailureExit);
  EXPECT_EQ(line.rfind("one: the system refused what was asked of it: a?thread", 0), 0u) << line;
  EXPECT_EQ(end_of(std::runtime_error("x")), std::pair(kFailureExit, std::string("one: internal error: x\n")));
}

/// Touches more than `ulimit -s` allowed.
int deep() {
  std::array<volatile char, 512 << 10> much;
  for (std::size_t i = 0; i < much.size(); i += 1024) much[i] = 1;
  return much[1024];
}

TEST(RunProgramDeathTest, HasStackOnItsThreadsWhateverTheLimitSays) {
  testing::FLAGS_gtest_death_test_style = "fast";
  EXPECT_EXIT(
      {
        rlimit little;
        little.rlim_cur = little.rlim_max = 96 << 10;
        ::setrlimit(RLIMIT_STACK, &little);
        const int code = run_program(kOne, [] {
          int on_thread = 0;
          std::thread([&] { on_thread = deep(); }).join();
          return deep() + on_thread;
        });
        ::_exit(code);
      },
      testing::ExitedWithCode(2), "");
}

}  // namespace
}  // namespace distsim
