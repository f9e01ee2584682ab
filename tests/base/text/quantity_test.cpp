#include "base/text/quantity_text.hpp"
#include "base/text/quantity_units.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>

#include "base/random.hpp"
#include "base/text/number_text.hpp"

namespace distsim {
namespace {

constexpr Dimension kAll[] = {
    Dimension::none,  Dimension::bytes, Dimension::seconds, Dimension::bytes_per_second, Dimension::flops_per_second,
    Dimension::hertz, Dimension::watts};

void expect_value(const std::string& text, Dimension dimension, double expected) {
  const auto value = parse_quantity(text, dimension);
  ASSERT_TRUE(value.ok()) << value.error().text();
  EXPECT_EQ(*value, expected) << text;  // to the bit: a conversion rounds once
}

TEST(ParseQuantity, Sizes) {
  expect_value("40 MiB", Dimension::bytes, 41943040);
  expect_value("80 GB", Dimension::bytes, 80e9);
  expect_value("1.5KiB", Dimension::bytes, 1536);
  expect_value("7 B", Dimension::bytes, 7);
  expect_value("2 TiB", Dimension::bytes, 2 * 0x1p40);
  expect_value("3 kB", Dimension::bytes, 3000);
  expect_value("65536 B", Dimension::bytes, 65536);
}

TEST(ParseQuantity, RatesInBytesAndBits) {
  expect_value("25 GB/s", Dimension::bytes_per_second, 25e9);
  expect_value("200 Gb/s", Dimension::bytes_per_second, 25e9);  // 200e9 / 8
  expect_value("200 Gbit/s", Dimension::bytes_per_second, 25e9);
  expect_value("100Gbps", Dimension::bytes_per_second, 12.5e9);
  expect_value("12.5 GB/s", Dimension::bytes_per_second, 12.5e9);
  expect_value("1 GiB/s", Dimension::bytes_per_second, 1073741824);
  expect_value("2.039 TB/s", Dimension::bytes_per_second, 2039e9);
}

TEST(ParseQuantity, Times) {
  expect_value("1.9 us", Dimension::seconds, 1.9e-6);
  expect_value("1.9 \xC2\xB5s", Dimension::seconds, 1.9e-6);  // micro sign
  expect_value("1.9 \xCE\xBCs", Dimension::seconds, 1.9e-6);  // Greek mu
  expect_value("700ns", Dimension::seconds, 700e-9);
  expect_value("3 ms", Dimension::seconds, 3e-3);
  expect_value("12 ps", Dimension::seconds, 12e-12);
  expect_value("2 s", Dimension::seconds, 2);
  expect_value("2 min", Dimension::seconds, 120);
  expect_value("2 h", Dimension::seconds, 7200);
}

TEST(ParseQuantity, ComputeRatesClocksAndPower) {
  for (const std::string unit : {"TFLOP/s", "TFLOPS", "TFLOPs", "Tflop/s", "Tflops", "TOPS", "TOP/s"}) {
    expect_value("312 " + unit, Dimension::flops_per_second, 312e12);
  }
  expect_value("1 EFLOP/s", Dimension::flops_per_second, 1e18);
  expect_value("1EFLOP/s", Dimension::flops_per_second, 1e18);  // not an exponent
  expect_value("5 FLOP/s", Dimension::flops_per_second, 5);
  expect_value("1410 MHz", Dimension::hertz, 1410e6);
  expect_value("1.41 GHz", Dimension::hertz, 1.41e9);
  expect_value("400 W", Dimension::watts, 400);
  expect_value("10.2 kW", Dimension::watts, 10200);
}

TEST(ParseQuantity, NumbersInEveryNotation) {
  expect_value("0.96", Dimension::none, 0.96);
  expect_value(" 1e-3 ", Dimension::none, 1e-3);
  expect_value("+5", Dimension::none, 5);
  expect_value("-5.5", Dimension::none, -5.5);
  expect_value(".5", Dimension::none, 0.5);
  expect_value("5.", Dimension::none, 5);
  expect_value("1000.25", Dimension::none, 1000.25);
  expect_value("1e-06", Dimension::none, 1e-6);
  expect_value("1E+2 GB", Dimension::bytes, 100e9);
  expect_value("-5 us", Dimension::seconds, -5e-6);  // the range of the key refuses it
}

TEST(ParseQuantity, SaysWhatItExpected) {
  EXPECT_EQ(parse_quantity("25", Dimension::bytes_per_second).error().what,
            "found '25', expected a rate with its unit, e.g. 25 GB/s");
  EXPECT_EQ(parse_quantity("0", Dimension::seconds).error().what,
            "found '0', expected a time with its unit, e.g. 1.9 us");
  EXPECT_EQ(parse_quantity("80", Dimension::bytes).error().what,
            "found '80', expected a size with its unit, e.g. 40 MiB");
  EXPECT_EQ(parse_quantity("312", Dimension::flops_per_second).error().what,
            "found '312', expected a compute rate with its unit, e.g. 312 TFLOP/s");
  EXPECT_EQ(parse_quantity("1410", Dimension::hertz).error().what,
            "found '1410', expected a clock rate with its unit, e.g. 1410 MHz");
  EXPECT_EQ(parse_quantity("400", Dimension::watts).error().what,
            "found '400', expected a power with its unit, e.g. 400 W");
  EXPECT_EQ(parse_quantity("5 GB", Dimension::none).error().what, "found '5 GB', expected a number");
}

TEST(ParseQuantity, HintsAtTheUnit) {
  EXPECT_EQ(parse_quantity("1410 mhz", Dimension::hertz).error().hint, "did you mean 'MHz'?");
  EXPECT_EQ(parse_quantity("80 Gb", Dimension::bytes).error().hint, "b means bits; write B for bytes");
  EXPECT_EQ(parse_quantity("100 gb/s", Dimension::bytes_per_second).error().hint,
            "did you mean 'Gb/s' or 'GB/s'? b means bits, B bytes");
  EXPECT_EQ(parse_quantity("100 GB/S", Dimension::bytes_per_second).error().hint,
            "did you mean 'GB/s' or 'Gb/s'? b means bits, B bytes");
  EXPECT_EQ(parse_quantity("80 parsec", Dimension::watts).error().hint, "units: W, kW, MW");
}

TEST(ParseQuantity, RefusesWhatIsNoNumber) {
  for (const Dimension dimension : kAll) {
    for (const std::string bad : {"",        " ",     "nan",   "NaN",   "inf",    "-inf",          "infinity",
                                  "0x10",    "0x1p3", "1e",    "1e400", "1e-400", "1e99999999999", "--1",
                                  "+-1",     "1 2",   "1,000", "1;",    "_1",     "1__0",          "1_",
                                  ".",       "-",     "e5",    "GB",    "one",    "1 GB GB",       "1 m s",
                                  "1 GBs/s", "5 %"}) {
      const auto value = parse_quantity(bad, dimension);
      ASSERT_FALSE(value.ok()) << bad;
      EXPECT_TRUE(value.error().what.starts_with("found '" + bad + "', expected ")) << value.error().what;
    }
  }
}

TEST(ParseQuantity, EveryUnitOfTheHelpIsUnderstoodAndNoDimensionTakesAnothersUnit) {
  const std::string examples[] = {"", "40 MiB", "1.9 us", "25 GB/s", "312 TFLOP/s", "1410 MHz", "400 W"};
  for (std::size_t i = 1; i < std::size(kAll); ++i) {
    const std::string help = unit_help(kAll[i]);
    EXPECT_NE(help.find("e.g. " + examples[i]), std::string::npos) << help;
    for (std::size_t j = 1; j < std::size(kAll); ++j)
      EXPECT_EQ(parse_quantity(examples[i], kAll[j]).ok(), i == j) << examples[i];
    for (std::size_t begin = 0, end; (end = help.find(", ", begin)) != std::string::npos; begin = end + 2) {
      EXPECT_TRUE(parse_quantity("2 " + help.substr(begin, end - begin), kAll[i]).ok()) << help;
    }
  }
}

/// Whatever the letters' case, the first unit that a hint names keeps the b or B that was written, and is a unit.
TEST(ParseQuantity, HintsNeverTurnBitsIntoBytes) {
  for (const std::string unit : {"mb/s", "Gb/S", "GIB/S", "gib/s", "tb/S", "kB/S", "MB/S", "mib/s", "GB/S"}) {
    const std::string hint = parse_quantity("1 " + unit, Dimension::bytes_per_second).error().hint;
    if (!hint.starts_with("did you mean '")) continue;
    const std::string first = hint.substr(14, unit.size());
    EXPECT_TRUE(parse_quantity("1 " + first, Dimension::bytes_per_second).ok()) << hint;
    EXPECT_EQ(first.find('b') == std::string::npos, unit.find('b') == std::string::npos) << unit << ": " << hint;
  }
  expect_value("8 Gib/s", Dimension::bytes_per_second, 0x1p30);
}

TEST(ParseQuantity, SaysHowANumberIsWritten) {
  EXPECT_EQ(parse_quantity("1_00 Gb/s", Dimension::bytes_per_second).error().hint, "write it without _: 100 Gb/s");
  EXPECT_EQ(parse_integer("010").error().hint, "write it without zeros in front: 10");
  EXPECT_EQ(parse_integer("0_8").error().hint, "write it without _ and zeros in front: 8");
  for (const std::string other : {"x", "1.5", "_1", "1_", "h100_80gb", "0x10"})
    EXPECT_EQ(number_hint(other), "") << other;
}

/// What is a number to a file is one to a flag, which CLI11 then reads as the same, and the other way round.
TEST(ReadsNumbers, FlagsAndFilesAgree) {
  for (const std::string sign : {"", "+", "-"}) {
    for (const std::string digits :
         {"0", "00", "5", "05", "1_0", "1000", "1e3", "1e+3", "1e-3", "1.5", ".5", "5.", "x", "0x10", "inf"}) {
      for (const std::string blank : {"", " "}) {
        const std::string text = blank + sign + digits + blank;
        std::string whole = text, real = text;
        const bool takes_whole =
            plain_flag_number(whole, FlagNumber::whole).empty() && refuse_odd_number(whole, FlagNumber::whole).empty();
        const auto integer = parse_integer(text);
        EXPECT_EQ(takes_whole, integer.ok()) << text;
        if (integer.ok()) {
          EXPECT_EQ(whole, std::to_string(*integer));
        }
        const bool takes_real =
            plain_flag_number(real, FlagNumber::real).empty() && refuse_odd_number(real, FlagNumber::real).empty();
        const auto number = parse_quantity(text, Dimension::none);
        EXPECT_EQ(takes_real, number.ok()) << text;
        if (number.ok()) {
          EXPECT_EQ(std::stod(real), *number);
        }
      }
    }
  }
}

TEST(ParseQuantity, DoesNotDependOnTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  if (!std::setlocale(LC_ALL, "de_DE.UTF-8")) std::setlocale(LC_ALL, "C.UTF-8");
  expect_value("1.9 us", Dimension::seconds, 1.9e-6);
  EXPECT_EQ(format_quantity(1.9e-6, Dimension::seconds), "1.9 us");
  std::setlocale(LC_ALL, before.c_str());
}

TEST(ParseInteger, TakesWholeNumbers) {
  EXPECT_EQ(*parse_integer("0"), 0);
  EXPECT_EQ(*parse_integer("-17"), -17);
  EXPECT_EQ(*parse_integer("+17"), 17);
  EXPECT_EQ(*parse_integer("4e9"), 4'000'000'000);
  EXPECT_EQ(*parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*parse_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(*parse_integer("0e99999"), 0);
}

TEST(ParseInteger, RefusesEverythingElse) {
  for (const std::string bad : {"",
                                "x",
                                "1.5",
                                "1.0",
                                "1e-1",
                                "1e19",
                                "9223372036854775808",
                                "99999999999999999999",
                                "1e99999",
                                "0x10",
                                "1 000",
                                "8 GB",
                                "nan",
                                "1_",
                                "_1",
                                "- 1",
                                "65_536",
                                "007",
                                "-01",
                                "00",
                                "1_000e1"}) {
    EXPECT_FALSE(parse_integer(bad).ok()) << bad;
  }
  EXPECT_EQ(parse_integer("1.5").error().what, "found '1.5', expected an integer");
  EXPECT_EQ(parse_integer("1.5").error().hint, "");
  EXPECT_EQ(parse_integer("8.0").error().hint, "write it without a point: 8");
  EXPECT_EQ(parse_integer("6.5536e4").error().hint, "write it without a point: 65536");
  EXPECT_EQ(parse_integer("9007199254740993.0").error().hint, "") << "which a double is not";
  EXPECT_EQ(parse_integer("1e19").error().what, "found '1e19', expected a 64-bit integer");
}

TEST(QuantityText, ShowsTheDigitsThatTellItFromALimit) {
  EXPECT_EQ(format_quantity_beside(1.41e9, 1.41e9, Dimension::hertz), "1.41 GHz");
  EXPECT_EQ(format_quantity_beside(1.5e9, 1.41e9, Dimension::hertz), "1.5 GHz");
  EXPECT_EQ(format_quantity_beside(1.410000001e9, 1.41e9, Dimension::hertz), "1.410000001 GHz");
  EXPECT_EQ(format_quantity_beside(1e9 + 1, 1e9, Dimension::none), "1000000001");
}

TEST(FormatQuantity, ReadsLikeADataSheet) {
  EXPECT_EQ(format_quantity(312e12, Dimension::flops_per_second), "312 TFLOP/s");
  EXPECT_EQ(format_quantity(2.04e12, Dimension::bytes_per_second), "2.04 TB/s");
  EXPECT_EQ(format_quantity(25e9, Dimension::bytes_per_second), "25 GB/s");
  EXPECT_EQ(format_quantity(1.9e-6, Dimension::seconds), "1.9 us");
  EXPECT_EQ(format_quantity(96.1e9, Dimension::bytes), "96.1 GB");
  EXPECT_EQ(format_quantity(1.41e9, Dimension::hertz), "1.41 GHz");
  EXPECT_EQ(format_quantity(400, Dimension::watts), "400 W");
  EXPECT_EQ(format_quantity(0.96, Dimension::none), "0.96");
  EXPECT_EQ(format_quantity(90, Dimension::seconds), "90 s");
}

TEST(FormatQuantity, KeepsRoundBinarySizesBinary) {
  EXPECT_EQ(format_quantity(25.0 * 1024 * 1024, Dimension::bytes), "25 MiB");
  EXPECT_EQ(format_quantity(65536, Dimension::bytes), "64 KiB");
  EXPECT_EQ(format_quantity(40 * 0x1p30, Dimension::bytes), "40 GiB");
  EXPECT_EQ(format_quantity(1000, Dimension::bytes), "1 kB");
  EXPECT_EQ(format_quantity(80e9, Dimension::bytes), "80 GB");
}

TEST(FormatQuantity, RoundsIntoTheNextPrefixAndStaysSane) {
  EXPECT_EQ(format_quantity(999.96e9, Dimension::bytes_per_second), "1 TB/s");
  EXPECT_EQ(format_quantity(999.9e9, Dimension::bytes_per_second), "999.9 GB/s");
  EXPECT_EQ(format_quantity(0, Dimension::seconds), "0 s");
  EXPECT_EQ(format_quantity(-2.5e-3, Dimension::seconds), "-2.5 ms");
  EXPECT_EQ(format_quantity(1e-15, Dimension::seconds), "0.001 ps");
  EXPECT_EQ(format_quantity(0.5, Dimension::bytes), "0.5 B");
}

/// What is printed reads back within half a unit of the fourth digit, for any size of number and any dimension.
TEST(FormatQuantity, ReadsBack) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const double value = (0.1 + random.uniform()) * std::pow(10.0, static_cast<int>(random.below(30)) - 12);
    for (const Dimension dimension : kAll) {
      const std::string text = format_quantity(value, dimension);
      const auto back = parse_quantity(text, dimension);
      ASSERT_TRUE(back.ok()) << value << " -> " << text;
      EXPECT_NEAR(*back / value, 1.0, 5.01e-4) << text;
    }
  }
}

TEST(Number, ExactlyAWholeNumberOrNone) {
  EXPECT_EQ(exact_integer("4096"), 4096);
  EXPECT_EQ(exact_integer("-9223372036854775808"), INT64_MIN);
  for (const char* text : {"", "1MB", "1e9", "4096.0", " 1", "9223372036854775808"})
    EXPECT_EQ(exact_integer(text), std::nullopt) << text;
  EXPECT_EQ(exact_integer(4096.0), 4096);
  for (const double value : {0.5, 1e30, std::nan(""), HUGE_VAL}) EXPECT_EQ(exact_integer(value), std::nullopt) << value;
}

/// Sizes that stand beside each other are in one family of units, round in powers of two or not.
TEST(Quantity, DecimalBytes) {
  EXPECT_EQ(format_quantity(18 << 10, Dimension::bytes), "18 KiB");
  EXPECT_EQ(format_decimal_bytes(18 << 10), "18.43 kB");
  EXPECT_EQ(format_decimal_bytes(1536), "1.536 kB");
  EXPECT_EQ(format_decimal_bytes(std::int64_t{80} << 30), "85.9 GB");
  EXPECT_EQ(format_decimal_bytes(0), "0 B");
  for (std::int64_t bytes = 1; bytes < std::int64_t{1} << 50; bytes = bytes * 3 / 2 + 1)
    EXPECT_EQ(format_decimal_bytes(bytes).find('i'), std::string::npos) << bytes;
}

TEST(Number, OfFixedDecimalsShowsItsDigits) {
  EXPECT_EQ(fixed_or_digits(12.34567, 3), "12.346");
  EXPECT_EQ(fixed_or_digits(0.00126342, 3), "0.00126");
  EXPECT_EQ(fixed_or_digits(0.5, 0), "0.500");
  EXPECT_EQ(fixed_or_digits(1234.5, 0), "1234");
  EXPECT_EQ(fixed_or_digits(8, 0), "8");
  EXPECT_EQ(fixed_or_digits(8, 2), "8.00");
  EXPECT_EQ(fixed_or_digits(0, 2), "0.00");
  EXPECT_EQ(fixed_or_digits(-0.004, 2), "-0.00400");
  EXPECT_EQ(fixed_or_digits(1e-30, 2), "0.000000000000000");
}

}  // namespace
}  // namespace distsim
