// Numbers with units, as people write them: "25 GB/s", "200 Gb/s", "1.9 us", "40 MiB", "1410 MHz", "312 TFLOP/s".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"

namespace distsim {

enum class Dimension : std::uint8_t { none, bytes, seconds, bytes_per_second, flops_per_second, hertz, watts };

/// The units that a dimension understands, for messages and the reference: "B, KB, KiB, ..., e.g. 40 MiB".
std::string unit_help(Dimension dimension);

/// Parses a number with its unit into SI units (bytes, seconds, bytes/s, flop/s, Hz, W).
/// Dimension::none takes a plain number. K/M/G/T/P are decimal, Ki/Mi/Gi/Ti binary; bytes use B, bits b ("200 Gb/s" =
/// 25e9 bytes/s). A bare number where a unit belongs, NaN, inf, hex, trailing text are errors. The error's `what` reads
/// "found 'X', expected Y"; the caller adds key and position.
Result<double> parse_quantity(std::string_view text, Dimension dimension);

/// Parses an integer: digits, with an optional sign and exponent but without a fraction ("65536", "4e9").
Result<std::int64_t> parse_integer(std::string_view text);

/// Shortest readable form with unit, 3 to 4 significant digits: "312 TFLOP/s", "2.04 TB/s", "1.9 us", "96.1 GB".
std::string format_quantity(double value, Dimension dimension);

/// As format_quantity, with as many digits as tell it from `limit`: a message would else read "found 1.41 GHz, expected at
/// most 1.41 GHz".
std::string format_quantity_beside(double value, double limit, Dimension dimension);

/// As format_quantity, in powers of ten whatever the size: where several sizes stand beside each other, a table of
/// 18,432 bytes reads "18.43 kB" and not "18 KiB".
std::string format_decimal_bytes(std::int64_t bytes);

}  // namespace distsim
