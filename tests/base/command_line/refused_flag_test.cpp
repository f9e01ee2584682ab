// What CLI11 says of a flag, in our words: each kind of its refusals, and none of its own texts.
#include "base/command_line/refused_flag.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "base/result.hpp"

namespace distsim {
namespace {

std::string refusal_of(std::vector<std::string> words) {
  CLI::App app("", "tool");
  std::string json, level, file;
  unsigned count = 0;
  bool timings = false, quick = false;
  app.add_option("--json", json)->type_name("FILE");
  app.add_option("-n,--count", count)->check(CLI::Range(1, 8));
  app.add_option("--level", level)->check(CLI::IsMember({"warn", "error"}));
  CLI::Option* only = app.add_flag("--timings", timings);
  app.add_flag("--quick", quick)->excludes(only);
  app.add_option("--seed", file)->needs(app.get_option("--json"));
  app.add_option("input", file)->type_name("FILE")->required();
  std::ranges::reverse(words);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return refused_flag(app, app, error).text();
  }
  return "";
}

TEST(RefusedFlag, SaysWhatWasFoundAndExpected) {
  EXPECT_EQ(refusal_of({"x", "--json"}), "--json: found nothing, expected FILE");
  EXPECT_EQ(refusal_of({"x", "--json", "a", "--json", "b"}), "--json: found twice, expected once");
  EXPECT_EQ(refusal_of({"x", "-n", "9"}), "-n: found '9', expected a whole number from 1 to 8");
  EXPECT_EQ(refusal_of({"x", "--level", "warm"}),
            "--level: found 'warm', expected one of warn, error; did you mean 'warn'?");
  EXPECT_EQ(refusal_of({"x", "--level"}), "--level: found nothing, expected one of warn, error");
  EXPECT_EQ(refusal_of({"x", "--timings=maybe"}), "--timings: found 'maybe', expected no value");
  EXPECT_EQ(refusal_of({"x", "--timings", "--quick"}), "--timings: found together with --quick, expected one of them");
  EXPECT_EQ(refusal_of({"x", "--seed", "1"}), "--seed: found without --json, expected both");
  EXPECT_EQ(refusal_of({}), "input: missing, expected FILE");
  EXPECT_EQ(refusal_of({"x"}), "");
}

TEST(RefusedFlag, QuotesAndCutsForeignText) {
  const std::string said = refusal_of({"x", "--level", "\x1b[31m" + std::string(100'000, 'y')});
  EXPECT_EQ(said.find('\x1b'), std::string::npos);
  EXPECT_LT(said.size(), 600u);
}

TEST(RefusedFlag, SpellingsLeaveOutWhatHelpLeavesOut) {
  CLI::App app("", "tool");
  bool shown = false, hidden = false;
  app.add_flag("-s,--shown", shown);
  app.add_flag("--hidden", hidden)->group("");
  EXPECT_EQ(spelling(*app.get_option("--shown")), "-s");
  const std::vector<std::string> all = flag_spellings(app);
  EXPECT_NE(std::ranges::find(all, "--shown"), all.end());
  EXPECT_EQ(std::ranges::find(all, "--hidden"), all.end());
}

}  // namespace
}  // namespace distsim
