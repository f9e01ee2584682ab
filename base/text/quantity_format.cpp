#include <charconv>
#include <cmath>

#include "base/text/quantity_text.hpp"
#include "base/text/quantity_units.hpp"

namespace distsim {
namespace {

constexpr int kDigits = 4;  // significant digits of a quantity with a unit

/// printf's %.Ng without the locale.
std::string significant(double value, int digits) {
  char buffer[40];
  const auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, digits);
  return code == std::errc() ? std::string(buffer, end) : "?";
}

struct Scale {
  double factor;
  const char* prefix;
};
constexpr Scale kUpwards[] = {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}, {1e15, "P"}};
constexpr Scale kSeconds[] = {{1e-12, "p"}, {1e-9, "n"}, {1e-6, "u"}, {1e-3, "m"}, {1, ""}};
constexpr Scale kBinary[] = {{0x1p30, "Gi"}, {0x1p20, "Mi"}, {0x1p10, "Ki"}};

const char* unit_name(Dimension dimension) {
  switch (dimension) {
    case Dimension::none:
      return "";
    case Dimension::bytes:
      return "B";
    case Dimension::seconds:
      return "s";
    case Dimension::bytes_per_second:
      return "B/s";
    case Dimension::flops_per_second:
      return "FLOP/s";
    case Dimension::hertz:
      return "Hz";
    case Dimension::watts:
      return "W";
  }
  return "";
}

/// The largest scale under which the rounded number still reads as 1 or more.
template <std::size_t N>
std::string scaled(double value, const Scale (&scales)[N], const std::string& unit, int digits) {
  const double rounded_up =
      std::abs(value) * (1 + 0.5 * std::pow(10.0, -digits));  // 999.96 GB/s reads "1 TB/s", not "1000 GB/s"
  std::size_t i = N - 1;
  while (i > 0 && rounded_up < scales[i].factor) --i;
  return significant(value / scales[i].factor, digits) + " " + scales[i].prefix + unit;
}

/// "25 MiB" for sizes that are round in powers of two; empty for others.
std::string round_binary(double bytes) {
  for (const Scale& scale : kBinary) {
    const double count = bytes / scale.factor;
    if (count >= 1 && count < 10'000 && count == std::floor(count))
      return significant(count, kDigits) + " " + scale.prefix + "B";
  }
  return "";
}

std::string with_digits(double si_value, Dimension dimension, int digits) {
  if (dimension == Dimension::none) return significant(si_value, digits + 2);
  const std::string unit = unit_name(dimension);
  if (si_value == 0 || !std::isfinite(si_value)) return significant(si_value == 0 ? 0 : si_value, digits) + " " + unit;
  if (dimension == Dimension::seconds) return scaled(si_value, kSeconds, unit, digits);
  if (dimension == Dimension::bytes) {
    const std::string binary = round_binary(si_value);
    if (!binary.empty() && std::fmod(si_value, 1e3) != 0) return binary;
  }
  return scaled(si_value, kUpwards, unit, digits);
}

}  // namespace

std::string format_quantity(double si_value, Dimension dimension) { return with_digits(si_value, dimension, kDigits); }

std::string format_quantity_beside(double value, double limit, Dimension dimension) {
  constexpr int kMostDigits = 15;  // of a double
  const std::string beside = format_quantity(limit, dimension);
  for (int digits = kDigits;; ++digits) {
    std::string text = with_digits(value, dimension, digits);
    if (text != beside || digits == kMostDigits) return text;
  }
}

std::string format_decimal_bytes(std::int64_t bytes) {
  return scaled(static_cast<double>(bytes), kUpwards, unit_name(Dimension::bytes), kDigits);
}

}  // namespace distsim
