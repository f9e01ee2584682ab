#include "base/log.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace distsim {
namespace {

std::vector<std::string> lines;
void keep(LogLevel, std::string_view line) { lines.emplace_back(line); }

class Log : public ::testing::Test {
 protected:
  Log() { lines.clear(); }
  ~Log() override { connect_log(LogLevel::off, nullptr); }
};

TEST_F(Log, GoesNowhereUntilItIsConnected) {
  bool made = false;
  log_at(LogLevel::error, [&] {
    made = true;
    return std::string("x");
  });
  EXPECT_FALSE(made);
  EXPECT_FALSE(is_logged(LogLevel::error));
}

TEST_F(Log, KeepsToTheLowestLevel) {
  connect_log(LogLevel::info, keep);
  bool made = false;
  log_debug([&] {
    made = true;
    return std::string("too much");
  });
  EXPECT_FALSE(made) << "text that nobody reads is not made";
  log_info([] { return std::string("read"); });
  EXPECT_EQ(lines, (std::vector<std::string>{"read"}));
}

TEST_F(Log, OffSaysNothing) {
  connect_log(LogLevel::off, keep);
  log_at(LogLevel::error, [] { return std::string("x"); });
  EXPECT_TRUE(lines.empty());
}

TEST_F(Log, IsSilentWhereAskedTo) {
  connect_log(LogLevel::trace, keep);
  {
    const LogSilence outer;
    { const LogSilence inner; }
    log_warn([] { return std::string("x"); });
  }
  log_warn([] { return std::string("y"); });
  EXPECT_EQ(lines, (std::vector<std::string>{"y"}));
}

TEST_F(Log, IsALineWithoutControlCharacters) {
  connect_log(LogLevel::trace, keep);
  log_debug([] { return std::string("a\nb\x1b[31m"); });
  EXPECT_EQ(lines, (std::vector<std::string>{"a\\x0ab\\x1b[31m"}));
}

}  // namespace
}  // namespace distsim
