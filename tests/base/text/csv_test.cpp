#include "base/text/csv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/log.hpp"

namespace distsim {
namespace {

using Row = std::vector<std::string>;

std::vector<Row> rows_of(const std::string& text) {
  std::istringstream in(text);
  CsvReader reader = CsvReader::open(in, "f.csv").value();
  std::vector<Row> rows{reader.header()};
  while (auto row = reader.next().value()) rows.push_back(*row);
  return rows;
}

std::string csv_error(const std::string& text) {
  std::istringstream in(text);
  Result<CsvReader> reader = CsvReader::open(in, "f.csv");
  if (!reader) return reader.error().text();
  for (;;) {
    const auto row = reader->next();
    if (!row) return row.error().text();
    if (!*row) return "";
  }
}

TEST(Csv, PlainQuotedAndEmptyFields) {
  EXPECT_EQ(rows_of("a,b,c\n1,\"x, \"\"y\"\"\",\n"), (std::vector<Row>{{"a", "b", "c"}, {"1", "x, \"y\"", ""}}));
}

TEST(Csv, ByteOrderMarkCrlfAndNoLastLineFeed) {
  EXPECT_EQ(rows_of("\xEF\xBB\xBF"
                    "a,b\r\n1,2\r\n3,4"),
            (std::vector<Row>{{"a", "b"}, {"1", "2"}, {"3", "4"}}));
}

TEST(Csv, LineBreaksInQuotesAndEmptyLines) {
  EXPECT_EQ(rows_of("a,b\n\n\"x\ny\",2\n\n"), (std::vector<Row>{{"a", "b"}, {"x\ny", "2"}}));
}

TEST(Csv, PositionCountsPhysicalLines) {
  std::istringstream in("a\n\"x\ny\"\nz\n");
  CsvReader reader = CsvReader::open(in, "f.csv").value();
  EXPECT_TRUE(reader.next().value());
  EXPECT_EQ(reader.position(), "f.csv:2");
  EXPECT_TRUE(reader.next().value());
  EXPECT_EQ(reader.position(), "f.csv:4");
}

TEST(Csv, RefusesWithTheLine) {
  EXPECT_EQ(csv_error(""), "f.csv: found an empty file, expected a CSV header");
  EXPECT_EQ(csv_error("a,b,a\n"), "f.csv:1: column 'a' appears twice in the header");
  EXPECT_EQ(csv_error("a,b\n1,2\n1\n"), "f.csv:3: found 1 field, expected 2 as in the header");
  EXPECT_EQ(csv_error("a\n\"open\n"), "f.csv:2: found the end of the file inside a quoted field");
  EXPECT_NE(csv_error(std::string("a\n\0\n", 4)), "");
  EXPECT_NE(csv_error("a\n\"" + std::string(2 << 20, 'x')), "");
  EXPECT_NE(csv_error("\xEF\xBBz"), "");
}

TEST(Csv, TheHeaderAgainIsSkipped) {
  const std::vector<Row> both{{"a", "b"}, {"1", "2"}, {"3", "4"}};
  EXPECT_EQ(rows_of("a,b\n1,2\na,b\n3,4\na,b\n"), both);
  EXPECT_EQ(rows_of("a,b\n1,2\n\xEF\xBB\xBF"
                    "a,b\r\n3,4\n"),
            both)
      << "of a file with a byte-order mark";
  EXPECT_EQ(rows_of("a\na\n1\n"), (std::vector<Row>{{"a"}, {"1"}}));
}

std::vector<std::string> said;

TEST(Csv, TheHeaderAgainIsSaidOnce) {
  said.clear();
  connect_log(LogLevel::warn, [](LogLevel, std::string_view line) { said.emplace_back(line); });
  rows_of("a,b\n1,2\na,b\n3,4\na,b\n");
  connect_log(LogLevel::off, nullptr);
  EXPECT_EQ(said, (std::vector<std::string>{"f.csv:3: found the header again, as in files put together: skipped"}));
}

/// Whatever the order of the columns, and whichever one is called otherwise.
TEST(Csv, AnotherHeaderIsRefused) {
  const Row header{"gpu", "op", "m", "n", "latency_us"};
  const std::string text = csv_line(header) + "A100,linear,1,2,3\n";
  Row other = header;
  std::ranges::sort(other);
  do {
    if (other == header) continue;
    EXPECT_EQ(csv_error(text + csv_line(other) + "A100,linear,1,2,3\n"),
              "f.csv:3: found another header, '" + csv_line(other).substr(0, csv_line(other).size() - 1) +
                  "', expected rows of the first, 'gpu,op,m,n,latency_us'; give files with other columns one by one");
  } while (std::ranges::next_permutation(other).found);
  for (std::size_t i = 0; i < header.size(); ++i) {
    other = header;
    other[i] = "latency_ms";
    EXPECT_NE(csv_error(text + csv_line(other)).find("found another header"), std::string::npos) << i;
    other[i].clear();
    EXPECT_NE(csv_error(text + csv_line(other)).find("found another header"), std::string::npos) << i;
  }
  for (const char* again : {"GPU,Op,M,N,Latency_us\n", " gpu,op , m,n,latency_us\n", "gpu,op,m,n,k,latency_us\n"})
    EXPECT_NE(csv_error(text + again).find("found another header"), std::string::npos) << again;
}

/// A cell may be called like a column.
TEST(Csv, RowsWithNamesOfColumnsAreRows) {
  for (const std::string row : {"gpu,linear,1,2", "gpu,op,1,2", "op,,,", ",,,", "gpu,gpu2,m2,2"})
    EXPECT_EQ(csv_error("gpu,op,m,n\n" + row + "\n"), "") << row;
}

/// A stream that never ends and never breaks a line, as /dev/zero.
class Endless : public std::streambuf {
 public:
  std::size_t given = 0;

 protected:
  int_type underflow() override { return 'x'; }
  int_type uflow() override {
    ++given;
    return 'x';
  }
};

TEST(Csv, AFileWithoutLineFeedsIsNotReadWhole) {
  Endless endless;
  std::istream in(&endless);
  EXPECT_FALSE(CsvReader::open(in, "f.csv").ok());
  EXPECT_LT(endless.given, 3u << 20);
}

TEST(Csv, MissingColumnSuggestsTheNearest) {
  std::istringstream in("latency_us,gpu\n");
  const CsvReader reader = CsvReader::open(in, "f.csv").value();
  EXPECT_EQ(reader.require("gpu").value(), 1u);
  EXPECT_NE(reader.require("latency_ms").error().text().find("latency_us"), std::string::npos);
}

TEST(Csv, NoFieldIsAFormulaOrActsOnATerminal) {
  EXPECT_EQ(csv_field("=1+1"), "'=1+1");
  EXPECT_EQ(csv_field("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(csv_field("+cmd|x"), "'+cmd|x");
  EXPECT_EQ(csv_field("--set: found"), "'--set: found");
  for (const char* number : {"-1.5", "+3", "-inf", "-", "1e-3", "-2e9"}) EXPECT_EQ(csv_field(number), number);
  EXPECT_EQ(csv_field("a\x1b[31m\rb"), "a\\x1b[31m\\x0db");
  EXPECT_EQ(csv_field("a\xff\xC3\xA9.yaml"), "a\\xff\xC3\xA9.yaml") << "bytes that are no UTF-8";
  EXPECT_EQ(csv_field("\xC2\x9b\n\xC2\xB5"), "\"\\xc2\\x9b\n\xC2\xB5\"");
}

TEST(Csv, AFormulaIsOneBehindBlanksAndInFullWidthToo) {
  for (const std::string before : {"", " ", "\t", "\t \t", "\n"}) {
    const bool quoted = before == "\n";
    for (const std::string sign :
         {"=", "+", "-", "@", "\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D", "\xEF\xBC\xA0"}) {
      const std::string text = before + sign + "cmd|x";
      EXPECT_EQ(csv_field(text), quoted ? "\"'" + text + "\"" : "'" + text);
    }
  }
  for (const char* text : {"\tplain", " -1.5", "\t+3", "\xEF\xBC\xA1", "a=b"}) EXPECT_EQ(csv_field(text), text);
}

TEST(Csv, AnErrorOfTheMediumIsNoEndOfTheFile) {
  class Broken : public std::streambuf {
    int_type underflow() override {
      if (given_) throw std::system_error(EIO, std::generic_category());
      given_ = true;
      setg(text_, text_, text_ + 8);
      return traits_type::to_int_type(text_[0]);
    }
    bool given_ = false;
    char text_[9] = "a,b\n1,2\n";
  } broken;
  std::istream in(&broken);
  CsvReader reader = CsvReader::open(in, "f.csv").value();
  EXPECT_TRUE(reader.next().ok());
  EXPECT_FALSE(reader.next().ok());
}

TEST(Csv, WhatIsWrittenIsReadBack) {
  const Row fields{"plain", "", "a,b", "say \"x\"", "two\nlines", " spaces "};
  EXPECT_EQ(rows_of("1,2,3,4,5,6\n" + csv_line(fields))[1], fields);
}

}  // namespace
}  // namespace distsim
