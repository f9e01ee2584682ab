#include "base/text/printable.hpp"

#include <gtest/gtest.h>

namespace distsim {
namespace {

using namespace std::string_literals;

TEST(Printable, KeepsTextAndEscapesControls) {
  EXPECT_EQ(printable("plain text"), "plain text");
  EXPECT_EQ(printable("a\nb\tc\x1b[31m"), "a\\x0ab\\x09c\\x1b[31m");
  EXPECT_EQ(printable("a\0b"s), "a\\x00b");
  EXPECT_EQ(printable("\xC2\xB5s"), "\xC2\xB5s");
  EXPECT_EQ(printable("\xff!"), "\\xff!");
  EXPECT_EQ(printable("\xC2\x9b"), "\\xc2\\x9b");  // U+009B starts a control sequence on some terminals
}

TEST(Printable, CutsAtWholeCharacters) {
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("ab\xE2\x82\xAC", 4), "ab...");  // the euro sign is three bytes
  EXPECT_EQ(in_quotes("abc", 2), "'ab...'");
}

TEST(MessageLine, IsOneBoundedLine) {
  EXPECT_EQ(message_line("x.yaml:3:4: nodes: found 'a b', expected c"), "x.yaml:3:4: nodes: found 'a b', expected c");
  EXPECT_EQ(message_line("two\nlines \x1b[31m \xC2\x9b \xff"), "two\\x0alines \\x1b[31m \\xc2\\x9b \\xff");
  EXPECT_EQ(message_line(""), "");
  EXPECT_EQ(message_line("found " + std::string(300, '1') + ", expected 2"),
            "found " + std::string(20, '1') + "..." + std::string(4, '1') + ", expected 2");
  EXPECT_EQ(message_line("at " + std::string(40, '7')), "at " + std::string(40, '7'));
  const std::string path = "/" + std::string(100'000, 'a') + "/x.yaml:12:3: found";
  const std::string line = message_line(path);
  EXPECT_LT(line.size(), 500u);
  EXPECT_TRUE(line.ends_with("/x.yaml:12:3: found")) << line;  // where it is stays
  std::string words;
  for (int i = 0; i < 100'000; ++i) words += "word ";
  EXPECT_LT(message_line(words).size(), 4100u);
  EXPECT_EQ(message_line(message_line(path)), line);
}

TEST(ConsoleText, KeepsLinesAndActsOnNothing) {
  EXPECT_EQ(console_text("a\tb\n\xC2\xB5s\n"), "a\tb\n\xC2\xB5s\n");
  EXPECT_EQ(console_text("\x1b[2J\r\x07\x7f"), "\\x1b[2J\\x0d\\x07\\x7f");
  EXPECT_EQ(console_text("\xC2\x9b"
                         "31m \xff"),
            "\\xc2\\x9b31m \\xff");
  EXPECT_EQ(console_text(""), "");
}

TEST(Utf8, LengthOfTheFirstCharacter) {
  EXPECT_EQ(utf8_character_length("a"), 1u);
  EXPECT_EQ(utf8_character_length("\xC2\xB5"), 2u);
  EXPECT_EQ(utf8_character_length("\xE2\x82\xAC"), 3u);
  EXPECT_EQ(utf8_character_length("\xF0\x9F\x98\x80"), 4u);
  EXPECT_EQ(utf8_character_length("\xF4\x8F\xBF\xBF"), 4u);  // U+10FFFF, the last one
}

TEST(Utf8, RefusesWhatTheStandardRefuses) {
  for (const std::string bad :
       {"", "\x80", "\xff", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC2", "\xE2\x82", "\xF0\x9F\x98", "\xC2z"}) {
    EXPECT_EQ(utf8_character_length(bad), 0u) << printable(bad);
  }
}

TEST(BadByte, IsFoundWithItsOffset) {
  EXPECT_FALSE(find_bad_byte("a\tb\r\nc\n\xC2\xB5"));
  EXPECT_EQ(find_bad_byte("ab\0c"s)->offset, 2u);
  EXPECT_EQ(find_bad_byte("ab\0c"s)->what, "a NUL byte");
  EXPECT_EQ(find_bad_byte("a\x04")->what, "the control character 0x04");
  EXPECT_EQ(find_bad_byte("a\rb")->offset, 1u);  // a carriage return alone ends no line
  EXPECT_EQ(find_bad_byte("\xC2\xB5\xff")->what, "the byte 0xff (not UTF-8)");
  EXPECT_EQ(find_bad_byte("\xC2\xB5\xff")->offset, 2u);
}

}  // namespace
}  // namespace distsim
