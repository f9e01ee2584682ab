#include "sim/app/commands.hpp"
#include "test_paths.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

namespace distsim::app {
namespace {

struct Outcome {
  int code = 0;
  std::string error;
};

Outcome run(const std::string& line) {
  std::vector<std::string> words{"distsim"};
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = run_command(static_cast<int>(argv.size()), argv.data());
  outcome.error = testing::internal::GetCapturedStderr();
  return outcome;
}

class EveryCommand : public testing::TestWithParam<const Command*> {
 protected:
  void SetUp() override { std::filesystem::current_path(test::root()); }
};

TEST_P(EveryCommand, DescribesItselfInOneSentence) {
  const std::string description = GetParam()->description;
  ASSERT_FALSE(description.empty());
  EXPECT_TRUE(std::isupper(static_cast<unsigned char>(description[0])) || description.starts_with("HugeCTR"));
  EXPECT_NE(description.back(), '.');
  EXPECT_LE(description.size(), 120u);
}

/// In one line, with exit code 2.
TEST_P(EveryCommand, RefusesWhatItLists) {
  ASSERT_FALSE(GetParam()->refuses.empty());
  for (const Refusal& refusal : GetParam()->refuses) {
    const std::string line = std::string(GetParam()->name) + " " + refusal.arguments;
    const Outcome outcome = run(line);
    EXPECT_EQ(outcome.code, 2) << line;
    EXPECT_NE(outcome.error.find(refusal.names), std::string::npos) << line << "\n" << outcome.error;
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << line << "\n" << outcome.error;
  }
}

TEST_P(EveryCommand, RefusesAFlagThatItDoesNotHave) {
  const Outcome outcome = run(std::string(GetParam()->name) + " --no-such-flag");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
}

INSTANTIATE_TEST_SUITE_P(Commands, EveryCommand, testing::ValuesIn(commands().begin(), commands().end()),
                         [](const auto& info) { return std::string(info.param->name); });

/// What was found, what was expected, and the nearest valid spelling.
TEST(UsageError, SaysWhatWasFoundAndExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"sweep --cofig x.yaml", "found '--cofig', expected a flag of `distsim sweep`; did you mean '--config'?"},
      {"cost collective --bites 8",
       "found '--bites', expected a flag of `distsim cost collective`; did you mean '--bytes'?"},
      {"sweep --config x --scaling stong",
       "--scaling: found 'stong', expected one of strong, weak; did you mean 'strong'?"},
      {"sweep --config x --jobs 0", "--jobs: found '0', expected a whole number from 1 to 256"},
      {"swep --config x", "found 'swep', expected a command; did you mean 'sweep'?"},
      {"sweep --config", "--config"},
  };
  for (const auto& [line, expected] : cases) {
    const Outcome outcome = run(line);
    EXPECT_EQ(outcome.code, 2) << line;
    EXPECT_NE(outcome.error.find(expected), std::string::npos) << outcome.error;
  }
}

/// Control characters of the user's words do not reach the terminal.
TEST(UsageError, EscapesForeignText) {
  const char* argv[] = {"distsim", "sweep", "--scaling", "\x1b[31mred\n", "--config", "x"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_command(6, argv), 2);
  const std::string error = testing::internal::GetCapturedStderr();
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1);
}

/// A line of the registry names the entry of its own file.
TEST(Commands, EveryEntryHasTheNameItIsListedBy) {
#define COMMAND(word) EXPECT_STREQ(word##_command.name, #word);
  DISTSIM_COMMANDS(COMMAND)
#undef COMMAND
}

}  // namespace
}  // namespace distsim::app
