#include "base/text/quantity_units.hpp"

#include <algorithm>
#include <span>

#include "base/text/lower_case.hpp"

namespace distsim {
namespace {

struct Prefix {
  std::string_view name;
  int decimal;
  double binary;
};
constexpr Prefix kDecimal[] = {{"", 0, 1},  {"k", 3, 1},  {"K", 3, 1},  {"M", 6, 1},
                               {"G", 9, 1}, {"T", 12, 1}, {"P", 15, 1}, {"E", 18, 1}};
constexpr Prefix kBinaryPrefixes[] = {
    {"Ki", 0, 0x1p10}, {"Mi", 0, 0x1p20}, {"Gi", 0, 0x1p30}, {"Ti", 0, 0x1p40}, {"Pi", 0, 0x1p50}};

struct Named {
  std::string_view name;
  int decimal;
  double factor;
};
// 60 and 3600 are no powers of two, yet a product with them rounds once too.
constexpr Named kSecondNames[] = {{"ps", -12, 1},       {"ns", -9, 1},        {"us", -6, 1},
                                  {"\xC2\xB5s", -6, 1}, {"\xCE\xBCs", -6, 1}, {"ms", -3, 1},
                                  {"s", 0, 1},          {"min", 0, 60},       {"h", 0, 3600}};

/// The prefix that `text` consists of.
std::optional<Unit> find_prefix(std::string_view text, std::span<const Prefix> prefixes, double scale) {
  for (const Prefix& p : prefixes) {
    if (p.name == text) return Unit{std::string(text), p.decimal, p.binary * scale};
  }
  return std::nullopt;
}

std::optional<Unit> find_suffixed(std::string_view text, std::string_view suffix, std::span<const Prefix> prefixes,
                                  double scale = 1) {
  if (!text.ends_with(suffix)) return std::nullopt;
  return find_prefix(text.substr(0, text.size() - suffix.size()), prefixes, scale);
}

std::optional<Unit> find_bytes(std::string_view text, std::string_view suffix) {
  if (auto unit = find_suffixed(text, suffix, kDecimal)) return unit;
  return find_suffixed(text, suffix, kBinaryPrefixes);
}

std::optional<Unit> find_rate(std::string_view text) {
  if (auto unit = find_bytes(text, "B/s")) return unit;
  for (const std::string_view bits : {"b/s", "bit/s", "bps"}) {
    if (auto unit = find_suffixed(text, bits, kDecimal, 0.125)) return unit;
    if (auto unit = find_suffixed(text, bits, kBinaryPrefixes, 0.125)) return unit;
  }
  return std::nullopt;
}

/// The name of a compute rate is written in many ways; its prefix counts.
std::optional<Unit> find_flops(std::string_view text) {
  const std::string small = lower_case(text);
  for (const std::string_view name : {"flop/s", "flops", "op/s", "ops"}) {
    if (!small.ends_with(name)) continue;
    if (auto unit = find_prefix(text.substr(0, text.size() - name.size()), kDecimal, 1)) return unit;
  }
  return std::nullopt;
}

std::optional<Unit> find_seconds(std::string_view text) {
  for (const Named& unit : kSecondNames) {
    if (unit.name == text) return Unit{std::string(text), unit.decimal, unit.factor};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Unit> find_unit(std::string_view text, Dimension dimension) {
  switch (dimension) {
    case Dimension::none:
      return text.empty() ? std::optional<Unit>(Unit{}) : std::nullopt;
    case Dimension::bytes:
      return find_bytes(text, "B");
    case Dimension::seconds:
      return find_seconds(text);
    case Dimension::bytes_per_second:
      return find_rate(text);
    case Dimension::flops_per_second:
      return find_flops(text);
    case Dimension::hertz:
      return find_suffixed(text, "Hz", kDecimal);
    case Dimension::watts:
      return find_suffixed(text, "W", kDecimal);
  }
  return std::nullopt;
}

std::vector<std::string> unit_names(Dimension dimension) {
  switch (dimension) {
    case Dimension::none:
      return {};
    case Dimension::bytes:
      return {"B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"};
    case Dimension::seconds:
      return {"ps", "ns", "us", "ms", "s", "min", "h"};
    case Dimension::bytes_per_second:
      return {"MB/s", "GB/s", "TB/s", "GiB/s", "Mb/s", "Gb/s", "Tb/s"};
    case Dimension::flops_per_second:
      return {"GFLOP/s", "TFLOP/s", "PFLOP/s"};
    case Dimension::hertz:
      return {"Hz", "kHz", "MHz", "GHz"};
    case Dimension::watts:
      return {"W", "kW", "MW"};
  }
  return {};
}

std::string expected_quantity(Dimension dimension) {
  switch (dimension) {
    case Dimension::none:
      return "a number";
    case Dimension::bytes:
      return "a size with its unit, e.g. 40 MiB";
    case Dimension::seconds:
      return "a time with its unit, e.g. 1.9 us";
    case Dimension::bytes_per_second:
      return "a rate with its unit, e.g. 25 GB/s";
    case Dimension::flops_per_second:
      return "a compute rate with its unit, e.g. 312 TFLOP/s";
    case Dimension::hertz:
      return "a clock rate with its unit, e.g. 1410 MHz";
    case Dimension::watts:
      return "a power with its unit, e.g. 400 W";
  }
  return "";
}

std::string unit_help(Dimension dimension) {
  const std::string example = expected_quantity(dimension);
  const std::size_t at = example.find("e.g.");
  if (at == std::string::npos) return "a plain number";
  std::string names;
  for (const std::string& name : unit_names(dimension)) names += name + ", ";
  return names + example.substr(at);
}

}  // namespace distsim
