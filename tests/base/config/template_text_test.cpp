#include "base/config/template_text.hpp"

#include <gtest/gtest.h>

namespace distsim {
namespace {

const TemplateValues kValues{{"hidden", "1024"}, {"layers", "3"}, {"system", "dgx_a100"}};

std::string filled(std::string_view text) {
  const auto out = fill_template(text, kValues, "t.yaml");
  return out.ok() ? *out : out.error().text();
}

TEST(FillTemplate, NamesAndArithmetic) {
  EXPECT_EQ(filled("plain"), "plain");
  EXPECT_EQ(filled("a: ${hidden}, b: ${system}"), "a: 1024, b: dgx_a100");
  EXPECT_EQ(filled("${hidden * (layers + 1) - 2}"), "4094");
  EXPECT_EQ(filled("${hidden / layers} ${hidden % layers}"), "341 1");
  EXPECT_EQ(filled("[${repeat(hidden, layers)}, 1]"), "[1024, 1024, 1024, 1]");
  EXPECT_EQ(filled("[${repeat(7, layers - 3)}]"), "[]");
}

TEST(FillTemplate, RefusesWithOneLine) {
  EXPECT_EQ(filled("${hiden}"), "t.yaml: ${hiden}: found the unknown name 'hiden'; did you mean 'hidden'?");
  EXPECT_EQ(filled("${system + 1}"), "t.yaml: system: found 'dgx_a100', expected a whole number");
  EXPECT_EQ(filled("${hidden / (layers - 3)}"),
            "t.yaml: ${hidden / (layers - 3)}: found its end, expected a divisor of at least 1");
  EXPECT_EQ(filled("${hidden"), "t.yaml: found '${' without '}'");
  EXPECT_EQ(filled("${9223372036854775807 + 1}"), "t.yaml: ${9223372036854775807 + 1}: found a result beyond 64 bits");
  for (const char* bad :
       {"${}", "${1 +}", "${(1}", "${1 2}", "${repeat(1, 99999999)}", "${repeat(1)}", "${99999999999999999999}"}) {
    EXPECT_FALSE(fill_template(bad, kValues, "t.yaml").ok()) << bad;
  }
  EXPECT_FALSE(fill_template("${" + std::string(100'000, '(') + "}", kValues, "t.yaml").ok());
}

TEST(MatchTemplate, WholeNumbersOnly) {
  const auto match = match_template("gpt_h{hidden}_l{layers}", "gpt_h2048_l24");
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->at("hidden"), "2048");
  EXPECT_EQ(match->at("layers"), "24");
  for (const char* name :
       {"gpt_h2048_l", "gpt_h_l24", "gpt_h2048_l24x", "xgpt_h2048_l24", "gpt_h02_l24", "gpt_h1234567890123_l1"}) {
    EXPECT_FALSE(match_template("gpt_h{hidden}_l{layers}", name).has_value()) << name;
  }
  EXPECT_FALSE(match_template("plain", "plain").has_value());
}

}  // namespace
}  // namespace distsim
