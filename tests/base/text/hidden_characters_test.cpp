// Characters that nobody sees: escaped in messages, reports, tables, pages and JSON.

#include <gtest/gtest.h>

#include "base/json/json_text.hpp"
#include "base/text/csv.hpp"
#include "base/text/markup.hpp"
#include "base/text/printable.hpp"

namespace distsim {
namespace {

const std::string kOverride = "\xe2\x80\xae", kSeparator = "\xe2\x80\xa8", kIsolate = "\xe2\x81\xa6",
                  kControl = "\xc2\x9b", kArabicMark = "\xd8\x9c", kNoWidth = "\xe2\x80\x8b",
                  kByteOrder = "\xef\xbb\xbf", kSoftHyphen = "\xc2\xad", kTag = "\xf3\xa0\x81\x81";

TEST(HiddenCharacters, AreToldFromOthers) {
  for (const std::string& c :
       {kOverride, kSeparator, kIsolate, kControl, kArabicMark, kNoWidth, kByteOrder, kSoftHyphen, kTag,
        std::string("\xef\xb8\x80"), std::string("\xe3\x85\xa4"), std::string("\x7f"), std::string("\n")})
    EXPECT_TRUE(is_hidden(c)) << printable(c);
  for (const char* c : {"a", "\xc3\xa9", "\xe2\x82\xac", "\xe2\x80\x94", "\xd8\x9b", "\xf0\x9f\x98\x80", "\xc2\xa0",
                        "\xe2\x80\x8d", "\xef\xbf\xbd"})
    EXPECT_FALSE(is_hidden(c)) << c;
}

TEST(HiddenCharacters, AreEscapedWhereverTextIsWritten) {
  EXPECT_EQ(printable("a" + kOverride + "b"), "a\\xe2\\x80\\xaeb");
  EXPECT_EQ(console_text("a" + kSeparator), "a\\xe2\\x80\\xa8");
  EXPECT_EQ(csv_field("a" + kIsolate), "a\\xe2\\x81\\xa6");
  EXPECT_EQ(in_markup("<" + kArabicMark), "&lt;\\xd8\\x9c");
  EXPECT_EQ(printable("a" + kTag + "b"), "a\\xf3\\xa0\\x81\\x81b");
  EXPECT_EQ(without_hidden("caf\xc3\xa9\n"), "caf\xc3\xa9\n");
}

TEST(HiddenCharacters, OfJsonKeepTheirMeaning) {
  EXPECT_EQ(with_hidden_escaped("{\n  \"t\": \"\xc3\xa9" + kControl + kOverride + "\x7f\"\n}"),
            "{\n  \"t\": \"\xc3\xa9\\u009b\\u202e\\u007f\"\n}");
  EXPECT_EQ(with_hidden_escaped("\"" + kTag + "\""), "\"\\udb40\\udc41\"");
}

TEST(HiddenCharacters, LeaveInJsonAsEscapes) {
  const nlohmann::ordered_json json{{"t" + kControl, {"a" + kOverride, "\xff"}}};
  EXPECT_EQ(json_text(json), "{\"t\\u009b\":[\"a\\u202e\",\"\xef\xbf\xbd\"]}");
  EXPECT_EQ(json_text(nlohmann::json{1}, 2), "[\n  1\n]");
}

/// As they are or as escapes; an escaped backslash before a "u" is none of them.
TEST(HiddenCharacters, OfJsonAreShownOnPages) {
  const auto shown = [](const std::string& json) { return with_hidden_shown(json); };
  EXPECT_EQ(shown("{\n\"t\": \"" + kOverride + "\\u202E\"}"), R"({)"
                                                              "\n"
                                                              R"("t": "\\xe2\\x80\\xae\\xe2\\x80\\xae"})");
  EXPECT_EQ(shown(R"("\u001b\u009b\u00ad")"), R"("\\x1b\\xc2\\x9b\\xc2\\xad")");
  EXPECT_EQ(shown(R"("\udb40\udc41")"), R"("\\xf3\\xa0\\x81\\x81")");
  for (const char* plain :
       {R"("\udb40")", R"("\udb40\u0041")", R"("\n\t\"\\u202e\u00e9\ud83d\ude00")", R"("\u20")", "\"\\"})
    EXPECT_EQ(shown(plain), plain);
}

}  // namespace
}  // namespace distsim
